// control/ray/scripted_ray.h - for tests: a RayJob, its controller, and a Ray dashboard that says
// what it is told to say.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "api/json.h"
#include "control/ray/job.h"
#include "control/ray/names.h"

namespace muster::control::ray {

using api::Value;

inline Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(parsed).value;
}

inline Value digits(const std::string& more = "") {
    return json(R"({"apiVersion":"ray.io/v1","kind":"RayJob",
      "metadata":{"name":"digits","namespace":"team","uid":"u-j","generation":1},
      "spec":{"entrypoint":"python x.py","shutdownAfterJobFinishes":true,)" +
                more + R"(
        "rayClusterSpec":{"headGroupSpec":{"rayStartParams":{},"template":{"spec":{"containers":[
          {"name":"h","image":"rayproject/ray:2.58.0"}]}}}}}})");
}

/// A cache, the controller, a clock, and a Ray dashboard that says what it is told to say.
struct World {
    kube::Cache cache;
    Controller controller = job_controller();
    Time now{1'700'000'000'000'000'000};
    int version = 100;
    std::string dashboard;  // Status of the Ray job; empty: unreachable; "unknown": 404.
    std::string message = "as told";
    std::vector<std::string> asked;

    void put(const api::GroupResource& resource, Value value) {
        value.at("metadata").set("resourceVersion", std::to_string(++version));
        if (value["metadata"]["uid"].text_or("").empty()) {
            value.at("metadata").set("uid", "u-" + value["metadata"]["name"].text());
        }
        cache.put(kube::make_object(resource, std::move(value)));
    }
    api::Key key{rayjobs, "team", "digits"};
    const Value& status() { return cache.find(key)->value["status"]; }
    std::string deployment() { return status()["jobDeploymentStatus"].text(); }

    void answer(const Call& call) {
        asked.push_back(call.method + " " + call.url);
        auto object = std::make_shared<kube::Object>();
        object->key = {{"muster.internal", "calls"}, "", call.id};
        const int code = dashboard.empty() ? 0 : dashboard == "unknown" ? 404 : 200;
        const std::string body = R"({"status":")" + dashboard + R"(","message":")" + message +
                                 R"(","start_time":1e300,"end_time":-1})";
        object->value =
            Value::object({{"status", code}, {"body", body}, {"at", to_rfc3339_micro(now)}});
        cache.put(object);
    }
    void carry_out(const Write& write) {
        if (write.verb == Write::Verb::remove) {
            cache.remove(write.key);
        } else if (write.verb == Write::Verb::merge_patch) {
            Value value = cache.find(write.key)->value;
            value.at("metadata").set("finalizers", write.body["metadata"]["finalizers"]);
            put(write.key.resource, value);
        } else {
            put(write.key.resource, write.body);
        }
    }
    void rest() {
        for (int i = 0; i < 12; ++i) {
            const Reconciled result = controller.reconcile(cache, key, now);
            if (result.writes.empty() && result.calls.empty()) return;
            for (const Write& write : result.writes) {
                carry_out(write);
            }
            for (const Call& call : result.calls)
                answer(call);
        }
        FAIL("the controller does not come to rest");
    }
    void later(Duration span) {
        now = now + span;
        rest();
    }
    void change(const std::string& field, Value value) {
        Value job = cache.find(key)->value;
        job.at("spec").set(field, std::move(value));
        put(rayjobs, job);
        rest();
    }
    int posts() const {
        int count = 0;
        for (const std::string& call : asked)
            count += call.starts_with("POST") ? 1 : 0;
        return count;
    }
    /// The head pod of the job's cluster, with the states of its containers as JSON.
    void put_head(const std::string& phase, const std::string& container_statuses) {
        Value head = json(R"({"metadata":{"name":"head","namespace":"team","labels":{
          "ray.io/node-type":"head"}},"spec":{"restartPolicy":"Never","containers":[{"name":"h"},
          {"name":"ray-job-submitter"}]},"status":{"phase":")" +
                          phase + R"(","containerStatuses":)" + container_statuses + "}}");
        head.at("metadata").at("labels").set("ray.io/cluster", cluster()->key.name);
        head.at("metadata")
            .set("ownerReferences",
                 Value::array({Value::object({{"uid", cluster()->uid}, {"controller", true}})}));
        put(pods, head);
        rest();
    }
    kube::ObjectPtr cluster() {
        return cache.find({clusters, "team", status()["rayClusterName"].text()});
    }
    void make_cluster_ready() {
        Value value = cluster()->value;
        value.set("status", json(R"({"state":"ready"})"));
        put(clusters, value);
        rest();
    }
    void end_submitter(const std::string& condition) {
        Value value = cache.find({batch_jobs, "team", "digits"})->value;
        value.set("status",
                  json(R"({"conditions":[{"type":")" + condition + R"(","status":"True"}]})"));
        put(batch_jobs, value);
    }
};

}  // namespace muster::control::ray
