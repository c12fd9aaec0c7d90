// control/webhooks/keys.cpp - reads, judges and renews the certificates.
#include "control/webhooks/keys.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/client.h"

namespace muster::control::webhooks {
namespace {

using api::Value;

constexpr Duration serving_valid = hours(24 * 90);
constexpr Duration serving_margin = hours(24 * 30);
constexpr Duration authority_margin = hours(24 * 365);
/// Until every API server has the bundle with a new authority.
constexpr Duration heard_everywhere = minutes(10);
constexpr std::string_view end_line = "-----END CERTIFICATE-----\n";
constexpr std::size_t bundle_max = 8;

std::string text_in(const Value& secret, const char* name) {
    return from_base64(secret["data"][name].text_or("")).value_or("");
}

std::vector<std::string> certificates_in(const std::string& bundle) {
    std::vector<std::string> found;
    std::size_t from = 0;
    for (std::size_t end = bundle.find(end_line); end != std::string::npos;
         end = bundle.find(end_line, from)) {
        end += end_line.size();
        found.push_back(bundle.substr(from, end - from));
        from = end;
    }
    return found;
}

/// Those of a bundle that are authorities, and still good.
std::vector<std::string> believed(const std::string& bundle, Time now) {
    std::vector<std::string> good;
    for (std::string& pem : certificates_in(bundle)) {
        const auto read = net::read_certificate(pem);
        if (read && read->authority && now < read->not_after) good.push_back(std::move(pem));
    }
    return good;
}

/// The signing authority first, then all that were believed.
std::string bundle_of(const net::KeyPair& authority, const std::string& others, Time now) {
    std::string bundle = authority.certificate_pem;
    std::size_t count = 1;
    for (const std::string& pem : believed(others, now)) {
        if (bundle.find(pem) != std::string::npos || count == bundle_max) continue;
        bundle += pem;
        ++count;
    }
    return bundle;
}

bool can_sign(const net::KeyPair& authority, Time now) {
    const auto read = net::read_certificate(authority.certificate_pem);
    return read && read->authority && now < read->not_after &&
           net::is_intact(authority, authority.certificate_pem);
}

bool is_ending(const net::KeyPair& authority, Time now) {
    return net::read_certificate(authority.certificate_pem)->not_after - authority_margin <= now;
}

/// Its certificate is signed by one that is believed, names what it must and is not about to end.
bool serves(const Keys& keys, const net::Subject& subject, Time now, Duration margin) {
    const auto good = believed(keys.authorities, now);
    return std::any_of(good.begin(), good.end(), [&](const std::string& authority) {
        return net::still_serves(keys.serving, authority, subject, now, margin);
    });
}

bool is_known_everywhere(const net::KeyPair& authority, Time now) {
    return net::read_certificate(authority.certificate_pem)->not_before + heard_everywhere <= now;
}

}  // namespace

Keys keys_in(const Value& secret) {
    Keys keys;
    keys.authorities = text_in(secret, "ca.crt");
    const auto all = certificates_in(keys.authorities);
    if (!all.empty()) keys.authority.certificate_pem = all.front();
    keys.authority.key_pem = text_in(secret, "ca.key");
    keys.serving = {text_in(secret, "tls.crt"), text_in(secret, "tls.key")};
    return keys;
}

Value secret_with(const Keys& keys, const Value& present, const std::string& ns,
                  const std::string& name) {
    Value secret = present;
    if (secret.is_null()) {
        secret = Value::object({{"apiVersion", "v1"},
                                {"kind", "Secret"},
                                {"metadata", Value::object({{"name", name}, {"namespace", ns}})},
                                {"type", "Opaque"}});
    }
    secret.set("data", Value::object({{"ca.crt", to_base64(keys.authorities)},
                                      {"ca.key", to_base64(keys.authority.key_pem)},
                                      {"tls.crt", to_base64(keys.serving.certificate_pem)},
                                      {"tls.key", to_base64(keys.serving.key_pem)}}));
    return secret;
}

bool can_serve(const Keys& keys, Time now) {
    return serves(keys, {}, now, {});
}

std::optional<Keys> renewed(const Keys& seen, const std::optional<Keys>& held,
                            const net::Subject& subject, Time now) {
    Keys keys = seen;
    if (!can_sign(keys.authority, now)) {
        const bool keeps = held && can_sign(held->authority, now);
        keys.authority = keeps ? held->authority : net::make_authority("muster-webhooks", now);
    }
    if (held && !serves(keys, subject, now, {})) keys.serving = held->serving;
    std::string others = keys.authorities + (held ? held->authorities : "");
    if (is_ending(keys.authority, now)) {
        others = keys.authority.certificate_pem + others;
        keys.authority = net::make_authority("muster-webhooks", now);
    }
    keys.authorities = bundle_of(keys.authority, others, now);
    // One that signed what is served is believed already.
    const bool settled = net::is_intact(keys.serving, keys.authority.certificate_pem) ||
                         is_known_everywhere(keys.authority, now) ||
                         !serves(keys, subject, now, {});
    if (settled && !serves(keys, subject, now, serving_margin)) {
        keys.serving = net::make_server_certificate(keys.authority, subject, now, serving_valid);
    }
    const bool same = keys.authorities == seen.authorities &&
                      keys.authority.key_pem == seen.authority.key_pem &&
                      keys.serving.certificate_pem == seen.serving.certificate_pem &&
                      keys.serving.key_pem == seen.serving.key_pem;
    if (same) return std::nullopt;
    return keys;
}

net::Subject subject_of(const Address& address) {
    const std::string service = address.service_name + "." + address.service_namespace;
    net::Subject subject;
    subject.common_name = "muster-webhooks";
    subject.names = {service + ".svc", service + ".svc.cluster.local"};
    const auto url = net::parse_url(address.url);
    if (!url) return subject;
    const std::string& host = url->target.host;
    const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos ||
                            host.find(':') != std::string::npos;
    (is_address ? subject.addresses : subject.names).push_back(host);
    return subject;
}

}  // namespace muster::control::webhooks
