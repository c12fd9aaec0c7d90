// apps/operator/operator.cpp - waits for the kinds, then runs the controllers on one loop.
#include "apps/operator/operator.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "apps/operator/presence.h"
#include "apps/up/config.h"
#include "apps/up/data_directory.h"
#include "apps/up/machine.h"
#include "apps/up/outside.h"
#include "apps/up/process.h"
#include "apps/up/process_metrics.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "base/verify.h"
#include "control/control_plane.h"
#include "control/runner.h"
#include "kube/lease.h"
#include "net/asio_loop.h"
#include "net/secret.h"

namespace muster::on_cluster {
namespace {

constexpr Duration look_again = seconds(2);
constexpr Duration synced_look = milliseconds(20);
constexpr Duration release_patience = seconds(3);

void say(const char* line) {
    std::printf("%s\n", line);
    std::fflush(stdout);
}

/// SIGTERM and SIGINT as something that can be read.
class EndingSignals {
public:
    EndingSignals() {
        const sigset_t set = up::ending_signals();
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
        VERIFY(fd_ >= 0);
    }
    ~EndingSignals() { close(fd_); }
    EndingSignals(const EndingSignals&) = delete;
    EndingSignals& operator=(const EndingSignals&) = delete;
    int fd() const { return fd_; }
    /// Reads one away.
    void take() const {
        signalfd_siginfo info;
        VERIFY(read(fd_, &info, sizeof info) == sizeof info);
    }

private:
    int fd_ = -1;
};

control::ControlPlaneOptions control_options(const OperatorOptions& options,
                                             std::shared_ptr<Metrics> metrics) {
    const up::Config config = up::parse_config(
        options.config, options.config.empty() ? std::string() : up::read_file(options.config),
        options.feature_gates);
    for (const std::string& warning : config.queues.warnings)
        log_warning("config", warning);
    control::ControlPlaneOptions made;
    made.queues = config.queues;
    made.metrics = std::move(metrics);
    made.stopwatch = up::steady_time;
    return made;
}

/// This process, by a name that no other has.
std::string own_identity() {
    return up::machine_name() + "_" + to_hex(net::secret_bytes(8));
}

/// Everything of a running operator. Lives on one loop.
class Operator {
public:
    Operator(net::AsioLoop& loop, const OperatorOptions& options);

    void start();
    /// Lets go of the Lease, so that another one may go on at once; then `done`.
    void stop(std::function<void()> done);
    /// Another one may be working: this one must not.
    bool lost() const { return lost_; }

private:
    void elect(const OperatorOptions& options);
    void look_for_kinds();
    void take_presence(const Presence& presence);
    void wait_for_sight();

    net::AsioLoop& loop_;
    std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
    kube::HttpTransport transport_;
    control::Runner runner_;
    up::Outside outside_;
    std::unique_ptr<kube::Elector> elector_;  // Null: this one always works.
    std::set<std::string> said_;
    bool lost_ = false;
};

Operator::Operator(net::AsioLoop& loop, const OperatorOptions& options)
    : loop_(loop),
      transport_(loop, loop, options.connection, {}, kube::HttpTransport::Sends::together),
      runner_(
          transport_, loop,
          [this](const control::Call& call, auto done) { outside_.ask(call, std::move(done)); }),
      outside_(loop, nullptr, [this]() -> const kube::Cache& { return runner_.seen(); }) {
    up::add_process_metrics(metrics_);
    control::add_operator_controllers(runner_, control_options(options, metrics_));
    if (options.leader_elect) elect(options);
}

void Operator::elect(const OperatorOptions& options) {
    kube::LeaseOptions lease;
    lease.ns = options.lease_ns;
    lease.name = options.lease_name;
    lease.identity = own_identity();
    lease.stopwatch = up::steady_time;
    kube::Elector::Events events;
    events.leading = [this] {
        say("leading");
        look_for_kinds();
    };
    events.following = [](const std::string& holder) {
        log_info("operator", holder + " is working; waiting for its Lease");
    };
    events.lost = [this] {
        log_error("operator", "the Lease is lost: ending, another one takes over");
        lost_ = true;
        runner_.stop();
        loop_.stop();
    };
    elector_ =
        std::make_unique<kube::Elector>(transport_, loop_, std::move(lease), std::move(events));
}

void Operator::start() {
    if (elector_) return elector_->start();
    look_for_kinds();
}

void Operator::stop(std::function<void()> done) {
    runner_.stop();
    if (elector_) return elector_->release(std::move(done));
    done();
}

void Operator::look_for_kinds() {
    ask_for_kinds(transport_, runner_.watched(),
                  [this](const std::vector<Answer>& answers) { take_presence(judge(answers)); });
}

void Operator::take_presence(const Presence& presence) {
    for (const std::string& line : presence.missing) {
        if (said_.insert(line).second) log_warning("operator", "waiting: " + line);
    }
    if (!presence.can_start()) {
        loop_.after(look_again, [this] { look_for_kinds(); });
        return;
    }
    for (const std::string& name : presence.optional)
        log_info("operator", "the server does not have " + name + "; it may come later");
    runner_.start();
    wait_for_sight();
}

void Operator::wait_for_sight() {
    if (!runner_.seen().synced()) {
        loop_.after(synced_look, [this] { wait_for_sight(); });
        return;
    }
    say("ready");
    log_info("operator", "everything is seen; stop with SIGTERM");
}

}  // namespace

int run_operator(const OperatorOptions& options) {
    const EndingSignals signals;
    net::AsioLoop loop;
    Operator running(loop, options);
    bool ending = false;
    const auto watch = loop.watch(signals.fd(), {true, false}, [&](net::AsioLoop::Interest) {
        signals.take();
        // A second signal, or a server that does not answer, does not hold it up.
        if (std::exchange(ending, true)) return loop.stop();
        running.stop([&] { loop.stop(); });
        loop.after(release_patience, [&] { loop.stop(); });
    });
    loop.post([&] { running.start(); });
    loop.run();
    loop.unwatch(watch);
    return running.lost() ? 1 : 0;
}

}  // namespace muster::on_cluster
