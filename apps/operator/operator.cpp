// apps/operator/operator.cpp - waits for the kinds, then runs the controllers on one loop.
#include "apps/operator/operator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "apps/cli/run_plugin.h"
#include "apps/operator/conversion_look.h"
#include "apps/operator/endpoints.h"
#include "apps/operator/outages.h"
#include "apps/operator/presence.h"
#include "apps/operator/process_options.h"
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
#include "kube/counted_transport.h"
#include "kube/fence.h"
#include "kube/lease.h"
#include "net/asio_loop.h"
#include "net/secret.h"

namespace muster::on_cluster {
namespace {

constexpr Duration look_again = seconds(2);
constexpr Duration synced_look = milliseconds(20);
constexpr Duration beat_every = seconds(1);
/// How often it is looked whether the server answers; while it does not, so that nobody waits
/// longer than it takes.
constexpr Duration server_look = seconds(5);
constexpr Duration silent_server_look = seconds(1);
/// Writes under way are waited for so long at the end, and the Lease to be given back; longer where
/// a write without an answer may come true later than that. The chart gives a pod the time for it
/// (muster.grace in deploy/helm/muster/templates/_names.tpl).
constexpr Duration usual_patience = seconds(8);
constexpr Duration giving_back = seconds(3);

/// What the API server says in a burst is taken in bundles: a fifth less work for both, and nobody
/// waits longer than for one of its answers.
constexpr Duration gather = milliseconds(25);

net::ClientOptions gathering(std::function<bool(const net::Request&)> may_go) {
    net::ClientOptions options;
    options.gather = gather;
    options.may_go = std::move(may_go);
    return options;
}

void say(const char* line) {
    std::printf("%s\n", line);
    std::fflush(stdout);
}

/// SIGTERM and SIGINT as something that can be read.
class EndingSignals {
public:
    EndingSignals() {
        const sigset_t set = up::take_signals();
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

up::Config configuration(const OperatorOptions& options) {
    up::Config config = up::parse_config(
        options.config, options.config.empty() ? std::string() : up::read_file(options.config),
        options.feature_gates);
    for (const std::string& warning : config.queues.warnings)
        log_warning("config", warning);
    for (const std::string& section : without_effect(config.process))
        log_warning("config", section + ": without effect");
    return config;
}

/// What it goes by from now on, so that whoever reads the log later knows.
void tell_start(const OperatorOptions& options, const up::Config& config) {
    using Unlabelled = control::queue::JobRules::Unlabelled;
    const control::queue::JobRules& jobs = config.queues.jobs;
    std::string frameworks = "all";
    if (jobs.frameworks)
        frameworks = join(std::vector<std::string>(jobs.frameworks->begin(),  //
                                                   jobs.frameworks->end()),
                          ",");
    log_info("operator", "starting",
             {{"server", options.connection.server},
              {"config", options.config},
              {"featureGates", options.feature_gates},
              {"frameworks", frameworks},
              {"jobsWithoutQueueName",
               jobs.unlabelled == Unlabelled::managed ? "managed" : "left alone"}});
}

control::ControlPlaneOptions control_options(const up::Config& config,
                                             std::shared_ptr<Metrics> metrics) {
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

/// The server is that of the pod that this runs in.
bool is_own_cluster(const kube::Connection& connection) {
    const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
    return host != nullptr && *host != '\0' && connection.server.find(host) != std::string::npos;
}

/// Everything of a running operator. Lives on one loop.
class Operator {
public:
    Operator(net::AsioLoop& loop, const OperatorOptions& options, const up::Config& config);

    void start();
    /// Says that it is not ready, begins nothing more, lets the writes under way come to their end
    /// and gives the Lease back, so that another one may go on at once; then `done`.
    void stop(std::function<void()> done);
    /// How long that may take.
    Duration ending_patience() const {
        return std::max(usual_patience, never_later_ + giving_back);
    }
    /// Another one may be working: this one must not.
    bool lost() const { return lost_; }

private:
    void elect(kube::LeaseOptions lease);
    void lead();
    void look_for_kinds();
    void take_presence(const Presence& presence);
    void wait_for_sight();
    void beat();
    void look_at_server();
    void take_role(Vitals::Role role);
    void take_answer_of_server(const net::Response& response);
    void look_at_watches();
    void tell();
    /// Without an election always.
    bool may_act() { return elector_ == nullptr || elector_->may_act(); }

    net::AsioLoop& loop_;
    cli::PluginRunner plugins_{loop_};
    std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
    // What is written by the one that works has a connection of its own, with a fence before it and
    // another one where a request that had to wait goes out at last.
    kube::HttpTransport leaders_http_;
    kube::CountedTransport leaders_transport_;
    kube::Fence fence_;
    // All else: the Lease, which must not wait behind the others' writes, what webhooks ask, the
    // Secret with their certificates, which every replica keeps, leader or not, and probes.
    kube::HttpTransport http_;
    kube::CountedTransport transport_;
    control::Runner runner_;
    up::Outside outside_;
    Endpoints endpoints_;
    std::unique_ptr<Webhooks> webhooks_;      // Null: nobody asks.
    std::unique_ptr<kube::Elector> elector_;  // Null: this one always works.
    Gauge* leads_ = nullptr;                  // With an election only, as the next.
    Duration never_later_;  // After it was sent a write comes true, as far as the Lease can bind.
    Vitals vitals_;
    Outages outages_;
    MetricFamily<Gauge>& down_for_;
    std::set<std::string> said_;
    bool lost_ = false;
};

Operator::Operator(net::AsioLoop& loop, const OperatorOptions& options, const up::Config& config)
    : loop_(loop),
      leaders_http_(loop, loop, options.connection, gathering([this](const net::Request& request) {
                        return request.method == "GET" || may_act();
                    }),
                    kube::HttpTransport::Sends::together),
      leaders_transport_(leaders_http_, metrics_),
      fence_(
          leaders_transport_, loop, [this] { return may_act(); }, up::time_since_boot),
      http_(loop, loop, options.connection, {}, kube::HttpTransport::Sends::together),
      transport_(http_, leaders_transport_),
      runner_(
          fence_, loop,
          [this](const control::Call& call, auto done) { outside_.ask(call, std::move(done)); }),
      outside_(loop, nullptr, [this]() -> const kube::Cache& { return runner_.seen(); }),
      endpoints_(endpoints_of(options, config.process), loop, transport_, metrics_,
                 up::steady_time),
      down_for_(metrics_->gauges({"muster_watch_down_seconds",
                                  "For how long nothing has been heard of a kind that is watched; "
                                  "only of those of which that is so.",
                                  {"group", "resource"}})) {
    // The Lease and the webhooks do not wait for a slow credential plugin.
    if (options.connection.credentials) {
        options.connection.credentials->run_beside(
            [this](const kube::ExecPlugin& plugin, auto done) {
                plugins_.run(plugin, std::move(done));
            });
    }
    up::add_process_metrics(metrics_);
    control::ControlPlaneOptions control = control_options(config, metrics_);
    control.had_predecessor = [this] { return elector_ && elector_->had_predecessor(); };
    control::add_operator_controllers(runner_, control);
    if (wants_webhooks(options.webhooks, is_own_cluster(options.connection))) {
        webhooks_ = std::make_unique<Webhooks>(transport_, fence_, loop, options.webhooks,
                                               control.queues.jobs, tls_of(config.process));
    }
    if (auto lease = election_of(options, config.process)) elect(std::move(*lease));
}

void Operator::elect(kube::LeaseOptions lease) {
    leads_ = &metrics_
                  ->gauges({"leader_election_master_status",
                            "Whether this one works (1) or waits for its turn (0).",
                            {"name"}})
                  .with({lease.name});
    lease.identity = own_identity();
    lease.stopwatch = up::time_since_boot;
    never_later_ = lease.lease - lease.renew_within;
    kube::Elector::Events events;
    events.leading = [this, identity = lease.identity, ns = lease.ns, name = lease.name] {
        say("leading");
        log_info("operator", "leading: from now on this one decides",
                 {{"kind", "Lease"}, {"namespace", ns}, {"name", name}, {"identity", identity}});
        leads_->set(1);
        lead();
    };
    events.following = [this](const std::string& holder) {
        log_info("operator",
                 holder +
                     " is working, or has ended without giving its Lease back; "
                     "waiting until that is free or ends",
                 {{"leader", holder}});
        take_role(Vitals::Role::following);
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
    beat();
    look_at_server();
    if (webhooks_) webhooks_->start();
    if (elector_) return elector_->start();
    lead();
}

void Operator::lead() {
    take_role(Vitals::Role::working);
    if (webhooks_) webhooks_->lead();
    look_for_kinds();
}

void Operator::stop(std::function<void()> done) {
    log_info("operator", "ending: writes under way come to their end, nothing more is begun");
    take_role(Vitals::Role::ending);
    runner_.stop();
    leaders_transport_.when_written([this, done = std::move(done)]() mutable {
        if (!elector_) return done();
        // What was never answered may still be on its way: nobody else may begin before it is over.
        loop_.after(fence_.in_doubt(never_later_),
                    [this, done = std::move(done)] { elector_->release(done); });
    });
}

void Operator::take_role(Vitals::Role role) {
    vitals_.role = role;
    tell();
}

void Operator::tell() {
    vitals_.beat = up::steady_time();
    look_at_watches();
    if (webhooks_) vitals_.parts = {{"webhooks", webhooks_->problem()}};
    endpoints_.tell(vitals_);
}

/// As long as this comes back, the loop moves.
void Operator::beat() {
    tell();
    loop_.after(beat_every, [this] { beat(); });
}

/// What is heard of each kind counts from when it was first asked for; a follower watches only what
/// webhooks have to know.
void Operator::look_at_watches() {
    std::vector<control::Trouble> troubles = runner_.troubles();
    if (webhooks_) {
        const std::vector<control::Trouble> more = webhooks_->troubles();
        troubles.insert(troubles.end(), more.begin(), more.end());
    }
    outages_.take(troubles, vitals_.beat);
    outages_.measure(down_for_, vitals_.beat);
    const std::string told = outages_.told(vitals_.beat);
    if (told.empty() != vitals_.outages.empty())
        told.empty() ? log_info("operator", "all kinds are heard of again")
                     : log_warning("operator", "what is seen may be old: " + told);
    vitals_.outages = told;
}

/// A server that cannot reach its etcd answers much (its version), but says that it is not ready.
/// One that is about to end says so too, and works until then.
void Operator::look_at_server() {
    net::Request request;
    request.method = "GET";
    request.path = "/readyz";
    request.query = {{"exclude", "shutdown"}};
    request.body = make_bytes("");
    transport_.send(std::move(request),
                    [this](const net::Response& response) { take_answer_of_server(response); });
}

void Operator::take_answer_of_server(const net::Response& response) {
    const bool refuses = response.status == 401 || response.status == 403;
    const bool answers = response.status != 0 && response.status < 500;
    vitals_.refusal = refuses ? std::to_string(response.status) : "";
    vitals_.complaint = answers ? "" : complaint_of(response);
    if (answers) vitals_.answered = up::steady_time();
    loop_.after(answers ? server_look : silent_server_look, [this] { look_at_server(); });
}

void Operator::look_for_kinds() {
    ask_for_kinds(transport_, runner_.watched(),
                  [this](const std::vector<Answer>& answers) { take_presence(judge(answers)); });
}

void Operator::take_presence(const Presence& presence) {
    vitals_.missing = join(presence.missing, "; ");
    for (const std::string& line : presence.missing) {
        if (said_.insert(line).second) log_warning("operator", "waiting: " + line);
    }
    if (!presence.can_start()) {
        loop_.after(look_again, [this] { look_for_kinds(); });
        return;
    }
    for (const std::string& name : presence.optional)
        log_info("operator", "the server does not have " + name + "; it may come later");
    look_for_unmanaged(transport_, [](const std::string& line) { log_warning("operator", line); });
    if (!webhooks_) {
        look_for_converters(transport_,
                            [](const std::string& line) { log_warning("operator", line); });
    }
    runner_.start();
    wait_for_sight();
}

void Operator::wait_for_sight() {
    if (!runner_.seen().synced() || (webhooks_ && !webhooks_->is_published())) {
        loop_.after(synced_look, [this] { wait_for_sight(); });
        return;
    }
    vitals_.sight = Vitals::Sight::whole;
    tell();
    say("ready");
    log_info("operator", "everything is seen; stop with SIGTERM");
}

}  // namespace

int run_operator(const OperatorOptions& options) {
    const EndingSignals signals;
    net::AsioLoop loop;
    const up::Config config = configuration(options);
    tell_start(options, config);
    Operator running(loop, options, config);
    bool ending = false;
    const auto watch = loop.watch(signals.fd(), {true, false}, [&](net::AsioLoop::Interest) {
        signals.take();
        // A second signal, or a server that does not answer, does not hold it up.
        if (std::exchange(ending, true)) return loop.stop();
        running.stop([&] { loop.stop(); });
        loop.after(running.ending_patience(), [&] { loop.stop(); });
    });
    loop.post([&] { running.start(); });
    loop.run();
    loop.unwatch(watch);
    log_info("operator", "ended");
    return running.lost() ? 1 : 0;
}

}  // namespace muster::on_cluster
