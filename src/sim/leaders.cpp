// sim/leaders.cpp - two operators, the way between them and the server, and their bad luck.
#include "sim/leaders.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/kind.h"
#include "api/yaml.h"
#include "base/text.h"
#include "control/control_plane.h"
#include "kube/request.h"
#include "store/memory_journal.h"

namespace muster::sim {
namespace {

constexpr Time morning{1'700'000'000'000'000'000};
constexpr Duration far_too_late = seconds(30);
/// From the moment at which a double admission is to be seen to that at which it is undone, on a
/// network that is healthy again.
constexpr Duration undone_within = seconds(5);
/// A deleted Lease is taken again within so long, by its holder or by the one that follows it.
constexpr Duration taken_within = seconds(30);

constexpr const char* ground = R"(
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: muster-system}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: 9}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: low}, value: 1}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 5}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: lq, namespace: team},
 spec: {clusterQueue: queue}}
)";

net::Response unreachable() {
    net::Response response;
    response.status = 0;
    response.body = make_bytes("simulated fault");
    return response;
}

bool is_admission(const net::Request& request) {
    return request.method == "PATCH" && request.path.find("/workloads/") != std::string::npos &&
           request.body->find("podSetAssignments") != std::string::npos;
}

}  // namespace

/// The way from one operator to the server: requests take their time, answers get lost; and its
/// sender may stand still right before it sends. What is under way outlives its sender.
class Leaders::Link final : public kube::Transport {
public:
    Link(Leaders& day, std::size_t place, VirtualLoop& own, std::unique_ptr<kube::Transport> inner)
        : day_(day), place_(place), own_(own), inner_(std::move(inner)) {}

    void send(net::Request request, OnResponse on_response) override {
        Random& random = day_.random_;
        Duration late = milliseconds(static_cast<std::int64_t>(random.below(20)));
        const auto most = static_cast<std::uint64_t>(day_.bounds_.late.nanoseconds);
        const bool is_bad = day_.within_bounds_;  // Else one thing is late, far too late.
        if (is_bad && random.below(20) == 0)
            late = nanoseconds(static_cast<std::int64_t>(random.below(most)));
        const bool is_the_late_one = day_.next_admission_is_late_ && is_admission(request);
        if (is_the_late_one) {
            day_.next_admission_is_late_ = false;
            late = far_too_late;
            day_.user_loop_.post(
                [day = &day_, place = place_] { day->end_operator(place, minutes(2)); });
        }
        const bool is_lost = is_bad && random.below(50) == 0;
        if (is_lost) own_.after(milliseconds(50), [on_response] { on_response(unreachable()); });
        // Of the time of the answer nothing is known either.
        Duration back = milliseconds(static_cast<std::int64_t>(random.below(20)));
        if (is_bad && random.below(20) == 0)
            back = milliseconds(static_cast<std::int64_t>(random.below(8000)));
        day_.weather_.after(late, [this, is_the_late_one, is_lost, back,
                                   request = std::move(request), on_response]() mutable {
            if (is_the_late_one) day_.late_one_ = day_.fate_of(request);
            inner_->send(std::move(request),
                         [this, is_lost, back, on_response](net::Response response) {
                             if (is_lost) return;
                             own_.after(back, [on_response, response = std::move(response)] {
                                 on_response(response);
                             });
                         });
        });
    }
    StreamId open(net::Request request, Stream stream) override {
        return inner_->open(std::move(request), std::move(stream));
    }
    void cancel(StreamId stream) override { inner_->cancel(stream); }

private:
    Leaders& day_;
    std::size_t place_;
    VirtualLoop& own_;
    std::unique_ptr<kube::Transport> inner_;
};

namespace {

/// Before the fence: a process that stands still in the middle of a plan, between two of its
/// writes.
class Stopping final : public kube::Transport {
public:
    Stopping(kube::Transport& inner, VirtualTime& time, VirtualLoop& own, Random& random)
        : inner_(inner), time_(time), own_(own), random_(random) {}

    bool stops = false;

    void send(net::Request request, OnResponse on_response) override {
        const bool writes = request.method != "GET";
        if (held_.empty() && stops && writes && random_.below(150) == 0) {
            time_.freeze(own_, milliseconds(static_cast<std::int64_t>(random_.below(40'000))));
            own_.post_first([this] {
                for (auto& [held, told] : std::exchange(held_, {}))
                    inner_.send(std::move(held), std::move(told));
            });
        } else if (held_.empty()) {
            return inner_.send(std::move(request), std::move(on_response));
        }
        held_.emplace_back(std::move(request), std::move(on_response));
    }
    StreamId open(net::Request request, Stream stream) override {
        return inner_.open(std::move(request), std::move(stream));
    }
    void cancel(StreamId stream) override { inner_.cancel(stream); }

private:
    kube::Transport& inner_;
    VirtualTime& time_;
    VirtualLoop& own_;
    Random& random_;
    std::vector<std::pair<net::Request, OnResponse>> held_;
};

}  // namespace

/// One process.
struct Leaders::Operator {
    VirtualLoop* loop = nullptr;  // Null: it is not there.
    int term = 0;                 // Its turn among those who have led; 0: it has not.
    bool leads = false;
    bool follows = false;  // It has seen whose the Lease is.
    std::unique_ptr<Link> link;
    std::unique_ptr<kube::CountedTransport> counted;
    std::unique_ptr<kube::Fence> fence;
    std::unique_ptr<Stopping> stopping;
    std::unique_ptr<kube::Elector> elector;
    std::unique_ptr<control::Runner> runner;
};

Leaders::Leaders(std::uint64_t seed, Fenced fenced)
    : random_(seed),
      time_(random_, morning),
      fenced_(fenced),
      weather_(time_.make_loop()),
      user_loop_(time_.make_loop()),
      server_loop_(time_.make_loop()) {
    start_server();
    create(ground);
    operators_.resize(2);
    for (std::size_t place = 0; place < 2; ++place)
        start_operator(place);
}

Leaders::~Leaders() = default;

void Leaders::start_server() {
    store_ = std::make_unique<store::Store>(std::make_unique<store::MemoryJournal>());
    apiserver::Options options;
    options.random = Random(random_.next());
    server_ = std::make_unique<apiserver::Server>(*store_, server_loop_, std::move(options));
    for (api::AdmissionHook& hook : control::admission_hooks())
        server_->add_admission(std::move(hook));
    store_->watch("/", store_->revision(), [this](const store::Change& change) { take(change); });
    server_->bootstrap([] {});
    user_ = std::make_unique<kube::InProcessTransport>(
        [this](net::Request request, std::shared_ptr<net::Responder> responder) {
            server_->handle(std::move(request), std::move(responder));
        },
        server_loop_, user_loop_, "user");
}

void Leaders::start_operator(std::size_t place) {
    if (operators_[place] != nullptr) dead_.push_back(std::move(operators_[place]));
    operators_[place] = std::make_unique<Operator>();
    Operator& made = *operators_[place];
    made.loop = &time_.make_loop();
    VirtualLoop& loop = *made.loop;
    const auto off = static_cast<std::uint64_t>(bounds_.rate_off);
    time_.set_rate(loop,
                   1000 - bounds_.rate_off + static_cast<std::int64_t>(random_.below(2 * off + 1)));
    const auto handle = [this, &made](net::Request request,
                                      std::shared_ptr<net::Responder> responder) {
        const bool is_late = request.method != "GET" && made.term < terms_ &&
                             request.path.find("/leases") == std::string::npos;
        if (is_late) {
            ++numbers_.late_writes;
            if (within_bounds_) throw Broken{"a former leader's write came true: " + request.path};
        }
        server_->handle(std::move(request), std::move(responder));
    };
    made.link = std::make_unique<Link>(
        *this, place, loop,
        std::make_unique<kube::InProcessTransport>(handle, server_loop_, loop, "operator"));
    made.counted = std::make_unique<kube::CountedTransport>(*made.link, nullptr);
    made.fence = std::make_unique<kube::Fence>(
        *made.counted, loop,
        [this, &made] {
            const bool may = made.elector->may_act();
            if (!may) ++numbers_.refused;
            return may || fenced_ == Fenced::no;
        },
        [&loop] { return loop.stopwatch(); });
    made.stopping = std::make_unique<Stopping>(*made.fence, time_, loop, random_);
    made.stopping->stops = within_bounds_;
    kube::LeaseOptions lease;
    lease.ns = "muster-system";
    lease.name = "muster-operator";
    lease.identity = "operator-" + std::to_string(++processes_);
    lease.stopwatch = [&loop] { return loop.stopwatch(); };
    kube::Elector::Events events;
    events.leading = [this, &made] {
        made.leads = true;
        made.term = ++terms_;
        ++numbers_.leaders;
        made.runner->start();
    };
    events.following = [&made](const std::string&) { made.follows = true; };
    events.lost = [this, place, &made] {
        made.leads = false;
        made.runner->stop();
        made.loop->kill();
        user_loop_.post([this, place] { end_operator(place, seconds(2)); });
    };
    made.elector =
        std::make_unique<kube::Elector>(*made.link, loop, std::move(lease), std::move(events));
    made.runner = std::make_unique<control::Runner>(
        *made.stopping, loop,
        [](const control::Call&, const std::function<void(int, std::string)>&) {});
    control::ControlPlaneOptions options;
    options.had_predecessor = [&made] { return made.elector->had_predecessor(); };
    control::add_operator_controllers(*made.runner, options);
    loop.post([&made] { made.elector->start(); });
}

/// As by kill -9; another one is started in its place after a while.
void Leaders::end_operator(std::size_t place, Duration pause) {
    Operator& gone = *operators_[place];
    if (gone.loop == nullptr) return;
    gone.loop->kill();
    gone.loop = nullptr;
    gone.leads = false;
    user_loop_.after(pause, [this, place] { start_again(place); });
}

/// A process that starts and finds no Lease takes it at once. Right after somebody deleted it, that
/// is beyond the bounds: one that was there before then is to take it first.
void Leaders::start_again(std::size_t place) {
    if (lease_deleted_at_ && time_.now() - *lease_deleted_at_ < taken_within) {
        user_loop_.after(seconds(1), [this, place] { start_again(place); });
        return;
    }
    start_operator(place);
}

/// As by SIGTERM: what is under way ends, then the Lease is given back.
void Leaders::give_up(std::size_t place) {
    Operator& ending = *operators_[place];
    if (ending.loop == nullptr) return;
    ending.loop->post([this, place, &ending] {
        ending.runner->stop();
        ending.counted->when_written([this, place, &ending] {
            ending.loop->after(ending.fence->in_doubt(seconds(5)), [this, place, &ending] {
                ending.elector->release([this, place] {
                    user_loop_.post([this, place] { end_operator(place, seconds(3)); });
                });
            });
        });
    });
}

std::optional<std::size_t> Leaders::leading() const {
    for (std::size_t place = 0; place < operators_.size(); ++place) {
        if (operators_[place]->leads) return place;
    }
    return std::nullopt;
}

void Leaders::bad_luck() {
    const std::size_t any = random_.below(2);
    const std::size_t place = leading().value_or(any);
    VirtualLoop* const loop = operators_[place]->loop;
    if (loop == nullptr) return;
    switch (random_.below(7)) {
        case 0:
            return end_operator(place, seconds(4));
        case 1:
            return give_up(place);
        case 2:
        case 3:
            return time_.freeze(*loop,
                                milliseconds(static_cast<std::int64_t>(random_.below(40'000))));
        case 4:
            return delete_lease();
        default:
            return time_.skew(*loop,
                              seconds(static_cast<std::int64_t>(random_.below(7200)) - 3600));
    }
}

/// By hand, while no process is new (see start_again).
void Leaders::delete_lease() {
    for (const auto& each : operators_) {
        if (each->loop == nullptr || !(each->leads || each->follows)) return;
    }
    const kube::Target leases{{"coordination.k8s.io", "leases"}, "v1"};
    const net::Response answer =
        ask(kube::remove(leases, {leases.resource, "muster-system", "muster-operator"}, "", ""));
    if (answer.status != 200) return;
    ++numbers_.deleted;
    lease_deleted_at_ = time_.now();
}

void Leaders::play_day(Duration span) {
    const Time end = time_.now() + span;
    std::vector<std::string> jobs;
    for (int made = 0; time_.now() < end;) {
        pass(milliseconds(static_cast<std::int64_t>(500 + random_.below(1000))));
        if (jobs.size() < 8 || random_.below(3) == 0) {
            jobs.push_back("job-" + std::to_string(++made));
            create_job(jobs.back(), 1 + static_cast<int>(random_.below(4)),
                       random_.below(2) == 0 ? "high" : "low");
        } else {
            const auto gone =
                jobs.begin() + static_cast<std::ptrdiff_t>(random_.below(jobs.size()));
            remove_job(*gone);
            jobs.erase(gone);
        }
        if (random_.below(15) == 0) bad_luck();
    }
}

void Leaders::play_late_admission() {
    within_bounds_ = false;
    for (const auto& each : operators_)
        each->stopping->stops = false;
    create_job("runs", 5, "low");
    until("the first is admitted", minutes(2), [&] { return is_admitted("runs"); });
    create_job("late", 5, "low");
    until("the second is told why it waits", minutes(1),
          [&] { return !workload_of("late")["status"]["conditions"].empty(); });
    pass(seconds(2));
    next_admission_is_late_ = true;
    remove_job("runs");
    until("its admission is on its way", minutes(1), [&] { return !next_admission_is_late_; });
    create_job("urgent", 5, "high");
    until("another one leads and admits somebody else", seconds(25),
          [&] { return is_admitted("urgent"); });
    until("the late admission has come", minutes(1), [&] { return late_one_ != Fate::under_way; });
    pass(milliseconds(100));
    // Who leads now has written over what it was decided of: nobody is admitted twice.
    if (late_one_ == Fate::outdated) return;
    if (!was_exceeded_) throw Broken{"the late admission was not taken"};
    ++numbers_.undone;
    until("the later one is evicted", undone_within, [&] { return !is_exceeded_; });
    if (!is_admitted("urgent") || is_admitted("late")) throw Broken{"the wrong one was evicted"};
    bool is_told = false;
    const api::Value late = workload_of("late");
    for (const api::Value& condition : late["status"]["conditions"].items()) {
        is_told = is_told || (condition["type"].text_or("") == "Evicted" &&
                              condition["message"].text().starts_with("Two operators admitted"));
    }
    if (!is_told) throw Broken{"nobody is told why it was evicted"};
    remove_job("urgent");
    until("it gets its turn", minutes(1), [&] { return is_admitted("late"); });
    pass(minutes(3));
    if (is_exceeded_) throw Broken{"quota is exceeded again"};
}

void Leaders::take(const store::Change& change) {
    const auto broken = checks_.take(change);
    if (change.key.ends_with("/leases/muster-system/muster-operator") && change.after != nullptr)
        lease_deleted_at_.reset();
    if (change.key.find("/workloads/") == std::string::npos) return;
    const auto known = std::find(admitted_.begin(), admitted_.end(), change.key);
    const bool holds =
        change.after != nullptr && change.after->find("podSetAssignments") != std::string::npos;
    if (holds && known == admitted_.end()) {
        ++numbers_.admissions;
        admitted_.push_back(change.key);
    } else if (!holds && known != admitted_.end()) {
        admitted_.erase(known);
    }
    is_exceeded_ = broken.has_value();
    was_exceeded_ = was_exceeded_ || is_exceeded_;
    if (broken && within_bounds_) throw Broken{*broken};
}

api::Value Leaders::workload_of(const std::string& job) const {
    for (const auto& [key, workload] : checks_.under("/kueue.x-k8s.io/workloads/")) {
        if (workload["metadata"]["ownerReferences"][0]["name"].text_or("") == job) return workload;
    }
    return {};
}

/// What will become of the late admission that the server gets now.
Leaders::Fate Leaders::fate_of(const net::Request& request) const {
    const auto parsed = api::parse_json(*request.body);
    const auto* sent = std::get_if<api::Parsed>(&parsed);
    if (sent == nullptr) throw Broken{"an admission is no JSON"};
    const bool same = sent->value["metadata"]["resourceVersion"] ==
                      workload_of("late")["metadata"]["resourceVersion"];
    return same ? Fate::taken : Fate::outdated;
}

bool Leaders::is_admitted(const std::string& job) const {
    return workload_of(job)["status"]["admission"].is_object();
}

void Leaders::pass(Duration span) {
    time_.pass(span);
}

void Leaders::until(const std::string& what, Duration span, const std::function<bool()>& holds) {
    const Time end = time_.now() + span;
    while (!holds()) {
        if (time_.now() >= end) throw Broken{"did not come true: " + what};
        pass(milliseconds(50));
    }
}

net::Response Leaders::ask(net::Request request) {
    std::optional<net::Response> answer;
    const std::string what = request.method + " " + request.path;
    user_->send(std::move(request), [&](net::Response response) { answer = std::move(response); });
    until(what + " is answered", minutes(1), [&] { return answer.has_value(); });
    return *answer;
}

void Leaders::create(const std::string& yaml) {
    auto parsed = api::parse_yaml(yaml);
    if (auto* problem = std::get_if<api::ParseError>(&parsed)) throw Broken{problem->text};
    for (const api::Parsed& document : std::get<std::vector<api::Parsed>>(parsed)) {
        const api::Value& object = document.value;
        const auto version = api::parse_group_version(object["apiVersion"].text_or(""));
        const api::Kind* kind = api::find_kind_named(version.group, object["kind"].text_or(""));
        if (kind == nullptr) throw Broken{"no kind " + object["kind"].text()};
        const std::string ns = object["metadata"]["namespace"].text();
        const net::Response answer =
            ask(kube::create({kind->resource(), version.version}, ns, "", "", object));
        if (answer.status != 201) throw Broken{"create was refused: " + *answer.body};
    }
}

void Leaders::create_job(const std::string& name, int cpu, const std::string& priority) {
    create(R"({apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: )" + name +
           R"(, labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/priority-class: )" +
           priority + R"(}}, spec: {suspend: true, template: {spec: {restartPolicy: Never,
           containers: [{name: main, image: none, resources: {requests: {cpu: )" +
           std::to_string(cpu) + "}}}]}}}}");
}

void Leaders::remove_job(const std::string& name) {
    const net::Response answer = ask(kube::remove(
        {{"batch", "jobs"}, "v1"}, {{"batch", "jobs"}, "team", name}, "", "Background"));
    if (answer.status != 200) throw Broken{"delete was refused: " + *answer.body};
}

std::string play_leaders(std::uint64_t seed, Duration day) {
    try {
        Leaders(seed).play_day(day);
        Leaders(seed).play_late_admission();
    } catch (const Broken& broken) {
        return "two operators: " + broken.what;
    }
    return {};
}

}  // namespace muster::sim
