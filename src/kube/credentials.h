// kube/credentials.h - bearer tokens that change while the program runs: kept until they are old.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "kube/exec_plugin.h"

namespace muster::kube {

/// Where the token of requests comes from. Used on one thread.
class Credentials {
public:
    /// Gives a new one; throws Error when it cannot.
    using Renew = std::function<Credential()>;

    /// `life`: how long one without an end of its own is used; zero: until it is refused.
    Credentials(Renew renew, Duration life) : renew_(std::move(renew)), life_(life) {}

    /// The token for a request made now, renewed when the present one is (nearly) at its end. When
    /// that fails the present one is used on, and `problem` says why.
    const std::string& token(Time now);
    /// The server refused it: the next request gets a new one. False when the present one is so new
    /// that another would not be better.
    bool refused(Time now);
    const std::string& problem() const { return problem_; }
    /// What is used at present.
    const Credential& present() const { return present_; }

private:
    Renew renew_;
    Duration life_;
    Credential present_;
    std::string problem_;
    std::optional<Time> until_;     // Then it is renewed; absent: not by time.
    std::optional<Time> tried_at_;  // When it was last renewed, or that failed.
    bool wanted_ = true;
};

/// From a file that somebody else keeps up to date.
Credentials token_file_credentials(std::string path,
                                   std::function<std::string(const std::string& path)> read);

/// From a program; `run` gives what it prints.
Credentials plugin_credentials(ExecPlugin plugin,
                               std::function<std::string(const ExecPlugin&)> run);

}  // namespace muster::kube
