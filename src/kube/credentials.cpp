// kube/credentials.cpp - when a token is renewed.
#include "kube/credentials.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace muster::kube {
namespace {

/// A token is replaced so long before its end.
constexpr Duration margin = seconds(10);
/// Renewing is not tried more often, whatever the server says.
constexpr Duration least_pause = seconds(5);
/// As in client-go: the kubelet renews tokens in pods long before they end.
constexpr Duration file_life = minutes(1);

}  // namespace

const std::string& Credentials::token(Time now) {
    if (until_ && now >= *until_) wanted_ = true;
    const bool may_try = !tried_at_ || now - *tried_at_ >= least_pause;
    if (!wanted_ || !may_try) return present_.token;
    tried_at_ = now;
    try {
        present_ = renew_();
        problem_.clear();
        wanted_ = false;
        until_.reset();
        if (present_.until) {
            until_ = *present_.until - margin;
        } else if (life_ > Duration()) {
            until_ = now + life_;
        }
    } catch (const Error& error) {
        problem_ = error.what();
    }
    return present_.token;
}

bool Credentials::refused(Time now) {
    if (tried_at_ && now - *tried_at_ < least_pause) return false;
    wanted_ = true;
    return true;
}

Credentials token_file_credentials(std::string path,
                                   std::function<std::string(const std::string& path)> read) {
    return {[path = std::move(path), read = std::move(read)] {
                Credential credential;
                credential.token = trim(read(path));
                if (credential.token.empty())
                    throw Error(Reason::unauthorized, "the token file " + path + " is empty");
                return credential;
            },
            file_life};
}

Credentials plugin_credentials(ExecPlugin plugin,
                               std::function<std::string(const ExecPlugin&)> run) {
    return {[plugin = std::move(plugin), run = std::move(run)] {
                return read_exec_answer(plugin, run(plugin));
            },
            Duration()};
}

}  // namespace muster::kube
