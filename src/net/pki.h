// net/pki.h - the certificates of one Muster: an authority, and what it signs for servers and
// clients.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::net {

/// A certificate and its private key (EC P-256), both PEM.
struct KeyPair {
    std::string certificate_pem;
    std::string key_pem;
};

/// What a certificate is for.
struct Subject {
    std::string common_name;                 // User name for clients.
    std::vector<std::string> organizations;  // Groups for clients.
    std::vector<std::string> names;          // DNS names a server answers to.
    std::vector<std::string> addresses;      // IP addresses a server answers to.
};

/// A self-signed authority, good for ten years from a little before `now`.
KeyPair make_authority(const std::string& name, Time now);

/// Signed by the authority, good for `valid` from a little before `now`.
KeyPair make_server_certificate(const KeyPair& authority, const Subject& subject, Time now,
                                Duration valid);
KeyPair make_client_certificate(const KeyPair& authority, const Subject& subject, Time now,
                                Duration valid);

/// A private EC P-256 key, PEM: for signing tokens.
std::string make_signing_key();

/// Whether the text is a private EC P-256 key, PEM, without a password.
bool is_signing_key(const std::string& key_pem);

/// What a certificate says.
struct Certificate {
    Subject subject;
    Time not_before;
    Time not_after;
    bool authority = false;
};

/// Absent when the text is not a PEM certificate.
std::optional<Certificate> read_certificate(const std::string& certificate_pem);

/// True when the certificate was signed by this authority and the key belongs to it.
bool is_intact(const KeyPair& pair, const std::string& authority_pem);

/// True when a server certificate can go on being used: intact, not within `margin` of its end, and
/// it names everything that `subject` names.
bool still_serves(const KeyPair& pair, const std::string& authority_pem, const Subject& subject,
                  Time now, Duration margin);

}  // namespace muster::net
