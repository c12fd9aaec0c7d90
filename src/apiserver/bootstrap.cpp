// apiserver/bootstrap.cpp - first objects of a new cluster.
#include "apiserver/bootstrap.h"

#include <memory>
#include <string>
#include <utility>

#include "api/crd.h"
#include "api/schema.h"
#include "apiserver/admit.h"
#include "apiserver/commit.h"
#include "apiserver/definitions.h"
#include "apiserver/metadata.h"
#include "apiserver/stored.h"
#include "base/verify.h"

namespace muster::apiserver {
namespace {

using api::Value;

Value named(const char* api_version, const char* kind, std::string_view name,
            std::string_view ns = "") {
    Value metadata = Value::object({{"name", name}});
    if (!ns.empty()) metadata.set("namespace", ns);
    return Value::object({{"apiVersion", api_version}, {"kind", kind}, {"metadata", metadata}});
}

Value priority_class(const char* name, std::int64_t value, const char* description) {
    Value object = named("scheduling.k8s.io/v1", "PriorityClass", name);
    object.set("value", value);
    object.set("description", description);
    object.set("preemptionPolicy", "PreemptLowerPriority");
    return object;
}

Value kubernetes_labels() {
    return Value::object({{"component", "apiserver"}, {"provider", "kubernetes"}});
}

Value kubernetes_service(const Context& context) {
    Value service = named("v1", "Service", "kubernetes", "default");
    service.at("metadata").set("labels", kubernetes_labels());
    const std::string address = context.addresses.first();
    const Value port = Value::object({{"name", "https"},
                                      {"port", 443},
                                      {"protocol", "TCP"},
                                      {"targetPort", context.options.secure_port}});
    service.set("spec", Value::object({{"clusterIP", address},
                                       {"clusterIPs", Value::array({Value(address)})},
                                       {"ipFamilies", Value::array({"IPv4"})},
                                       {"ipFamilyPolicy", "SingleStack"},
                                       {"internalTrafficPolicy", "Cluster"},
                                       {"ports", Value::array({port})},
                                       {"sessionAffinity", "None"},
                                       {"type", "ClusterIP"}}));
    service.set("status", Value::object({{"loadBalancer", Value::object()}}));
    return service;
}

Value kubernetes_slice(const Context& context) {
    Value slice = named("discovery.k8s.io/v1", "EndpointSlice", "kubernetes", "default");
    slice.at("metadata")
        .set("labels", Value::object({{"kubernetes.io/service-name", "kubernetes"}}));
    const Value endpoint =
        Value::object({{"addresses", Value::array({Value(context.options.advertise_address)})},
                       {"conditions", Value::object({{"ready", true}})}});
    const Value port = Value::object(
        {{"name", "https"}, {"port", context.options.secure_port}, {"protocol", "TCP"}});
    slice.set("addressType", "IPv4");
    slice.set("endpoints", Value::array({endpoint}));
    slice.set("ports", Value::array({port}));
    return slice;
}

std::vector<Value> all_objects(const Context& context) {
    std::vector<Value> objects;
    for (const char* ns : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
        objects.push_back(named("v1", "Namespace", ns));
    }
    for (Value& role : default_roles())
        objects.push_back(std::move(role));
    objects.push_back(priority_class("system-cluster-critical", 2'000'000'000,
                                     "Used for system critical pods that must run in the cluster, "
                                     "but can be moved to another node if necessary."));
    objects.push_back(priority_class("system-node-critical", 2'000'001'000,
                                     "Used for system critical pods that must not be moved from "
                                     "their current node."));
    for (const api::Kind& kind : api::all_kinds()) {
        if (kind.custom) objects.push_back(api::listed_crd_of(kind));
    }
    objects.push_back(kubernetes_service(context));
    if (!context.options.advertise_address.empty()) {
        objects.push_back(kubernetes_slice(context));
    }
    return objects;
}

/// The object over what is there: its metadata stays, the rest is ours. Null: nothing to do.
Value corrected(const Value& present, const Value& wanted) {
    Value result = present;
    for (const auto& member : wanted.members()) {
        if (member.key != "metadata" && member.key != "status")
            result.set(member.key, member.value);
    }
    return result == present ? Value() : result;
}

void fill_first_metadata(Context& context, const api::Kind& kind, Value& object) {
    Value& metadata = object.at("metadata");
    metadata.set("uid", context.random.uuid());
    metadata.set("creationTimestamp", to_rfc3339(context.loop.now()));
    if (has_generation(kind)) metadata.set("generation", 1);
}

}  // namespace

void create_what_every_cluster_has(Context& context, std::function<void()> done) {
    const auto left = std::make_shared<std::size_t>(1);
    const auto one_done = [left, then = std::move(done)] {
        if (--*left == 0 && then) then();
    };
    for (Value& object : all_objects(context)) {
        const api::GroupVersion version = api::parse_group_version(object["apiVersion"].text());
        const api::Kind* kind = api::find_kind_named(version.group, object["kind"].text());
        VERIFY(kind != nullptr);
        const Newest newest = newest_of(context, *kind, object["metadata"]["namespace"].text_or(""),
                                        object["metadata"]["name"].text_or(""));
        if (newest.object.is_null()) {
            fill_first_metadata(context, *kind, object);
            api::apply_defaults(*kind->find_version(version.version)->schema, object);
            if (kind->defaulting != nullptr) kind->defaulting(object);
            reset_status(*kind, object);
            if (is_definition(*kind)) set_definition_status(context, object);
        } else if (object["kind"].text_or("") == "Namespace" || is_definition(*kind)) {
            continue;
        } else {
            object = corrected(newest.object, object);
            if (object.is_null()) continue;
        }
        ++*left;
        commit_put(context, *kind, std::move(object), newest.revision,
                   [one_done](const Committed&) { one_done(); });
    }
    one_done();
}

}  // namespace muster::apiserver
