// agent/pod_plan_test.cpp - a pod's life from plan to plan, without processes or time.
#include "agent/pod_plan.h"

#include <doctest/doctest.h>

#include "agent/pod_status.h"
#include "api/json.h"

namespace muster::agent {

namespace {

using Kind = Action::Kind;

api::Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(std::move(parsed)).value;
}

/// A pod and what is seen of it, moved by verbs.
struct Life {
    explicit Life(const std::string& spec)
        : pod(json(R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":)" + spec + "}")) {
        seen.acknowledged = now;
        seen.prepared = true;
        seen.sandbox = PodSeen::Sandbox::up;
    }

    /// Plans and notes until nothing is left to do now; gives "start a, probe a Readiness".
    std::string go() {
        std::string told;
        for (int round = 0; round < 20; ++round) {
            plan = plan_pod(pod, seen, now);
            if (plan.actions.empty()) break;
            for (const Action& action : plan.actions) {
                note(pod, seen, action, now);
                told += (told.empty() ? "" : ", ") + word_of(action);
            }
        }
        return told;
    }
    static std::string word_of(const Action& action) {
        static const char* kWords[] = {"prepare",     "make_sandbox", "start", "post_start",
                                       "pre_stop",    "term",         "kill",  "probe",
                                       "end_sandbox", "remove"};
        std::string text = kWords[static_cast<int>(action.kind)];
        if (!action.container.empty()) text += " " + action.container;
        if (action.kind == Kind::probe) text += std::string(" ") + word(action.probe);
        return text;
    }
    void runs(const std::string& name) {
        seen.containers[name].phase = ContainerSeen::Phase::running;
        seen.containers[name].started = now;
    }
    void exits(const std::string& name, int code) {
        Ended ended;
        ended.started = seen.containers[name].started;
        ended.finished = now;
        ended.code = code;
        ended.reason = code == 0 ? "Completed" : "Error";
        ended.attempt = seen.containers[name].attempt;
        note_end(seen.containers[name], ended);
    }
    void probed(const std::string& name, ProbeKind kind, bool success) {
        for (const ContainerSpec& spec : containers_of(pod))
            if (spec.name == name)
                take_result(*probe_spec_of(*spec.value, kind, spec.injected_probes),
                            seen.containers[name].probes[static_cast<int>(kind)], success);
    }
    void deleted(std::int64_t grace) {
        pod.at("metadata").set("deletionTimestamp", to_rfc3339(now));
        pod.at("metadata").set("deletionGracePeriodSeconds", grace);
    }
    api::Value status() { return make_status(pod, seen, now); }
    std::string phase() { return status()["phase"].text(); }
    std::string state() { return api::to_json(status()["containerStatuses"][0]["state"]); }

    Time now{1'700'000'000'000'000'000};
    api::Value pod;
    PodSeen seen;
    PodPlan plan;
};

constexpr const char* kOne = R"({"restartPolicy":"%","containers":[{"name":"a"}]})";

std::string with_policy(const std::string& policy) {
    std::string text = kOne;
    return text.replace(text.find('%'), 1, policy);
}

}  // namespace

TEST_CASE("a pod is prepared, gets its sandbox, then its containers") {
    Life life(with_policy("Always"));
    life.seen.prepared = false;
    life.seen.sandbox = PodSeen::Sandbox::none;
    CHECK(plan_pod(life.pod, life.seen, life.now).actions ==
          std::vector<Action>{{Kind::prepare, ""}});
    life.seen.prepared = true;
    CHECK(life.go() == "make_sandbox");
    CHECK(life.phase() == "Pending");
    life.seen.sandbox = PodSeen::Sandbox::up;
    CHECK(life.go() == "start a");
    life.runs("a");
    CHECK(life.go() == "");
    CHECK(life.phase() == "Running");
}

TEST_CASE("a container that crashes starts again at once, then after 10, 20, 40 seconds") {
    Life life(with_policy("Always"));
    CHECK(life.go() == "start a");
    for (const int wait : {0, 10, 20, 40, 80, 160, 300, 300}) {
        life.runs("a");
        life.exits("a", 1);
        if (wait > 0) {
            CHECK(life.go() == "");
            CHECK(life.state().find("CrashLoopBackOff") != std::string::npos);
            REQUIRE(life.plan.look_again);
            CHECK(*life.plan.look_again == life.now + seconds(wait));
            life.now = life.now + seconds(wait);
        }
        CHECK(life.go() == "start a");
    }
    CHECK(life.status()["containerStatuses"][0]["restartCount"].integer_or(0) == 8);
}

TEST_CASE(
    "restart policies decide what an end means, and the phase is final without processes only") {
    struct Row {
        const char* policy;
        int code;
        const char* then;
        const char* phase;
    };
    for (const Row& row :
         {Row{"Never", 0, "end_sandbox", "Succeeded"}, Row{"Never", 1, "end_sandbox", "Failed"},
          Row{"OnFailure", 0, "end_sandbox", "Succeeded"},
          Row{"OnFailure", 1, "start a", "Running"}, Row{"Always", 0, "start a", "Running"}}) {
        CAPTURE(row.policy);
        CAPTURE(row.code);
        Life life(with_policy(row.policy));
        life.go();
        life.runs("a");
        life.exits("a", row.code);
        CHECK(life.phase() == "Running");
        CHECK(life.go() == row.then);
        if (life.seen.sandbox == PodSeen::Sandbox::ending)
            life.seen.sandbox = PodSeen::Sandbox::gone;
        if (life.seen.containers["a"].phase == ContainerSeen::Phase::starting) life.runs("a");
        CHECK(life.phase() == row.phase);
    }
}

TEST_CASE("init containers run in order, sidecars stay, and the others wait for both") {
    Life life(R"({"restartPolicy":"Never","initContainers":[{"name":"i"},
        {"name":"s","restartPolicy":"Always","startupProbe":{"exec":{"command":["x"]}}}],
        "containers":[{"name":"a"}]})");
    CHECK(life.go() == "start i");
    life.runs("i");
    CHECK(life.go() == "");
    life.exits("i", 0);
    CHECK(life.go() == "start s");
    life.runs("s");
    CHECK(life.go() == "probe s Startup");
    CHECK(life.status()["conditions"][1]["status"].text() == "False");
    life.probed("s", ProbeKind::startup, true);
    CHECK(life.go() == "start a");
    CHECK(life.status()["conditions"][1]["status"].text() == "True");
    life.runs("a");
    life.exits("a", 0);
    // The main containers have ended: sidecars are ended, then the sandbox.
    CHECK(life.go() == "term s");
    life.exits("s", 143);
    CHECK(life.go() == "end_sandbox");
    life.seen.sandbox = PodSeen::Sandbox::gone;
    CHECK(life.phase() == "Succeeded");
}

TEST_CASE("a failed init container fails a pod that never restarts") {
    Life life(R"({"restartPolicy":"Never","initContainers":[{"name":"i"}],
                  "containers":[{"name":"a"}]})");
    life.go();
    life.runs("i");
    life.exits("i", 2);
    CHECK(life.go() == "end_sandbox");
    life.seen.sandbox = PodSeen::Sandbox::gone;
    CHECK(life.phase() == "Failed");
    CHECK(life.state().find("PodInitializing") != std::string::npos);
}

TEST_CASE("deletion: hook, SIGTERM, SIGKILL after the grace, then the sandbox, then the object") {
    Life life(R"({"restartPolicy":"Always","containers":[{"name":"a",
        "lifecycle":{"preStop":{"exec":{"command":["x"]}}}}]})");
    life.go();
    life.runs("a");
    life.deleted(30);
    CHECK(life.go() == "pre_stop a");
    life.now = life.now + seconds(5);
    life.seen.containers["a"].pre_stop = ContainerSeen::Hook::done;
    CHECK(life.go() == "term a");
    CHECK(*life.plan.look_again == life.now + seconds(25));
    life.now = life.now + seconds(25);
    CHECK(life.go() == "kill a");
    life.exits("a", 137);
    CHECK(life.go() == "end_sandbox");
    CHECK(life.go() == "");
    life.seen.sandbox = PodSeen::Sandbox::gone;
    CHECK(life.go() == "remove");
    CHECK(life.go() == "");
}

TEST_CASE("a second deletion with less grace shortens the first") {
    Life life(with_policy("Always"));
    life.go();
    life.runs("a");
    life.deleted(30);
    CHECK(life.go() == "term a");
    life.deleted(0);
    CHECK(life.go() == "kill a");
}

TEST_CASE("a pod that never ran is removed at once, a finished one is not run again") {
    Life never(with_policy("Always"));
    never.seen.sandbox = PodSeen::Sandbox::none;
    never.deleted(30);
    CHECK(never.go() == "remove");

    Life finished(with_policy("Never"));
    finished.seen = {};
    finished.pod.at("status").set("phase", "Succeeded");
    CHECK(finished.go() == "");
    CHECK(finished.phase() == "Succeeded");
}

TEST_CASE("a failing liveness probe ends the container at its threshold") {
    Life life(R"({"restartPolicy":"Always","containers":[{"name":"a",
        "livenessProbe":{"tcpSocket":{"port":1},"failureThreshold":2,"periodSeconds":5}}]})");
    life.go();
    life.runs("a");
    CHECK(life.go() == "probe a Liveness");
    life.probed("a", ProbeKind::liveness, false);
    CHECK(life.go() == "");
    life.now = life.now + seconds(5);
    CHECK(life.go() == "probe a Liveness");
    life.probed("a", ProbeKind::liveness, false);
    CHECK(life.go() == "term a");
}

TEST_CASE("readiness counts thresholds both ways, and says so in the conditions") {
    Life life(R"({"restartPolicy":"Always","containers":[{"name":"a",
        "readinessProbe":{"tcpSocket":{"port":1},"initialDelaySeconds":3,"failureThreshold":2}}]})");
    life.go();
    life.runs("a");
    CHECK(life.go() == "");
    CHECK(*life.plan.look_again == life.now + seconds(3));
    life.now = life.now + seconds(3);
    CHECK(life.go() == "probe a Readiness");
    life.probed("a", ProbeKind::readiness, true);
    CHECK(life.status()["conditions"][2]["status"].text() == "True");
    life.probed("a", ProbeKind::readiness, false);
    CHECK(life.status()["conditions"][2]["status"].text() == "True");
    life.probed("a", ProbeKind::readiness, false);
    CHECK(life.status()["conditions"][2]["status"].text() == "False");
    CHECK(life.status()["conditions"][2]["message"].text() ==
          "containers with unready status: [a]");
}

TEST_CASE("probes that Muster injects are asked at once and every 0.2 s until the first success") {
    Life life(R"({"restartPolicy":"Always","containers":[{"name":"a",
        "readinessProbe":{"tcpSocket":{"port":1},"initialDelaySeconds":10,"periodSeconds":5}}]})");
    life.pod.at("metadata").at("annotations").set("muster.dev/injected-probes", "a");
    life.go();
    life.runs("a");
    CHECK(life.go() == "probe a Readiness");
    life.probed("a", ProbeKind::readiness, false);
    CHECK(life.go() == "");
    CHECK(*life.plan.look_again == life.now + milliseconds(200));
    life.now = life.now + milliseconds(200);
    CHECK(life.go() == "probe a Readiness");
    life.probed("a", ProbeKind::readiness, true);
    CHECK(life.go() == "");
    CHECK(*life.plan.look_again == life.now + seconds(5));
}

TEST_CASE("a container without an environment waits and says what to add") {
    Life life(with_policy("Always"));
    life.seen.containers["a"].image_problem = "image x is not mapped";
    CHECK(life.go() == "");
    CHECK(life.state() ==
          R"({"waiting":{"reason":"ErrImagePull","message":"image x is not mapped"}})");
    life.now = life.now + seconds(11);
    CHECK(life.state().find("ImagePullBackOff") != std::string::npos);
}

TEST_CASE("a sandbox that died under a pod that never restarts fails it") {
    Life life(with_policy("Never"));
    life.go();
    life.runs("a");
    life.exits("a", 137);
    life.seen.lost = true;
    life.seen.sandbox = PodSeen::Sandbox::gone;
    CHECK(life.go() == "");
    CHECK(life.phase() == "Failed");
}

TEST_CASE("conditions keep the time of their last change, and others' conditions stay") {
    Life life(with_policy("Always"));
    life.go();
    life.runs("a");
    life.pod.set("status", life.status());
    life.pod.at("status").at("conditions").push(json(R"({"type":"Other","status":"True"})"));
    const std::string before = life.status()["conditions"][2]["lastTransitionTime"].text();
    life.now = life.now + seconds(100);
    const api::Value after = life.status();
    CHECK(after["conditions"][2]["lastTransitionTime"].text() == before);
    CHECK(api::to_json(after["conditions"]).find("Other") != std::string::npos);
}

}  // namespace muster::agent
