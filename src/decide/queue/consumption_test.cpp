// decide/queue/consumption_test.cpp - decay in integers, and who goes first by use.
#include "decide/queue/consumption.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "decide/cycle.h"

namespace muster::decide {
namespace {

TEST_CASE("half is left after each half-life, and what lies between agrees with real numbers") {
    CHECK(Decay(hours(1), hours(1)).left_of(1'000'000) == 500'000);
    CHECK(Decay(hours(3), hours(1)).left_of(1'000'000) == 125'000);
    CHECK(Decay(Duration{}, hours(1)).left_of(1'000'000) == 1'000'000);
    CHECK(Decay(hours(1), Duration{}).left_of(1'000'000) == 0);
    CHECK(Decay(hours(1000), hours(1)).left_of(1'000'000) == 0);
    CHECK(Decay(minutes(-5), hours(1)).left_of(7) == 7);
    constexpr std::int64_t large = 1'000'000'000'000'000;
    for (const int percent : {1, 8, 25, 50, 77, 99, 101, 250}) {
        const Duration elapsed{hours(1).nanoseconds / 100 * percent};
        const double expected = static_cast<double>(large) * std::exp2(-percent / 100.0);
        const auto left = static_cast<double>(Decay(elapsed, hours(1)).left_of(large));
        CHECK(std::abs(left - expected) < 100);
    }
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(Decay(hours(1), hours(1)).left_of(most) == most / 2);
}

TEST_CASE("a steady use is approached from both sides") {
    const ResourceId cpu{0};
    Consumption up;
    Consumption down;
    down.thousandths[cpu] = 9'000'000;
    for (int i = 0; i < 500; ++i) {
        up.sample({{cpu, Amount{4000}}}, minutes(5), hours(1));
        down.sample({{cpu, Amount{4000}}}, minutes(5), hours(1));
        CHECK(up.thousandths[cpu] <= 4'000'000);
        CHECK(down.thousandths[cpu] >= 4'000'000 - 100);
    }
    CHECK(up.thousandths[cpu] > 4'000'000 - 100);
    CHECK(down.thousandths[cpu] < 4'000'000 + 100);
    up.sample({}, hours(100), hours(1));
    CHECK(up.is_nothing());
}

TEST_CASE("a charge is one sampling of what starts, and its refund takes it back") {
    const ResourceId cpu{0};
    const AdmissionSharing sharing{hours(1), minutes(30), {}};
    Consumption use;
    use.charge({{cpu, Amount{1000}}}, sharing);
    CHECK(use.thousandths[cpu] == 292'894);  // 1 - 2^-0.5, rounded up.
    use.refund({{cpu, Amount{1000}}}, sharing);
    CHECK(use.is_nothing());
}

TEST_CASE("weights of resources and of queues decide, exactly") {
    Names<ResourceId> names;
    const ResourceId cpu = names.id_of("cpu");
    const ResourceId gpu = names.id_of("nvidia.com/gpu");
    AdmissionSharing sharing;
    sharing.weight_nanos["nvidia.com/gpu"] = 4'000'000'000;
    Consumption one;
    one.thousandths[cpu] = 8'000'000;  // 8 cores
    Consumption two;
    two.thousandths[gpu] = 2'000;  // 2 devices
    const auto use = [&](const Consumption& of, std::int64_t weight) {
        return weighted_use(of, sharing, names, FairWeight{weight});
    };
    CHECK(compare(use(one, 1'000'000'000), use(two, 1'000'000'000)) == 0);
    CHECK(compare(use(one, 2'000'000'000), use(two, 1'000'000'000)) < 0);
    CHECK(compare(use(one, 0), use(two, 1)) > 0);
    CHECK(in_thousandths(use(one, 1'000'000'000)) == 8'000);
    CHECK(in_thousandths(use(one, 0)) == std::numeric_limits<std::int64_t>::max());
    two.thousandths[gpu] = std::numeric_limits<std::int64_t>::max();
    sharing.weight_nanos["nvidia.com/gpu"] = std::numeric_limits<std::int64_t>::max();
    CHECK(compare(use(one, 1), use(two, 1)) < 0);
}

/// A queue of 4 cpu by use, with the local queues a and b.
struct ByUse {
    State state;
    Time now{1'000'000'000'000'000'000};

    ByUse() {
        Options options;
        options.admission_sharing = AdmissionSharing{hours(1), minutes(5), {}};
        apply(state, OptionsSet{options});
        apply(state, FlavorSet{Flavor{"f", {}, {}, {}}});
        ClusterQueue queue;
        queue.name = "q";
        queue.namespaces = Selector{};
        queue.admission_mode = ClusterQueue::AdmissionMode::usage_based;
        queue.groups = {{{"cpu"}, {{"f", {{"cpu", {Amount{4000}, {}, {}}}}}}}};
        apply(state, QueueSet{queue});
        for (const char* name : {"a", "b"})
            apply(state, LocalQueueSet{{"ns", name, "q"}});
    }
    void submit(const std::string& id, const std::string& queue, std::int64_t cpu) {
        Workload workload;
        workload.id = id;
        workload.ns = "ns";
        workload.local_queue = queue;
        workload.created = now;
        workload.pod_sets.resize(1);
        workload.pod_sets[0].pod.requests["cpu"] = {cpu};
        apply(state, WorkloadSet{workload});
        now = now + seconds(1);
    }
    std::string admits(const Decision& decision) {
        std::string names;
        for (const Admit& admit : decision.admits)
            names += admit.workload + " ";
        CHECK(broken_invariants(state).empty());
        return names;
    }
    std::string step() { return admits(decide(state, now)); }
    std::int64_t cpu_of(const char* queue) {
        return report_local_queue(state, "ns", queue)->use->thousandths["cpu"];
    }
};

TEST_CASE("many small ones of one local queue do not pass those of another") {
    ByUse world;
    for (int i = 0; i < 4; ++i)
        world.submit("a" + std::to_string(i), "a", 1000);
    for (int i = 0; i < 4; ++i)
        world.submit("b" + std::to_string(i), "b", 1000);
    CHECK(world.step() == "a0 b0 a1 b1 ");
    CHECK(world.cpu_of("a") == world.cpu_of("b"));
}

TEST_CASE("use is added up in time, shown, and forgotten again") {
    ByUse world;
    world.submit("a0", "a", 4000);
    Decision first = decide(world.state, world.now);
    CHECK(first.uses.size() == 2);  // Both are new.
    REQUIRE(first.look_again);
    CHECK(*first.look_again == world.now + minutes(5));
    const std::int64_t charged = world.cpu_of("a");
    world.now = *first.look_again;
    const Decision second = decide(world.state, world.now);
    CHECK(second.uses == std::vector<std::pair<std::string, std::string>>{{"ns", "a"}});
    CHECK(world.cpu_of("a") > charged);
    CHECK(report_local_queue(world.state, "ns", "a")->use->updated == world.now);
    apply(world.state, WorkloadFinished{"a0"});
    world.submit("a1", "a", 4000);
    world.submit("b1", "b", 4000);
    CHECK(world.step() == "b1 ");
    for (int i = 0; i < 100; ++i) {  // More than eight half-lives.
        world.now = world.now + minutes(5);
        CHECK(world.step().empty());
    }
    CHECK(world.cpu_of("a") < 10'000);
    apply(world.state, WorkloadFinished{"b1"});
    world.submit("b2", "b", 4000);
    CHECK(world.step() == "a1 ");
}

TEST_CASE("a failed write gives the charge back, and a restart remembers what was used") {
    ByUse world;
    world.submit("a0", "a", 4000);
    CHECK(world.step() == "a0 ");
    CHECK(world.cpu_of("a") > 0);
    apply(world.state, WorkloadFailed{"a0"});
    CHECK(report_local_queue(world.state, "ns", "a")->use->thousandths.empty());

    ByUse again;
    LocalQueue queue{"ns", "c", "q"};
    queue.used_thousandths["cpu"] = 3'000'000;
    queue.use_updated = again.now;
    apply(again.state, LocalQueueSet{queue});
    again.submit("c0", "c", 4000);
    again.submit("a0", "a", 4000);
    CHECK(again.step() == "a0 ");
    CHECK(again.cpu_of("c") == 3'000'000);
}

TEST_CASE("a queue may begin and end to go by use while workloads wait") {
    ByUse world;
    world.submit("a0", "a", 4000);
    CHECK(world.step() == "a0 ");
    world.submit("a1", "a", 4000);
    world.submit("b1", "b", 4000);
    CHECK(world.step().empty());
    CHECK(waiting_in(world.state, "q", world.now) == std::vector<std::string>{"b1", "a1"});
    Options options;
    apply(world.state, OptionsSet{options});
    CHECK(world.step().empty());
    CHECK(waiting_in(world.state, "q", world.now) == std::vector<std::string>{"a1", "b1"});
    options.admission_sharing = AdmissionSharing{hours(1), minutes(5), {}};
    apply(world.state, OptionsSet{options});
    CHECK(world.step().empty());
    CHECK(waiting_in(world.state, "q", world.now) == std::vector<std::string>{"b1", "a1"});
    apply(world.state, QueueRemoved{"q"});
    CHECK(world.step().empty());
}

}  // namespace
}  // namespace muster::decide
