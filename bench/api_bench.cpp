// bench/api_bench.cpp - what one request costs in api/: reading, writing, owning, applying.
#include <variant>

#include "api/json.h"
#include "api/patch.h"
#include "api/schema.h"
#include "api/yaml.h"
#include "base/verify.h"
#include "bench/figures.h"

namespace muster::bench {
namespace {

using api::Value;

/// A pod as clients send it, grown to about 5 KB by its environment.
Value realistic_pod() {
    Value pod = Value::object(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          Value::object({{"name", "web-0"},
                         {"namespace", "default"},
                         {"uid", "0e0a1c2b-1111-4222-8333-444455556666"},
                         {"creationTimestamp", "2024-01-01T00:00:00Z"},
                         {"labels", Value::object({{"app", "web"}, {"tier", "x"}})}})}});
    Value container = Value::object({{"name", "worker"},
                                     {"image", "registry.example/worker:1.2.3"},
                                     {"imagePullPolicy", "IfNotPresent"},
                                     {"terminationMessagePath", "/dev/termination-log"}});
    container.at("resources").at("requests") = Value::object({{"cpu", "500m"}, {"memory", "1Gi"}});
    container.at("ports").push(Value::object({{"containerPort", 80}, {"protocol", "TCP"}}));
    for (int i = 0; i < 60; ++i) {
        container.at("env").push(
            Value::object({{"name", "SETTING_NUMBER_" + std::to_string(i)},
                           {"value", "the value of setting number " + std::to_string(i)}}));
    }
    Value& spec = pod.at("spec");
    spec.at("containers").push(std::move(container));
    spec.set("restartPolicy", "Always");
    spec.set("terminationGracePeriodSeconds", 30);
    pod.at("status").set("phase", "Pending");
    return pod;
}

}  // namespace

void bench_api(const Figures& figures) {
    const auto schema = api::schema_of("core.v1.Pod");
    const Value pod = realistic_pod();
    const std::string json = api::to_json(pod);
    const std::string yaml = api::to_yaml(pod);
    figures.report("api: size of the pod", static_cast<double>(json.size()), "bytes");
    figures.report_cpu("api: parse JSON", [&] { VERIFY(api::parse_json(json).index() == 0); });
    figures.report_cpu("api: write JSON", [&] { VERIFY(api::to_json(pod).size() == json.size()); });
    figures.report_cpu("api: parse YAML", [&] { VERIFY(api::parse_yaml(yaml).index() == 0); });
    figures.report_cpu("api: write YAML", [&] { VERIFY(!api::to_yaml(pod).empty()); });

    const api::ApplyRequest create{"client", "v1", "", "2024-01-01T00:00:00Z", false};
    figures.report_cpu("api: track a create", [&] {
        VERIFY(api::track_update(*schema, Value(), pod, create).is_object());
    });
    Value live = api::track_update(*schema, Value(), pod, create);
    const api::ApplyRequest status{"controller", "v1", "status", "2024-01-01T00:00:01Z", true};
    int round = 0;
    figures.report_cpu("api: server-side apply of a status", [&] {
        Value config = Value::object({{"apiVersion", "v1"}, {"kind", "Pod"}});
        config.at("status")
            .at("conditions")
            .push(Value::object({{"type", "Ready"}, {"message", std::to_string(++round)}}));
        auto applied = api::server_side_apply(*schema, live, config, status);
        live = std::get<Value>(std::move(applied));
    });
    const Value patch = Value::object({{"status", Value::object({{"phase", "Running"}})}});
    figures.report_cpu("api: strategic merge patch of a status", [&] {
        VERIFY(api::strategic_merge_patch(*schema, live, patch).index() == 0);
    });
}

}  // namespace muster::bench
