// control/cluster/job_test.cpp - Jobs from creation to the last condition, with crashes between any
// two writes.
#include "control/cluster/job.h"

#include <doctest/doctest.h>

#include "control/cluster/index_set.h"
#include "control/cluster/job_pods.h"
#include "control/cluster/resources.h"
#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

/// A cluster with one Job and its controllers.
struct JobStory : SmallCluster {
    ClusterOptions options;
    Controller controller = job_controller(options);
    Controller releaser = job_pod_release_controller();
    api::Key key{jobs, "default", "train"};

    explicit JobStory(const std::string& spec) {
        put(jobs,
            "{apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: default}, "
            "spec: {" +
                spec +
                ", template: {metadata: {labels: {app: t}}, spec: {restartPolicy: Never, "
                "containers: [{name: main, image: busybox}]}}}}");
    }

    std::optional<Duration> look_again;

    void run() {
        for (int round = 0; round < 60; ++round) {
            const Reconciled result = controller.reconcile(seen, key, now);
            carry_out(result);
            look_again = result.look_again;
            bool more = !result.writes.empty();
            for (const kube::ObjectPtr& pod : seen.list(pods)) {
                const Reconciled released = releaser.reconcile(seen, pod->key, now);
                carry_out(released);
                more = more || !released.writes.empty();
            }
            if (!more) return;
        }
        FAIL("the Job controller does not come to rest");
    }

    api::Value status() const {
        const kube::ObjectPtr job = seen.find(key);
        return job == nullptr ? api::Value() : job->value["status"];
    }
    std::int64_t number(const char* field) const { return status()[field].integer_or(0); }
    std::string condition(const char* type) const {
        const api::Value now_status = status();
        const api::Value& condition = condition_of(now_status, type);
        return condition["status"].text() == "True" ? condition["reason"].text() : "";
    }
    /// Pods that have neither ended nor are ending.
    std::vector<kube::ObjectPtr> active() const {
        std::vector<kube::ObjectPtr> found;
        for (const kube::ObjectPtr& pod : seen.list(pods)) {
            if (!is_finished_pod(*pod) && !pod->is_terminating()) found.push_back(pod);
        }
        return found;
    }
    void place_all() {
        for (const kube::ObjectPtr& pod : active())
            patch(pod, "{spec: {nodeName: n1}, status: {phase: Running}}");
    }
    void end_all(const std::string& phase) {
        for (const kube::ObjectPtr& pod : active())
            end_pod(pod, phase);
    }
    void let_pass(Duration span) { now = now + span; }
};

TEST_CASE("a Job with one pod runs to Complete") {
    JobStory story("backoffLimit: 6");
    story.run();
    REQUIRE(story.active().size() == 1);
    const kube::ObjectPtr pod = story.active()[0];
    CHECK(pod->label("batch.kubernetes.io/job-name") == "train");
    CHECK(pod->label("app") == "t");
    CHECK(is_tracked(*pod));
    CHECK(story.number("active") == 1);
    CHECK(story.status().has("startTime"));

    story.place_all();
    story.end_all("Succeeded");
    story.run();
    CHECK(story.number("succeeded") == 1);
    CHECK(story.number("active") == 0);
    CHECK(story.condition("SuccessCriteriaMet") == "CompletionsReached");
    CHECK(story.condition("Complete") == "CompletionsReached");
    CHECK(story.status().has("completionTime"));
    CHECK(story.status()["uncountedTerminatedPods"].empty());
    CHECK_FALSE(is_tracked(*story.seen.list(pods)[0]));
    CHECK(story.has_event("SuccessfulCreate"));
    CHECK(story.has_event("Completed"));
}

TEST_CASE("a crash after any number of writes loses and doubles nothing") {
    for (std::size_t crash_after = 0; crash_after < 12; ++crash_after) {
        CAPTURE(crash_after);
        JobStory story("parallelism: 3, completions: 5, backoffLimit: 9");
        int ends = 0;
        bool crashed = false;
        for (int round = 0; round < 80 && story.condition("Complete").empty(); ++round) {
            const Reconciled result = story.controller.reconcile(story.seen, story.key, story.now);
            const bool crash = !crashed && result.writes.size() > crash_after && round > 2;
            story.carry_out(result, crash ? crash_after : 1000);
            crashed = crashed || crash;
            CHECK(story.active().size() <= 3);
            if (!result.writes.empty()) continue;
            story.place_all();
            if (story.active().empty()) story.let_pass(seconds(400));
            if (!story.active().empty())
                story.end_pod(story.active()[0], ++ends == 2 ? "Failed" : "Succeeded");
        }
        CHECK(story.condition("Complete") == "CompletionsReached");
        CHECK(story.number("succeeded") == 5);
        CHECK(story.number("failed") == 1);
        CHECK(story.seen.list(pods).size() == 6);
    }
}

TEST_CASE("failed pods are replaced later and later until the limit is exceeded") {
    JobStory story("backoffLimit: 2");
    story.run();
    Duration last{};
    for (int failures = 1; failures <= 2; ++failures) {
        story.place_all();
        story.end_all("Failed");
        story.run();
        CHECK(story.number("failed") == failures);
        CHECK(story.active().empty());
        REQUIRE(story.look_again.has_value());
        CHECK(*story.look_again > last);
        last = *story.look_again;
        story.let_pass(last);
        story.run();
        CHECK(story.active().size() == 1);
    }
    story.place_all();
    story.end_all("Failed");
    story.run();
    CHECK(story.condition("FailureTarget") == "BackoffLimitExceeded");
    CHECK(story.condition("Failed") == "BackoffLimitExceeded");
    CHECK(story.has_event("BackoffLimitExceeded"));
    CHECK(story.number("failed") == 3);
}

TEST_CASE("a deadline ends the Job, and it is Failed only when its processes are gone") {
    JobStory story("activeDeadlineSeconds: 30");
    story.run();
    story.place_all();
    story.run();
    REQUIRE(story.look_again.has_value());
    CHECK(*story.look_again == seconds(30));
    story.let_pass(seconds(30));
    story.run();
    CHECK(story.condition("FailureTarget") == "DeadlineExceeded");
    CHECK(story.condition("Failed").empty());
    REQUIRE(story.seen.list(pods).size() == 1);
    CHECK(story.seen.list(pods)[0]->is_terminating());
    story.end_pod(story.seen.list(pods)[0], "Failed");
    story.run();
    CHECK(story.condition("Failed") == "DeadlineExceeded");
    CHECK(story.seen.list(pods).empty());
    CHECK(story.number("failed") == 1);
}

TEST_CASE("suspending deletes the pods without counting them, resuming starts the clock anew") {
    JobStory story("parallelism: 2, completions: 2, suspend: true");
    story.run();
    CHECK(story.active().empty());
    CHECK(story.condition("Suspended") == "JobSuspended");
    CHECK_FALSE(story.status().has("startTime"));
    story.let_pass(seconds(100));
    story.patch(story.seen.find(story.key), "{spec: {suspend: false}}");
    story.run();
    CHECK(story.active().size() == 2);
    CHECK(story.status()["startTime"].text() == to_rfc3339(story.now));
    CHECK(story.has_event("Resumed"));
    story.place_all();
    story.patch(story.seen.find(story.key), "{spec: {suspend: true}}");
    story.run();
    CHECK(story.active().empty());
    CHECK(story.number("terminating") == 2);
    for (const kube::ObjectPtr& pod : story.seen.list(pods))
        story.end_pod(pod, "Failed");
    story.run();
    CHECK(story.seen.list(pods).empty());
    CHECK(story.number("failed") == 0);
    CHECK(story.condition("Suspended") == "JobSuspended");
}

TEST_CASE("an Indexed Job finishes every index once") {
    JobStory story("completionMode: Indexed, parallelism: 2, completions: 3");
    story.run();
    REQUIRE(story.active().size() == 2);
    const kube::ObjectPtr first = story.active()[0];
    CHECK(completion_index(*first) == 0);
    CHECK(first->value["spec"]["hostname"].text() == "train-0");
    CHECK(first->key.name.substr(0, 8) == "train-0-");
    const api::Value& variable = first->value["spec"]["containers"][0]["env"][0];
    CHECK(variable["name"].text() == "JOB_COMPLETION_INDEX");
    story.place_all();
    story.end_pod(story.active()[1], "Succeeded");
    story.run();
    CHECK(story.status()["completedIndexes"].text() == "1");
    story.place_all();
    story.end_pod(story.active()[0], "Failed");
    story.run();
    story.let_pass(seconds(60));
    story.run();
    CHECK(story.active().size() == 2);
    story.place_all();
    story.end_all("Succeeded");
    story.run();
    CHECK(story.status()["completedIndexes"].text() == "0-2");
    CHECK(story.number("succeeded") == 3);
    CHECK(story.number("failed") == 1);
    CHECK(story.condition("Complete") == "CompletionsReached");
}

TEST_CASE("a success policy ends the Job early") {
    JobStory story(
        "completionMode: Indexed, parallelism: 3, completions: 3, "
        "successPolicy: {rules: [{succeededIndexes: '0'}]}");
    story.run();
    story.place_all();
    story.end_pod(story.active()[0], "Succeeded");
    story.run();
    CHECK(story.condition("SuccessCriteriaMet") == "SuccessPolicy");
    CHECK(story.condition("Complete").empty());
    for (const kube::ObjectPtr& pod : story.seen.list(pods)) {
        if (pod->is_terminating()) story.end_pod(pod, "Failed");
    }
    story.run();
    CHECK(story.condition("Complete") == "SuccessPolicy");
}

TEST_CASE("a failure policy fails the Job at once or does not count") {
    const std::string policy =
        "podFailurePolicy: {rules: [{action: ACTION, onExitCodes: {operator: In, values: [1]}}]}";
    const auto with = [&](const std::string& action) {
        std::string text = policy;
        return text.replace(text.find("ACTION"), 6, action);
    };
    JobStory fails("backoffLimit: 5, " + with("FailJob"));
    fails.run();
    fails.place_all();
    fails.end_all("Failed");
    fails.run();
    CHECK(fails.condition("Failed") == "PodFailurePolicy");
    CHECK(condition_of(fails.status(), "Failed")["message"].text().find(
              "failed with exit code 1") != std::string::npos);

    JobStory ignores("backoffLimit: 0, " + with("Ignore"));
    ignores.run();
    ignores.place_all();
    ignores.end_all("Failed");
    ignores.run();
    CHECK(ignores.number("failed") == 0);
    CHECK(ignores.condition("Failed").empty());
}

TEST_CASE(
    "a pod that its node let go without a last word has failed, also where only failed ones "
    "count") {
    JobStory story("podReplacementPolicy: Failed");
    story.run();
    story.place_all();
    const kube::ObjectPtr pod = story.active()[0];
    story.remove(pod->key);
    story.run();
    CHECK_MESSAGE(story.active().empty(), "not replaced while it may still run");
    Write last;
    last.verb = Write::Verb::remove;
    last.key = pod->key;
    last.grace_seconds = 0;
    story.take(last);
    story.run();
    CHECK(story.number("failed") == 1);
    story.let_pass(seconds(60));
    story.run();
    CHECK(story.active().size() == 1);
}

TEST_CASE("a deleted Job frees its pods from the tracking finalizer") {
    JobStory story("parallelism: 2, completions: 2");
    story.run();
    story.place_all();
    story.remove(story.key);
    REQUIRE(story.seen.find(story.key) == nullptr);
    story.run();
    for (const kube::ObjectPtr& pod : story.seen.list(pods)) {
        CHECK(is_tracked(*pod));  // Until it is certain that it is to go.
        story.remove(pod->key);
    }
    story.run();
    for (const kube::ObjectPtr& pod : story.seen.list(pods))
        story.end_pod(pod, "Failed");
    CHECK(story.seen.list(pods).empty());
}

TEST_CASE("a Job that somebody else manages is left alone") {
    JobStory story("managedBy: kueue.x-k8s.io/multikueue");
    story.run();
    CHECK(story.active().empty());
    CHECK(story.status().is_null());
}

TEST_CASE("the same decision made twice names the same pods") {
    JobStory story("parallelism: 3, completions: 3");
    const Reconciled once = story.controller.reconcile(story.seen, story.key, story.now);
    const Reconciled twice = story.controller.reconcile(story.seen, story.key, story.now);
    REQUIRE(once.writes.size() == twice.writes.size());
    for (std::size_t i = 0; i < once.writes.size(); ++i)
        CHECK(once.writes[i].key == twice.writes[i].key);
}

TEST_CASE("a finished Job is deleted when its TTL has passed") {
    JobStory story("ttlSecondsAfterFinished: 60");
    story.run();
    story.place_all();
    story.end_all("Succeeded");
    story.run();
    const Controller ttl = job_ttl_controller();
    Reconciled result = ttl.reconcile(story.seen, story.key, story.now);
    CHECK(result.writes.empty());
    CHECK(result.look_again == seconds(60));
    story.let_pass(seconds(60));
    result = ttl.reconcile(story.seen, story.key, story.now);
    REQUIRE(result.writes.size() == 1);
    CHECK(result.writes[0].propagation == "Foreground");
}

TEST_CASE("index sets join runs and read what they write") {
    CHECK(IndexSet::parse("0-9,20-29,40", 100).shared_with(IndexSet::parse("5-24,40-50", 100)) ==
          11);
    CHECK(IndexSet::parse("", 9).shared_with(IndexSet::parse("0-8", 9)) == 0);
    const std::int64_t many = 2'147'483'647;
    CHECK(
        IndexSet::parse("0-2147483646", many).shared_with(IndexSet::parse("1-2147483646", many)) ==
        many - 1);
    IndexSet set = IndexSet::parse("0,2-4,9,x,7-6", 9);
    CHECK(set.text() == "0,2-4");
    set.add(1);
    CHECK(set.text() == "0-4");
    set.add(6);
    CHECK(set.text() == "0-4,6");
    set.add(7);
    CHECK(set.text() == "0-4,6,7");
    set.add(5);
    CHECK(set.text() == "0-7");
    CHECK(set.size() == 8);
    CHECK(set.contains(7));
    CHECK_FALSE(set.contains(8));
}

}  // namespace
}  // namespace muster::control::cluster
