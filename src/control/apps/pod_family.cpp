// control/apps/pod_family.cpp - pods of the controllers of the group apps, counted and made.
#include "control/apps/pod_family.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "api/json.h"
#include "api/label_rules.h"
#include "base/hash.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::apps {

std::optional<Duration> until_available(const kube::Object& pod, Duration min_ready, Time now) {
    if (!is_ready_pod(pod)) return std::nullopt;
    const Time since = fold_time(condition_of(pod.value["status"], "Ready")["lastTransitionTime"]);
    const Duration left = since + min_ready - now;
    if (min_ready <= Duration{} || left <= Duration{}) return std::nullopt;
    return left;
}

bool is_available(const kube::Object& pod, Duration min_ready, Time now) {
    return is_ready_pod(pod) && !until_available(pod, min_ready, now);
}

std::vector<kube::ObjectPtr> active_of(const std::vector<kube::ObjectPtr>& all) {
    std::vector<kube::ObjectPtr> active;
    for (const kube::ObjectPtr& pod : all) {
        if (!is_finished_pod(*pod) && !pod->is_terminating()) active.push_back(pod);
    }
    return active;
}

bool selects(const api::Value& selector, const api::Value& labels) {
    if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) return false;
    return api::selector_matches(selector, labels);
}

api::Value make_pod(const kube::Object& owner, const api::Value& pod_template,
                    const std::string& name) {
    api::Value metadata = api::Value::object({{"name", name}, {"namespace", owner.key.ns}});
    const api::Value& shown = pod_template["metadata"];
    for (const char* field : {"labels", "annotations", "finalizers"}) {
        if (!shown[field].empty()) metadata.set(field, shown[field]);
    }
    metadata.set("ownerReferences", api::Value::array({owner_reference(owner)}));
    return api::Value::object({{"apiVersion", "v1"},
                               {"kind", "Pod"},
                               {"metadata", std::move(metadata)},
                               {"spec", pod_template["spec"]}});
}

std::string template_hash(const api::Value& pod_template, std::int64_t collisions) {
    const std::string text = api::to_json(pod_template);
    const std::string tail = "/" + std::to_string(collisions);
    return derived_suffix(text, "template" + tail) + derived_suffix(text, "template+" + tail);
}

std::int64_t count_of(const api::Value& spec, std::string_view field, std::int64_t otherwise) {
    return std::max<std::int64_t>(0, spec[field].integer_or(otherwise));
}

std::int64_t scaled(const api::Value& value, std::int64_t total, Rounding rounding) {
    if (value.is_integer()) return std::max<std::int64_t>(0, value.as_integer());
    const std::string_view text = value.text_or("0%");
    std::int64_t percent = 0;
    // What is no percentage was refused when it was written; here it counts as none.
    std::from_chars(text.data(), text.data() + text.size(), percent);
    const std::int64_t product = std::clamp<std::int64_t>(percent, 0, 100) * total;
    return rounding == Rounding::up ? (product + 99) / 100 : product / 100;
}

Write create_of(const api::Key& key, const std::string& api_version, api::Value body) {
    Write write;
    write.verb = Write::Verb::create;
    write.key = key;
    write.api_version = api_version;
    write.body = std::move(body);
    return write;
}

Write remove_of(const kube::Object& object, const std::string& api_version) {
    Write write;
    write.verb = Write::Verb::remove;
    write.key = object.key;
    write.api_version = api_version;
    write.uid = object.uid;
    return write;
}

Write patch_of(const kube::Object& object, const std::string& api_version, api::Value body) {
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = object.key;
    write.api_version = api_version;
    write.version = object.version;
    write.body = std::move(body);
    return write;
}

std::optional<Write> status_of(const kube::Object& object, const api::Value& after) {
    api::Value patch = merge_patch_between(object.value["status"], after);
    if (patch.empty()) return std::nullopt;
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = object.key;
    write.api_version = "apps/v1";
    write.subresource = "status";
    write.body.set("status", std::move(patch));
    return write;
}

}  // namespace muster::control::apps
