// control/cluster/namespace.cpp - emptying namespaces, and their first contents.
#include "control/cluster/namespace.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "control/cluster/resources.h"
#include "control/conditions.h"

namespace muster::control::cluster {
namespace {

constexpr std::string_view own_finalizer = "kubernetes";

/// Kinds whose objects live in namespaces; pods first, events last.
std::vector<api::GroupResource> namespaced_kinds(const api::Kinds& known) {
    std::vector<api::GroupResource> kinds{pods};
    for (const api::Kind* kind : known.all()) {
        if (!kind->namespaced || !kind->stored_as.empty()) continue;
        if (kind->resource() != pods && kind->resource() != events)
            kinds.push_back(kind->resource());
    }
    kinds.push_back(events);
    return kinds;
}

/// What is left in a namespace, as the conditions count it.
struct Remains {
    std::map<std::string, std::int64_t> by_kind;
    std::map<std::string, std::int64_t> by_finalizer;
};

/// "pods.", "jobs.batch": as Kubernetes words it.
std::string resource_text(const api::GroupResource& resource) {
    return resource.plural + "." + resource.group;
}

Remains remains_in(const kube::Cache& seen, const std::string& ns,
                   const std::vector<api::GroupResource>& kinds) {
    Remains remains;
    for (const api::GroupResource& kind : kinds) {
        for (const kube::ObjectPtr& object : seen.list(kind, ns)) {
            ++remains.by_kind[resource_text(kind)];
            for (const api::Value& finalizer : object->value["metadata"]["finalizers"].items())
                ++remains.by_finalizer[finalizer.text()];
        }
    }
    return remains;
}

api::Value conditions_after(const api::Value& before, const Remains& remains, Time now) {
    api::Value conditions = before;
    const auto set = [&](const char* type, bool holds, const char* reason, std::string message) {
        set_condition(conditions, {type, holds ? "True" : "False", reason, std::move(message)},
                      now);
    };
    set("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
        "All resources successfully discovered");
    set("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
        "All legacy kube types successfully parsed");
    set("NamespaceDeletionContentFailure", false, "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization");
    std::string kinds;
    for (const auto& [kind, count] : remains.by_kind) {
        kinds += (kinds.empty() ? "" : ", ") + kind + " has " + std::to_string(count) +
                 " resource instances";
    }
    const bool some = !remains.by_kind.empty();
    set("NamespaceContentRemaining", some, some ? "SomeResourcesRemain" : "ContentRemoved",
        some ? "Some resources are remaining: " + kinds : "All content successfully removed");
    std::string finalizers;
    for (const auto& [finalizer, count] : remains.by_finalizer) {
        finalizers += (finalizers.empty() ? "" : ", ") + finalizer + " in " +
                      std::to_string(count) + " resource instances";
    }
    const bool held = !remains.by_finalizer.empty();
    set("NamespaceFinalizersRemaining", held,
        held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
        held ? "Some content in the namespace has finalizers remaining: " + finalizers
             : "All content-preserving finalizers finished");
    return conditions;
}

Write about_all(Write::Verb verb, const api::GroupResource& kind, const std::string& ns) {
    Write write;
    write.verb = verb;
    write.key = {kind, ns, ""};
    if (verb == Write::Verb::remove_all) write.propagation = "Background";
    if (kind == events) write.api_version = "v1";
    return write;
}

Write finalize(const kube::Object& ns) {
    Write write;
    write.verb = Write::Verb::update;
    write.key = ns.key;
    write.api_version = "v1";
    write.subresource = "finalize";
    write.version = ns.version;
    write.body = ns.value;
    api::Value rest = api::Value::array();
    for (const api::Value& finalizer : ns.value["spec"]["finalizers"].items()) {
        if (finalizer.text_or("") != own_finalizer) rest.push(finalizer);
    }
    write.body.at("spec").set("finalizers", std::move(rest));
    return write;
}

bool waits_for_us(const kube::Object& ns) {
    const api::Value::Array& finalizers = ns.value["spec"]["finalizers"].items();
    return ns.is_terminating() &&
           std::any_of(finalizers.begin(), finalizers.end(), [](const api::Value& finalizer) {
               return finalizer.text_or("") == own_finalizer;
           });
}

bool has_living(const kube::Cache& seen, const api::GroupResource& kind, const std::string& ns) {
    const std::vector<kube::ObjectPtr> objects = seen.list(kind, ns);
    return std::any_of(objects.begin(), objects.end(),
                       [](const kube::ObjectPtr& object) { return !object->is_terminating(); });
}

Reconciled empty_namespace(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr ns = seen.find(key);
    if (!seen.synced() || ns == nullptr || !waits_for_us(*ns)) return {};
    Reconciled result;
    const std::vector<api::GroupResource> kinds = namespaced_kinds(seen.kinds());
    const Remains remains = remains_in(seen, key.name, kinds);
    const api::Value& before = ns->value["status"]["conditions"];
    api::Value after = conditions_after(before, remains, now);
    if (!remains.by_kind.empty()) {
        if (!(after == before)) {
            Write write;
            write.verb = Write::Verb::merge_patch;
            write.key = key;
            write.api_version = "v1";
            write.subresource = "status";
            write.body.at("status").set("conditions", std::move(after));
            result.writes.push_back(std::move(write));
        }
        // Pods first: what they run may still need its secrets and services while it stops.
        const bool pods_left = remains.by_kind.contains(resource_text(pods));
        for (const api::GroupResource& kind : kinds) {
            if (pods_left && kind != pods) break;
            if (has_living(seen, kind, key.name))
                result.writes.push_back(about_all(Write::Verb::remove_all, kind, key.name));
        }
        return result;
    }
    // Nothing is seen, but a watch may lag: the server itself must have nothing either.
    for (const api::GroupResource& kind : kinds) {
        const auto verb = kind == events ? Write::Verb::remove_all : Write::Verb::demand_none;
        result.writes.push_back(about_all(verb, kind, key.name));
    }
    result.writes.push_back(finalize(*ns));
    return result;
}

Reconciled fill_namespace(const kube::Cache& seen, const api::Key& key,
                          const std::string& certificate_authority_pem) {
    const kube::ObjectPtr ns = seen.find(key);
    if (!seen.synced() || ns == nullptr || ns->is_terminating()) return {};
    Reconciled result;
    const api::Key account{service_accounts, key.name, "default"};
    const auto metadata = [](const api::Key& of) {
        return api::Value::object({{"name", of.name}, {"namespace", of.ns}});
    };
    const auto create = [&result](const api::Key& of, api::Value body) {
        Write write;
        write.verb = Write::Verb::create;
        write.key = of;
        write.api_version = "v1";
        write.body = std::move(body);
        result.writes.push_back(std::move(write));
    };
    if (seen.find(account) == nullptr) {
        create(account, api::Value::object({{"apiVersion", "v1"},
                                            {"kind", "ServiceAccount"},
                                            {"metadata", metadata(account)}}));
    }
    const api::Key bundle{config_maps, key.name, "kube-root-ca.crt"};
    const kube::ObjectPtr held = seen.find(bundle);
    const api::Value data = api::Value::object({{"ca.crt", certificate_authority_pem}});
    if (held == nullptr) {
        create(bundle, api::Value::object({{"apiVersion", "v1"},
                                           {"kind", "ConfigMap"},
                                           {"metadata", metadata(bundle)},
                                           {"data", data}}));
    } else if (!(held->value["data"] == data)) {
        Write write;
        write.verb = Write::Verb::merge_patch;
        write.key = bundle;
        write.api_version = "v1";
        write.body.set("data", merge_patch_between(held->value["data"], data));
        result.writes.push_back(std::move(write));
    }
    return result;
}

/// Wakes the namespace of a changed object, if it is one that matters.
using Matters = bool (*)(const kube::Cache& seen, const kube::Object& object);

std::function<std::vector<api::Key>(const kube::Cache&, const kube::Object*, const kube::Object*)>
wake_if(Matters matters) {
    return
        [matters](const kube::Cache& seen, const kube::Object* before, const kube::Object* after) {
            const kube::Object& object = after != nullptr ? *after : *before;
            std::vector<api::Key> keys;
            if (matters(seen, object)) keys.push_back({namespaces, "", object.key.ns});
            return keys;
        };
}

Watch watch_contents(const api::GroupResource& kind, std::string version, Matters matters) {
    return {kind, std::move(version), wake_if(matters)};
}

bool is_in_ending_namespace(const kube::Cache& seen, const kube::Object& object) {
    const kube::ObjectPtr ns = seen.find({namespaces, "", object.key.ns});
    return ns != nullptr && ns->is_terminating();
}

}  // namespace

Controller namespace_controller() {
    Controller controller;
    controller.name = "namespace-controller";
    controller.watches.push_back(watch_self(namespaces, "v1"));
    controller.wakes_of_added = wake_if(is_in_ending_namespace);
    for (const api::GroupResource& kind : namespaced_kinds(api::Kinds())) {
        if (kind != events)
            controller.watches.push_back(watch_contents(kind, "", is_in_ending_namespace));
    }
    controller.reconcile = empty_namespace;
    return controller;
}

Controller namespace_contents_controller(std::string certificate_authority_pem) {
    Controller controller;
    controller.name = "root-ca-and-service-account-controller";
    controller.watches = {
        watch_self(namespaces, "v1"),
        watch_contents(service_accounts, "",
                       [](const kube::Cache&, const kube::Object& object) {
                           return object.key.name == "default";
                       }),
        watch_contents(config_maps, "v1", [](const kube::Cache&, const kube::Object& object) {
            return object.key.name == "kube-root-ca.crt";
        })};
    controller.reconcile = [pem = std::move(certificate_authority_pem)](const kube::Cache& seen,
                                                                        const api::Key& key, Time) {
        return fill_namespace(seen, key, pem);
    };
    return controller;
}

}  // namespace muster::control::cluster
