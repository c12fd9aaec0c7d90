// kube/credentials.cpp - when a token or certificate is renewed.
#include "kube/credentials.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace muster::kube {
namespace {

/// One is replaced so long before its end, and what it took to make one twice, but not before half
/// of its life.
constexpr Duration margin = seconds(10);
/// Renewing is not tried more often, whatever the server says.
constexpr Duration least_pause = seconds(5);
/// As in client-go: the kubelet renews tokens in pods long before they end.
constexpr Duration file_life = minutes(1);

}  // namespace

const std::string& Credentials::token(Time now) {
    if (until_ && now >= *until_) wanted_ = true;
    const bool may_try = !tried_at_ || now - *tried_at_ >= least_pause;
    if (!wanted_ || !may_try || under_way_) return present_.token;
    tried_at_ = now;
    const bool has_one = !present_.token.empty() || !present_.key_pem.empty();
    if (has_one && plugin_ && run_beside_) {
        renew_beside();
        return present_.token;
    }
    try {
        take(renew_(), now, {});
    } catch (const Error& error) {
        problem_ = error.what();
    }
    return present_.token;
}

void Credentials::take(Credential credential, Time now, Duration took) {
    present_ = std::move(credential);
    problem_.clear();
    wanted_ = false;
    until_.reset();
    if (present_.until) {
        const Duration half{std::max<std::int64_t>((*present_.until - now).nanoseconds / 2, 0)};
        until_ = *present_.until - std::min(margin + took + took, half);
    } else if (life_ > Duration()) {
        until_ = now + life_;
    }
}

void Credentials::renew_beside() {
    under_way_ = true;
    run_beside_(*plugin_, [this, alive = std::weak_ptr<int>(alive_)](const PluginAnswer& answer) {
        if (alive.expired()) return;
        under_way_ = false;
        problem_ = answer.problem;
        if (problem_.empty()) {
            try {
                take(read_exec_answer(*plugin_, answer.printed), answer.at, answer.at - *tried_at_);
            } catch (const Error& error) {
                problem_ = error.what();
            }
        }
        for (const auto& then : std::exchange(waiting_, {}))
            then();
    });
}

bool Credentials::refused(Time now) {
    if (under_way_) return true;
    if (tried_at_ && now - *tried_at_ < least_pause) return false;
    wanted_ = true;
    return true;
}

Credentials file_credentials(CredentialFiles files, Credential written,
                             std::function<std::string(const std::string& path)> read) {
    return {[files = std::move(files), written = std::move(written), read = std::move(read)] {
                Credential credential = written;
                if (!files.token.empty()) {
                    credential.token = trim(read(files.token));
                    if (credential.token.empty())
                        throw Error(Reason::unauthorized,
                                    "the token file " + files.token + " is empty");
                }
                if (!files.certificate.empty())
                    credential.certificate_pem = read(files.certificate);
                if (!files.key.empty()) credential.key_pem = read(files.key);
                return credential;
            },
            file_life};
}

Credentials token_file_credentials(std::string path,
                                   std::function<std::string(const std::string& path)> read) {
    return file_credentials({std::move(path)}, {}, std::move(read));
}

Credentials plugin_credentials(ExecPlugin plugin,
                               std::function<std::string(const ExecPlugin&)> run) {
    Credentials::Renew renew = [plugin, run = std::move(run)] {
        return read_exec_answer(plugin, run(plugin));
    };
    return {std::move(plugin), std::move(renew)};
}

}  // namespace muster::kube
