// kube/credentials.h - bearer tokens and certificates that change while the program runs: kept
// until they are old.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/exec_plugin.h"

namespace muster::kube {

/// What came of running a plugin: what it printed, or what is wrong.
struct PluginAnswer {
    std::string printed;
    std::string problem;  // Empty: it ended well.
    Time at;
};

/// Where the token or certificate of requests comes from. Used on one thread.
class Credentials {
public:
    /// Gives a new one; throws Error when it cannot.
    using Renew = std::function<Credential()>;
    /// Runs a plugin while others go on; `done` is called later, on the same thread, once.
    using RunBeside =
        std::function<void(const ExecPlugin&, std::function<void(const PluginAnswer&)> done)>;

    /// `life`: how long one without an end of its own is used; zero: until it is refused.
    Credentials(Renew renew, Duration life) : renew_(std::move(renew)), life_(life) {}
    /// From a plugin, by `renew`, or by what is given to `run_beside`.
    Credentials(ExecPlugin plugin, Renew renew)
        : renew_(std::move(renew)), plugin_(std::move(plugin)) {}

    /// Nobody waits for a plugin any more: what there is is used until the new one has come. For
    /// what is renewed otherwise it changes nothing.
    void run_beside(RunBeside run) { run_beside_ = std::move(run); }

    /// The token for a request made now, renewed when the present one is (nearly) at its end. When
    /// that fails the present one is used on, and `problem` says why.
    const std::string& token(Time now);
    /// The server refused it: the next request gets a new one. False when the present one is so new
    /// that another would not be better.
    bool refused(Time now);
    const std::string& problem() const { return problem_; }
    /// What is used at present.
    const Credential& present() const { return present_; }

    /// A new one is being made beside; `when_renewed` calls back when it is there, or has failed.
    bool is_under_way() const { return under_way_; }
    void when_renewed(std::function<void()> then) { waiting_.push_back(std::move(then)); }

private:
    void renew_beside();
    void take(Credential credential, Time now, Duration took);

    Renew renew_;
    Duration life_;
    std::optional<ExecPlugin> plugin_;
    RunBeside run_beside_;
    Credential present_;
    std::string problem_;
    std::optional<Time> until_;     // Then it is renewed; absent: not by time.
    std::optional<Time> tried_at_;  // When it was last renewed, or that failed.
    bool wanted_ = true;
    bool under_way_ = false;
    std::vector<std::function<void()>> waiting_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Guards answers that outlive it.
};

/// Paths of files that somebody else keeps up to date; empty: there is none.
struct CredentialFiles {
    std::string token{};
    std::string certificate{};
    std::string key{};
};

/// What the files say, and `written` where there is none.
Credentials file_credentials(CredentialFiles files, Credential written,
                             std::function<std::string(const std::string& path)> read);

/// From one such file.
Credentials token_file_credentials(std::string path,
                                   std::function<std::string(const std::string& path)> read);

/// From a program; `run` gives what it prints.
Credentials plugin_credentials(ExecPlugin plugin,
                               std::function<std::string(const ExecPlugin&)> run);

}  // namespace muster::kube
