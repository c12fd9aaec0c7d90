// control/webhooks/keys.h - the certificates of the webhooks, in a Secret that all replicas share:
// when they are good, and what they are renewed to.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"
#include "base/time.h"
#include "control/webhooks/configuration.h"
#include "net/pki.h"

namespace muster::control::webhooks {

/// What the Secret holds.
struct Keys {
    net::KeyPair authority;   // ca.crt's first certificate and ca.key: signs.
    std::string authorities;  // ca.crt: who is believed; the signing one first, then older ones.
    net::KeyPair serving;     // tls.crt, tls.key
};

/// The keys of a Secret, whatever they are worth; a part that is missing is empty.
Keys keys_in(const api::Value& secret);

/// A Secret with these keys: `present` with other data, or a new one when that is null.
api::Value secret_with(const Keys& keys, const api::Value& present, const std::string& ns,
                       const std::string& name);

/// A server with these keys is believed by whoever believes the authorities, now.
bool can_serve(const Keys& keys, Time now);

/// What the keys must become; absent when they are good. `held` are those that this replica has
/// served with so far, if any: what is missing from the Secret is put back.
///
/// A serving certificate lives 90 days and is replaced in its last 30. An authority lives ten
/// years; in its last one there is a new one, which is believed beside it at once but signs only
/// when everybody has had time to hear of it.
std::optional<Keys> renewed(const Keys& seen, const std::optional<Keys>& held,
                            const net::Subject& subject, Time now);

/// The names under which an API server reaches the webhooks.
net::Subject subject_of(const Address& address);

}  // namespace muster::control::webhooks
