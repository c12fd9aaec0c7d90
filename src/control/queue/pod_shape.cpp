// control/queue/pod_shape.cpp - roles of pods.
#include "control/queue/pod_shape.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "api/json.h"
#include "base/hash.h"
#include "control/queue/job_rules.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::array<const char*, 8> plain_fields{"nodeSelector", "affinity",
                                                  "tolerations",  "runtimeClassName",
                                                  "priority",     "topologySpreadConstraints",
                                                  "overhead",     "resourceClaims"};
constexpr std::array<const char*, 2> container_lists{"initContainers", "containers"};

Value containers_shape(const Value& containers) {
    Value shapes = Value::array();
    for (const Value& container : containers.items()) {
        Value shape = Value::object();
        shape.set("requests", container["resources"]["requests"]);
        shape.set("ports", container["ports"]);
        shapes.push(std::move(shape));
    }
    return shapes;
}

bool same(const Value& a, const Value& b) {
    return a == b || (a.empty() && b.empty());
}

void check_containers(const Value& before, const Value& now, const std::string& path,
                      FieldErrors& errors) {
    if (before.size() != now.size()) {
        check_same(Value(static_cast<std::int64_t>(before.size())), now, path, errors);
        return;
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
        const std::string at = path + "[" + std::to_string(i) + "]";
        const Value& old_requests = before[i]["resources"]["requests"];
        const Value& new_requests = now[i]["resources"]["requests"];
        if (!same(old_requests, new_requests))
            check_same(old_requests, new_requests, at + ".resources.requests", errors);
        if (!same(before[i]["ports"], now[i]["ports"]))
            check_same(before[i]["ports"], now[i]["ports"], at + ".ports", errors);
    }
}

}  // namespace

Value role_shape(const Value& pod_spec) {
    Value shape = Value::object();
    for (const char* list : container_lists)
        shape.set(list, containers_shape(pod_spec[list]));
    for (const char* field : plain_fields) {
        if (!pod_spec[field].is_null()) shape.set(field, pod_spec[field]);
    }
    return shape;
}

std::string role_hash(const Value& pod_spec) {
    constexpr int digits = 8;
    const std::uint64_t hash = stable_hash(api::to_json(role_shape(pod_spec)));
    std::string text;
    for (int i = 0; i < digits; ++i)
        text += "0123456789abcdef"[(hash >> (60 - 4 * i)) & 15U];
    return text;
}

std::string role_of(const kube::Object& pod) {
    const std::string_view given = pod.annotation(role_hash_annotation);
    return given.empty() ? role_hash(pod.value["spec"]) : std::string(given);
}

void check_same_shape(const Value& before, const Value& now, const std::string& path,
                      FieldErrors& errors) {
    for (const char* list : container_lists)
        check_containers(before[list], now[list], path + "." + list, errors);
    for (const char* field : plain_fields) {
        if (!same(before[field], now[field]))
            check_same(before[field], now[field], path + "." + field, errors);
    }
}

bool has_gate(const Value& pod, std::string_view gate) {
    const auto& gates = pod["spec"]["schedulingGates"].items();
    return std::any_of(gates.begin(), gates.end(),
                       [&](const Value& each) { return each["name"].text_or("") == gate; });
}

Value gates_without(const Value& pod, std::string_view gate) {
    Value left = Value::array();
    for (const Value& each : pod["spec"]["schedulingGates"].items()) {
        if (each["name"].text_or("") != gate) left.push(each);
    }
    return left.empty() ? Value() : left;
}

}  // namespace muster::control::queue
