// control/webhooks/review_test.cpp - what an API server hears from the webhooks.
#include "control/webhooks/review.h"

#include <string>
#include <utility>
#include <variant>

#include <doctest/doctest.h>

#include "api/json.h"
#include "api/parsed_yaml.h"
#include "api/patch.h"
#include "base/text.h"
#include "control/queue/names.h"

namespace muster::control::webhooks {
namespace {

using api::Value;

std::string job(const std::string& metadata = "", const std::string& spec = "") {
    return "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: team" + metadata +
           "}, spec: {" + spec + "}}";
}

const std::string queued = R"(, labels: {kueue.x-k8s.io/queue-name: main})";

/// An API server that asks.
struct Asker {
    Reviewer reviewer{queue::JobRules{}};
    kube::Cache seen;
    Answers answers;

    Asker() { see(queue::namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: team}}"); }

    void see(const api::GroupResource& resource, const std::string& text) {
        seen.put(kube::make_object(resource, api::parsed_yaml(text)));
    }

    static Value request(const api::GroupResource& resource, const std::string& operation,
                         const std::string& object, const std::string& old = "") {
        return Value::object({{"uid", "u-1"},
                              {"resource", Value::object({{"group", resource.group},
                                                          {"version", "v1"},
                                                          {"resource", resource.plural}})},
                              {"operation", operation},
                              {"namespace", "team"},
                              {"name", "j"},
                              {"userInfo", api::parsed_yaml("{username: ann, groups: [people]}")},
                              {"object", object.empty() ? Value() : api::parsed_yaml(object)},
                              {"oldObject", old.empty() ? Value() : api::parsed_yaml(old)}});
    }

    static std::string body(Value request) {
        return api::to_json(Value::object({{"apiVersion", "admission.k8s.io/v1"},
                                           {"kind", "AdmissionReview"},
                                           {"request", std::move(request)}}));
    }

    Reviewed send(const std::string& path, const std::string& text) const {
        const Webhook* webhook = reviewer.find(path);
        REQUIRE(webhook != nullptr);
        return reviewer.review(*webhook, text, seen, answers, Time{});
    }

    Value ask(const std::string& path, Value request) const {
        const Reviewed reviewed = send(path, body(std::move(request)));
        CHECK(reviewed.status == 200);
        CHECK(reviewed.questions.empty());
        CHECK(reviewed.body["response"]["uid"].text_or("") == "u-1");
        return reviewed.body["response"];
    }

    /// The message of a refusal; empty when there is none.
    std::string refusal(const std::string& path, Value request) const {
        const Value response = ask(path, std::move(request));
        CHECK(response["allowed"].boolean_or(false) == response["status"].is_null());
        return response["status"]["message"].text();
    }

    /// The object as the webhook leaves it.
    Value mutated(const std::string& path, Value request) const {
        const Value before = request["object"];
        const Value response = ask(path, std::move(request));
        CHECK(response["allowed"].boolean_or(false));
        if (response["patch"].is_null()) return before;
        CHECK(response["patchType"].text_or("") == "JSONPatch");
        auto operations = api::parse_json(*from_base64(response["patch"].text_or("")));
        auto patched = api::json_patch(before, std::get<api::Parsed>(operations).value);
        REQUIRE(std::holds_alternative<Value>(patched));
        return std::get<Value>(patched);
    }
};

const std::string mutate_job = "/mutate-batch-v1-job";
const std::string validate_job = "/validate-batch-v1-job";

TEST_CASE("a queued job is made suspended, by a patch") {
    const Asker asker;
    const auto made = asker.mutated(mutate_job, Asker::request(queue::jobs, "CREATE", job(queued)));
    CHECK(made["spec"]["suspend"].boolean_or(false));
    const Value response =
        asker.ask(mutate_job, Asker::request(queue::jobs, "CREATE", job(queued)));
    CHECK(from_base64(response["patch"].text_or("")) ==
          R"([{"op":"add","path":"/spec/suspend","value":true}])");
}

TEST_CASE("kinds of other projects are reviewed, though nobody here knows their schema") {
    const Asker asker;
    const api::GroupResource job_sets{"jobset.x-k8s.io", "jobsets"};
    const std::string text =
        "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: j, namespace: team" +
        queued + "}, spec: {replicatedJobs: [{name: a, template: {}}]}}";
    const auto made = asker.mutated("/mutate-jobset-x-k8s-io-v1alpha2-jobset",
                                    Asker::request(job_sets, "CREATE", text));
    CHECK(made["spec"]["suspend"].boolean_or(false));
    for (const std::string& odd :
         {text, std::string("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {"
                            "name: j}, spec: [1]}")})
        CHECK(asker.refusal("/validate-jobset-x-k8s-io-v1alpha2-jobset",
                            Asker::request(job_sets, "CREATE", odd)) == "");
}

TEST_CASE("a job that nothing is to be done to gets no patch") {
    const Asker asker;
    for (const std::string& text : {job(), job(queued, "suspend: true")}) {
        const Value response = asker.ask(mutate_job, Asker::request(queue::jobs, "CREATE", text));
        CHECK(response == api::parsed_yaml("{uid: u-1, allowed: true}"));
    }
}

TEST_CASE("the default queue of a namespace is what the webhook has seen") {
    Asker asker;
    asker.see(queue::local_queues,
              "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: default, "
              "namespace: team}}");
    const auto made = asker.mutated(mutate_job, Asker::request(queue::jobs, "CREATE", job()));
    CHECK(made["metadata"]["labels"][queue::queue_name_label].text_or("") == "default");
    CHECK(made["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("a refusal has the text, code and causes of the original's") {
    const Asker asker;
    const Value response =
        asker.ask(validate_job, Asker::request(queue::jobs, "CREATE",
                                               job(", labels: {kueue.x-k8s.io/queue-name: main, "
                                                   "kueue.x-k8s.io/max-exec-time-seconds: '0'}",
                                                   "suspend: true")));
    CHECK(!response["allowed"].boolean_or(true));
    const Value& status = response["status"];
    CHECK(status["code"].integer_or(0) == 403);
    CHECK(status["reason"].text_or("") == "Forbidden");
    CHECK(status["message"].text_or("") ==
          "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: 0: should be "
          "greater than 0");
    const Value& cause = status["details"]["causes"][0];
    CHECK(cause["field"].text_or("") == "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]");
    CHECK(cause["reason"].text_or("") == "FieldValueInvalid");
}

TEST_CASE("a mutating webhook leaves refusals to the validating one") {
    const Asker asker;
    const Value bad = Asker::request(queue::jobs, "CREATE",
                                     job(", labels: {kueue.x-k8s.io/queue-name: Bad_Name}"));
    CHECK(asker.refusal(mutate_job, bad).empty());
    CHECK(asker.refusal(validate_job, bad).find("a lowercase RFC 1123 subdomain") !=
          std::string::npos);
}

TEST_CASE("a running job does not change its queue; a waiting one does") {
    const Asker asker;
    const std::string other = R"(, labels: {kueue.x-k8s.io/queue-name: other})";
    CHECK(asker.refusal(validate_job,
                        Asker::request(queue::jobs, "UPDATE", job(other, "suspend: false"),
                                       job(queued, "suspend: false"))) ==
          "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"other\": field is "
          "immutable");
    CHECK(asker
              .refusal(validate_job,
                       Asker::request(queue::jobs, "UPDATE", job(other, "suspend: true"),
                                      job(queued, "suspend: true")))
              .empty());
}

TEST_CASE("kinds of Kueue are refused by what their own webhooks say") {
    const Asker asker;
    const std::string queue =
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: "
        "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, "
        "nominalQuota: 1, borrowingLimit: 1}]}]}]}}";
    CHECK(asker.refusal("/validate-kueue-x-k8s-io-v1beta2-clusterqueue",
                        Asker::request(queue::cluster_queues, "CREATE", queue)) ==
          "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: 1: must "
          "be nil when cohort is empty");
}

TEST_CASE(
    "the pod sets of a Workload get names, and what it may not change is said of its status") {
    const Asker asker;
    const auto workload = [](const std::string& status) {
        return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, "
               "namespace: "
               "team}, spec: {podSets: [{count: 2, template: {spec: {containers: []}}}]}" +
               status + "}";
    };
    const auto made = asker.mutated("/mutate-kueue-x-k8s-io-v1beta2-workload",
                                    Asker::request(queue::workloads, "CREATE", workload("")));
    CHECK(made["spec"]["podSets"][0]["name"].text_or("") == "main");
    Value update = Asker::request(
        queue::workloads, "UPDATE",
        workload(", status: {reclaimablePods: [{name: nobody, count: 1}]}"), workload(""));
    update.set("subResource", "status");
    CHECK(asker.refusal("/validate-kueue-x-k8s-io-v1beta2-workload", update) ==
          "status.reclaimablePods[nobody].name: Unsupported value: \"nobody\": supported values: "
          "\"\"");
}

TEST_CASE("what is removed is nobody's business") {
    const Asker asker;
    for (const std::string& path : {mutate_job, validate_job}) {
        CHECK(asker.refusal(path, Asker::request(queue::jobs, "DELETE", "", job(queued))).empty());
    }
}

TEST_CASE("what is made by an owner asks for the owner first") {
    Asker asker;
    const std::string child =
        job(queued + R"(, ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob,
        name: ray, uid: r-1, controller: true}])");
    const Value request = Asker::request(queue::jobs, "CREATE", child);
    const Reviewed first = asker.send(mutate_job, Asker::body(request));
    REQUIRE(first.questions.size() == 1);
    CHECK(first.questions[0].key == api::Key{queue::ray_jobs, "team", "ray"});
    CHECK(request_for(first.questions[0], first.asker).path ==
          "/apis/ray.io/v1/namespaces/team/rayjobs/ray");
    asker.answers[first.questions[0]] = api::parsed_yaml(
        "{metadata: {name: ray, uid: r-1, labels: {kueue.x-k8s.io/queue-name: main}}}");
    // The RayJob is queued for both.
    CHECK(asker.mutated(mutate_job, request) == api::parsed_yaml(child));
    asker.answers[first.questions[0]] = Value();
    CHECK(asker.mutated(mutate_job, request)["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("whether somebody may create what an AppWrapper wraps is asked in their name") {
    Asker asker;
    const Value request = Asker::request(
        queue::app_wrappers, "CREATE",
        "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {name: a, "
        "namespace: team}, spec: {resources: {GenericItems: [{generictemplate: {apiVersion: v1, "
        "kind: ConfigMap, metadata: {name: c}}}]}}}");
    const std::string path = "/validate-workload-codeflare-dev-v1beta1-appwrapper";
    const Reviewed first = asker.send(path, Asker::body(request));
    REQUIRE(first.questions.size() == 1);
    const net::Request question = request_for(first.questions[0], first.asker);
    CHECK(question.path == "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    auto asked = api::parse_json(*question.body);
    const Value& spec = std::get<api::Parsed>(asked).value["spec"];
    CHECK(spec["user"].text_or("") == "ann");
    CHECK(spec["groups"][0].text_or("") == "people");
    CHECK(spec["resourceAttributes"] ==
          api::parsed_yaml("{namespace: team, verb: create, group: '', resource: configmaps}"));
    asker.answers[first.questions[0]] = true;
    CHECK(asker.refusal(path, request).empty());
    asker.answers[first.questions[0]] = false;
    CHECK(asker.refusal(path, request).find("cannot create resource \"configmaps\"") !=
          std::string::npos);
}

TEST_CASE("a scaling is judged by the object that is scaled") {
    Asker asker;
    Value request =
        Asker::request(queue::stateful_sets, "UPDATE",
                       "{apiVersion: autoscaling/v1, kind: Scale, spec: {replicas: 3}}",
                       "{apiVersion: autoscaling/v1, kind: Scale, spec: {replicas: 2}}");
    request.set("subResource", "scale");
    const std::string path = "/validate-apps-v1-statefulset";
    const Reviewed first = asker.send(path, Asker::body(request));
    REQUIRE(first.questions.size() == 1);
    asker.answers[first.questions[0]] = api::parsed_yaml(
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: j, namespace: team, labels: "
        "{kueue.x-k8s.io/queue-name: main}}, spec: {replicas: 2}}");
    CHECK(asker.refusal(path, request) == "spec.replicas: Invalid value: 3: field is immutable");
    asker.answers[first.questions[0]] = Value();
    CHECK(asker.refusal(path, request).empty());
}

TEST_CASE("a namespace that has not been seen yet is asked for") {
    Asker asker;
    Value request = Asker::request(queue::jobs, "CREATE", job(queued));
    request.set("namespace", "new");
    request.at("object").at("metadata").set("namespace", "new");
    const Reviewed first = asker.send(mutate_job, Asker::body(request));
    REQUIRE(first.questions.size() == 1);
    CHECK(to_text(first.questions[0].key) == "namespaces/new");
}

TEST_CASE("warnings come from the validating webhook only") {
    const Asker asker;
    const Value request = Asker::request(
        queue::pods, "CREATE",
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team, labels: "
        "{kueue.x-k8s.io/managed: 'true'}, ownerReferences: [{apiVersion: batch/v1, kind: Job, "
        "name: j, uid: u, controller: true}]}, spec: {containers: []}}");
    CHECK(asker.ask("/mutate--v1-pod", request)["warnings"].is_null());
    CHECK(asker.ask("/validate--v1-pod", request)["warnings"].size() == 1);
}

TEST_CASE("a dry run is answered as any other: reviews change nothing") {
    const Asker asker;
    Value request = Asker::request(queue::jobs, "CREATE", job(queued));
    request.set("dryRun", true);
    CHECK(asker.mutated(mutate_job, request)["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("what is no review is told so") {
    const Asker asker;
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"),
          std::string(R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"})"),
          std::string(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})"),
          std::string(3000, '['), std::string("\xff\xfe")}) {
        const Reviewed reviewed = asker.send(validate_job, text);
        CHECK(reviewed.status == 400);
        CHECK(reviewed.body["kind"].text_or("") == "Status");
    }
}

TEST_CASE("a request that does not belong to the webhook is refused in words") {
    const Asker asker;
    const auto told = [&](Value request) {
        const Value response = asker.ask(validate_job, std::move(request));
        CHECK(response["status"]["code"].integer_or(0) == 400);
        return response["status"]["message"].text();
    };
    CHECK(told(Asker::request(queue::pods, "CREATE", job())) ==
          "the webhook vjob.kb.io is not for \"pods\" of the group \"\"");
    CHECK(told(Asker::request(queue::jobs, "PATCH", job())) ==
          "the operation \"PATCH\" is unknown");
    CHECK(told(Asker::request(queue::jobs, "CREATE", "{apiVersion: batch/v2, kind: Job}")) ==
          "the object is a \"Job\" of \"batch/v2\", not a Job of batch/v1");
    CHECK(told(Asker::request(queue::jobs, "CREATE", "")) == "the request has no object");
    CHECK(told(Asker::request(queue::jobs, "UPDATE", job())) == "the request has no oldObject");
    Value elsewhere = Asker::request(queue::jobs, "CREATE", job());
    elsewhere.set("namespace", "../secrets");
    CHECK(told(elsewhere) == "there is no namespace \"../secrets\"");
    CHECK(told(Asker::request(queue::jobs, "CREATE",
                              "{apiVersion: batch/v1, kind: Job, metadata: {labels: here}}"))
              .find("metadata.labels") == 0);
}

TEST_CASE("a webhook of an unknown path does not exist") {
    const Asker asker;
    for (const std::string& path :
         {std::string("/validate-batch-v2-job"), std::string("/"), std::string("/convert")})
        CHECK(asker.reviewer.find(path) == nullptr);
}

}  // namespace
}  // namespace muster::control::webhooks
