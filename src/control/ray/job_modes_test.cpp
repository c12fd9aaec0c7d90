// control/ray/job_modes_test.cpp - the submission modes of a RayJob, its command line, and what it
// lets go at its end.
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "control/ray/scripted_ray.h"
#include "control/ray/submitter.h"

namespace muster::control::ray {
namespace {

constexpr std::string_view both_run =
    R"([{"name":"h","ready":true,"state":{"running":{}}},
        {"name":"ray-job-submitter","ready":true,"state":{"running":{}}}])";

std::string submitter_ended(int code) {
    return R"([{"name":"h","ready":true,"state":{"running":{}}},{"name":"ray-job-submitter",
      "state":{"terminated":{"exitCode":)" +
           std::to_string(code) + R"(,"finishedAt":"2023-11-14T22:13:20Z"}}}])";
}

TEST_CASE("SidecarMode: the submitter is a container of the head, and no Job is made") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"SidecarMode",)"));
    world.rest();
    REQUIRE(world.cluster() != nullptr);
    const Value& head = world.cluster()->value.path("spec.headGroupSpec.template.spec");
    REQUIRE(head["containers"].size() == 2);
    const Value& submitter = head["containers"][1];
    CHECK(submitter["name"].text() == "ray-job-submitter");
    CHECK(submitter["image"].text() == "rayproject/ray:2.58.0");
    CHECK(submitter["env"][1]["value"].text() == "127.0.0.1:8265");
    CHECK(submitter["env"][2]["value"].text() == world.status()["jobId"].text());
    CHECK(head["restartPolicy"].text() == "Never");
    CHECK(world.cluster()->annotation("ray.io/disable-provisioned-head-restart") == "true");
    world.dashboard = "RUNNING";
    world.put_head("Running", std::string(both_run));
    world.make_cluster_ready();
    CHECK(world.deployment() == "Running");
    CHECK(world.cache.list(batch_jobs).empty());
    world.dashboard = "SUCCEEDED";
    world.later(seconds(1));
    CHECK(world.deployment() == "Running");
    world.put_head("Running", submitter_ended(0));
    CHECK(world.deployment() == "Complete");
}

TEST_CASE("SidecarMode: a job that is done before its workers are ready is seen all the same") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"SidecarMode",)"));
    world.rest();
    world.dashboard = "SUCCEEDED";
    world.put_head("Running", submitter_ended(0));
    CHECK(world.deployment() == "Complete");
}

TEST_CASE("SidecarMode: a head that ends fails its job") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"SidecarMode",)"));
    world.rest();
    world.dashboard = "RUNNING";
    world.put_head("Running", std::string(both_run));
    world.make_cluster_ready();
    world.dashboard = "";
    world.put_head("Failed", submitter_ended(1));
    CHECK(world.deployment() == "Failed");
    CHECK(world.status()["reason"].text() == "AppFailed");
    CHECK(world.status()["message"].text().find("head pod") != std::string::npos);
}

TEST_CASE("InteractiveMode waits for the id of what the user submitted, then follows it") {
    World world;
    Value job = digits(R"("submissionMode":"InteractiveMode",)");
    job.at("spec").erase("entrypoint");
    world.put(rayjobs, job);
    world.rest();
    CHECK_FALSE(world.status().has("jobId"));
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Waiting");
    CHECK(world.asked.empty());
    world.change("jobId", "mine");
    CHECK(world.deployment() == "Running");
    CHECK(world.status()["jobId"].text() == "mine");
    CHECK(world.asked.back().ends_with("/api/jobs/mine"));
    world.dashboard = "SUCCEEDED";
    world.later(seconds(1));
    CHECK(world.deployment() == "Complete");
    CHECK(world.cache.list(batch_jobs).empty());
}

TEST_CASE("InteractiveMode: an id that Ray has never heard of fails the job after 300 seconds") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"InteractiveMode","jobId":"typo",)"));
    world.rest();
    world.dashboard = "unknown";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Running");
    world.later(seconds(299));
    CHECK(world.deployment() == "Running");
    world.later(seconds(1));
    CHECK(world.status()["reason"].text() == "JobStatusCheckTimeoutExceeded");
    CHECK(world.status()["message"].text().find("typo") != std::string::npos);
}

TEST_CASE("a job that waits for its user is suspended and meets its deadline as others do") {
    World world;
    world.put(rayjobs,
              digits(R"("submissionMode":"InteractiveMode","preRunningDeadlineSeconds":60,)"));
    world.rest();
    world.make_cluster_ready();
    CHECK(world.deployment() == "Waiting");
    world.change("suspend", true);
    CHECK(world.deployment() == "Suspended");
    world.change("suspend", false);
    world.make_cluster_ready();
    CHECK(world.deployment() == "Waiting");
    world.later(seconds(60));
    CHECK(world.status()["reason"].text() == "PreRunningDeadlineExceeded");
}

TEST_CASE("HTTPMode posts again when a new head does not know the job") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"HTTPMode",)"));
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    CHECK(world.posts() == 1);
    world.dashboard = "unknown";
    world.later(seconds(1));
    CHECK(world.posts() == 2);
    world.dashboard = "RUNNING";
    world.later(seconds(1));
    world.later(seconds(1));
    CHECK(world.posts() == 2);
    CHECK(world.deployment() == "Running");
}

TEST_CASE("clusterSelector: the job runs on that cluster, is stopped there first, and leaves it") {
    World world;
    Value job = digits(R"("clusterSelector":{"ray.io/cluster":"shared"},)");
    job.at("spec").erase("rayClusterSpec");
    job.at("spec").set("shutdownAfterJobFinishes", false);
    world.put(clusters, json(R"({"metadata":{"name":"shared","namespace":"team"},"spec":{
      "headGroupSpec":{"template":{"spec":{"containers":[{"image":"rayproject/ray:2.60.0"}]}}}},
      "status":{"state":"ready"}})"));
    world.put(rayjobs, job);
    world.dashboard = "RUNNING";
    world.rest();
    CHECK(world.deployment() == "Running");
    CHECK(world.status()["rayClusterName"].text() == "shared");
    const kube::ObjectPtr submitter = world.cache.find({batch_jobs, "team", "digits"});
    REQUIRE(submitter != nullptr);
    CHECK(submitter->value.path("spec.template.spec.containers.0.image").text() ==
          "rayproject/ray:2.60.0");
    Value ending = world.cache.find(world.key)->value;
    CHECK(ending["metadata"]["finalizers"][0].text() == "ray.io/rayjob-finalizer");
    ending.at("metadata").set("deletionTimestamp", to_rfc3339(world.now));
    world.put(rayjobs, ending);
    world.rest();
    CHECK(world.asked.back() ==
          "POST http://shared-head-svc.team.svc.cluster.local:8265/api/jobs/" +
              world.status()["jobId"].text() + "/stop");
    CHECK(world.cache.find(world.key)->value["metadata"]["finalizers"].empty());
    CHECK(world.cache.find({clusters, "team", "shared"}) != nullptr);
}

TEST_CASE("a submitter that hangs after its job is waited for 300 seconds, not for ever") {
    World world;
    world.put(rayjobs, digits());
    world.rest();
    world.dashboard = "SUCCEEDED";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Running");
    Value job = world.cache.find(world.key)->value;
    job.at("status").set("rayJobInfo", Value::object({{"endTime", to_rfc3339(world.now)}}));
    world.put(rayjobs, job);
    world.later(seconds(299));
    CHECK(world.deployment() == "Running");
    world.later(seconds(1));
    CHECK(world.deployment() == "Complete");
    CHECK(world.status()["reason"].text() == "JobDeploymentStatusTransitionGracePeriodExceeded");
}

TEST_CASE("a retry waits until the pods of the last try are gone") {
    World world;
    world.put(rayjobs, digits(R"("backoffLimit":1,)"));
    world.rest();
    const std::string first = world.cluster()->key.name;
    world.put(pods,
              json(R"({"metadata":{"name":"p","namespace":"team","labels":{"ray.io/cluster":")" +
                   first + R"("}}})"));
    world.dashboard = "FAILED";
    world.make_cluster_ready();
    world.end_submitter("Complete");
    world.later(seconds(1));
    CHECK(world.deployment() == "Retrying");
    world.cache.remove({pods, "team", "p"});
    world.rest();
    CHECK(world.deployment() == "Initializing");
}

TEST_CASE("ttlSecondsAfterFinished keeps the cluster for that long") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"HTTPMode","ttlSecondsAfterFinished":60,)"));
    world.rest();
    world.dashboard = "SUCCEEDED";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Complete");
    world.later(seconds(59));
    CHECK(world.cluster() != nullptr);
    world.later(seconds(1));
    CHECK(world.cluster() == nullptr);
}

TEST_CASE("deletion rules suspend the workers, then take the cluster, then the job itself") {
    World world;
    Value job = digits(R"("submissionMode":"HTTPMode","deletionStrategy":{"deletionRules":[
      {"policy":"DeleteWorkers","condition":{"jobStatus":"SUCCEEDED","ttlSeconds":10}},
      {"policy":"DeleteCluster","condition":{"jobStatus":"SUCCEEDED","ttlSeconds":20}},
      {"policy":"DeleteSelf","condition":{"jobStatus":"SUCCEEDED","ttlSeconds":30}}]},)");
    job.at("spec").erase("shutdownAfterJobFinishes");
    job.at("spec")
        .at("rayClusterSpec")
        .set("workerGroupSpecs",
             json(R"([{"groupName":"w","replicas":2,"template":{"spec":{"containers":[
          {"name":"w"}]}}}])"));
    world.put(rayjobs, job);
    world.rest();
    world.dashboard = "SUCCEEDED";
    world.make_cluster_ready();
    CHECK(world.deployment() == "Complete");
    const auto suspended = [&world] {
        return world.cluster()->value.path("spec.workerGroupSpecs.0.suspend").boolean_or(false);
    };
    world.later(seconds(9));
    CHECK_FALSE(suspended());
    world.later(seconds(1));
    CHECK(suspended());
    world.later(seconds(10));
    CHECK(world.cluster() == nullptr);
    world.later(seconds(10));
    CHECK(world.cache.find(world.key) == nullptr);
}

TEST_CASE("a running job whose spec becomes wrong goes on, says so, and heals") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"HTTPMode",)"));
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    world.change("ttlSecondsAfterFinished", -1);
    CHECK(world.deployment() == "Running");
    CHECK(world.status()["reason"].text() == "ValidationFailed");
    CHECK(world.status()["message"].text().find("ttlSecondsAfterFinished") != std::string::npos);
    world.change("ttlSecondsAfterFinished", 0);
    CHECK(world.deployment() == "Running");
    CHECK_FALSE(world.status().has("reason"));
    CHECK_FALSE(world.status().has("message"));
}

TEST_CASE("labels and annotations of a job reach its cluster, but not its queue") {
    World world;
    Value job = digits();
    job.at("metadata").set("labels", json(R"({"team":"red","kueue.x-k8s.io/queue-name":"q"})"));
    job.at("metadata").set("annotations", json(R"({"ray.io/overwrite-container-cmd":"true"})"));
    world.put(rayjobs, job);
    world.rest();
    CHECK(world.cluster()->label("team") == "red");
    CHECK(world.cluster()->label("ray.io/originated-from-cr-name") == "digits");
    CHECK(world.cluster()->label("kueue.x-k8s.io/queue-name").empty());
    CHECK(world.cluster()->annotation("ray.io/overwrite-container-cmd") == "true");
}

kube::ObjectPtr job_with(const std::string& more) {
    return kube::make_object(rayjobs, digits(more));
}

constexpr const char* all_options = R"("runtimeEnvYAML":"env_vars:\n  A: \"it's\"\n",
  "metadata":{"who":"me"},"entrypointNumCpus":0.5,"entrypointNumGpus":1,
  "entrypointResources":"{\"Custom\": 2}",)";

TEST_CASE("the submitter's line carries every option, quoted") {
    const kube::ObjectPtr job = job_with(all_options);
    const Value made = submitter_job(
        *job,
        *kube::make_object(clusters,
                           Value::object({{"spec", job->value["spec"]["rayClusterSpec"]}})),
        "id-1", "h:8265");
    const Value& container = made.path("spec.template.spec.containers.0");
    const std::string script = container["args"][0].text();
    const auto says = [&script](std::string_view text) {
        return script.find(text) != std::string::npos;
    };
    CHECK(
        says("ray job submit --address \"http://$RAY_DASHBOARD_ADDRESS\" --no-wait "
             "--submission-id \"$RAY_JOB_SUBMISSION_ID\""));
    CHECK(says(R"(--runtime-env-json '{"env_vars":{"A":"it'\''s"}}')"));
    CHECK(says(R"(--metadata-json '{"who":"me"}')"));
    CHECK(says("--entrypoint-num-cpus 0.5 --entrypoint-num-gpus 1"));
    CHECK(says(R"(--entrypoint-resources '{"Custom": 2}')"));
    CHECK(says(" -- python x.py"));
    CHECK(says("exec 3<>/dev/tcp/h/8265"));
    CHECK(container["env"][1]["value"].text() == "h:8265");
    CHECK(made["spec"]["backoffLimit"].integer_or(0) == 2);
}

TEST_CASE("a submitter with a command of its own keeps it and needs no entrypoint") {
    World world;
    Value job = digits(R"("submitterPodTemplate":{"spec":{"containers":[{"name":"mine","image":"i",
      "command":["sh","-c","ray job submit"]}]}},"submitterConfig":{"backoffLimit":5},)");
    job.at("spec").erase("entrypoint");
    world.put(rayjobs, job);
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    const kube::ObjectPtr submitter = world.cache.find({batch_jobs, "team", "digits"});
    REQUIRE(submitter != nullptr);
    CHECK(submitter->value.path("spec.backoffLimit").integer_or(0) == 5);
    const Value& container = submitter->value.path("spec.template.spec.containers.0");
    CHECK(container["command"][2].text() == "ray job submit");
    CHECK(container["args"].empty());
    CHECK(container["env"][2]["value"].text() == world.status()["jobId"].text());
}

TEST_CASE("a request carries every option as values") {
    const Value body = submission(*job_with(all_options), "id-1");
    CHECK(body["entrypoint"].text() == "python x.py");
    CHECK(body["submission_id"].text() == "id-1");
    CHECK(body.path("runtime_env.env_vars.A").text() == "it's");
    CHECK(body["metadata"]["who"].text() == "me");
    CHECK(body["entrypoint_num_cpus"].as_real() == 0.5);
    CHECK(body["entrypoint_num_gpus"].as_real() == 1);
    CHECK(body["entrypoint_resources"]["Custom"].integer_or(0) == 2);
}

TEST_CASE("jobId given by the user is the id under which it is submitted") {
    World world;
    world.put(rayjobs, digits(R"("submissionMode":"HTTPMode","jobId":"chosen",)"));
    world.rest();
    world.dashboard = "RUNNING";
    world.make_cluster_ready();
    CHECK(world.status()["jobId"].text() == "chosen");
    CHECK(world.asked.back().ends_with("/api/jobs/chosen"));
}

TEST_CASE("a job's wrong spec is told in words") {
    struct Case {
        const char* more;
        const char* words;
    };
    const Case cases[] = {
        {R"("backoffLimit":-1,)", "backoffLimit must not be negative"},
        {R"("activeDeadlineSeconds":0,)", "activeDeadlineSeconds must be a positive"},
        {R"("preRunningDeadlineSeconds":0,)", "preRunningDeadlineSeconds must be a positive"},
        {R"("runtimeEnvYAML":"a: [",)", "runtimeEnvYAML is not valid YAML"},
        {R"("entrypointResources":"two",)", "entrypointResources must be a JSON object"},
        {R"("submissionMode":"InteractiveMode","backoffLimit":1,)", "cannot have a backoffLimit"},
        {R"("submissionMode":"SidecarMode","submitterConfig":{"backoffLimit":1},)",
         "cannot have a submitterConfig"},
        {R"("submissionMode":"SidecarMode","submitterPodTemplate":{},)",
         "cannot have a submitterPodTemplate"},
        {R"("clusterSelector":{"ray.io/cluster":"c"},)", "exclude each other"},
    };
    for (const Case& wrong : cases) {
        CAPTURE(wrong.more);
        World world;
        world.put(rayjobs, digits(wrong.more));
        world.rest();
        CHECK(world.deployment() == "ValidationFailed");
        CHECK(world.status()["message"].text().find(wrong.words) != std::string::npos);
        CHECK(world.cache.list(clusters).empty());
    }
}

}  // namespace
}  // namespace muster::control::ray
