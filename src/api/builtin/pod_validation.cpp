// api/builtin/pod_validation.cpp - what Kubernetes refuses in a pod, a pod template, and an update
// of a pod.
#include <set>
#include <string>
#include <utility>

#include "api/builtin/container_validation.h"
#include "api/builtin/validation.h"
#include "api/builtin/volume_validation.h"
#include "api/field_error.h"
#include "api/label_rules.h"
#include "base/dns_name.h"
#include "base/quantity.h"

namespace muster::api {
namespace {

void check_names_once(const Value& list, const Path& path, std::set<std::string>& seen,
                      FieldErrors& errors) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Value& name = list[i]["name"];
        if (name.text_or("").empty() || seen.insert(name.text()).second) continue;
        const Path item = path.item(i);
        errors.push_back(duplicate(item.child("name"), name));
    }
}

/// Each has a status, a cgroup and files: what is next is planned by all of them. 3 MB could name
/// 60,000.
constexpr std::size_t containers_max = 1'000;

void check_containers(const Value& spec, const Path& path, FieldErrors& errors) {
    const Path main = path.child("containers");
    const Path init = path.child("initContainers");
    if (spec["containers"].empty()) errors.push_back(required(main));
    const std::size_t count = spec["containers"].size() + spec["initContainers"].size();
    if (count > containers_max) {
        errors.push_back(too_many(main, count, containers_max));
        return;
    }
    VolumeNames volumes;
    for (const Value& volume : spec["volumes"].items())
        volumes.insert(volume["name"].text_or(""));
    for (std::size_t i = 0; i < spec["containers"].size(); ++i) {
        check_container(spec["containers"][i], ContainerKind::main, volumes, main.item(i), errors);
    }
    for (std::size_t i = 0; i < spec["initContainers"].size(); ++i) {
        check_container(spec["initContainers"][i], ContainerKind::init, volumes, init.item(i),
                        errors);
    }
    std::set<std::string> names;
    check_names_once(spec["containers"], main, names, errors);
    check_names_once(spec["initContainers"], init, names, errors);
}

void check_node_terms(const Value& terms, const Path& path, FieldErrors& errors) {
    static const std::vector<std::string> operators = {"DoesNotExist", "Exists", "Gt",
                                                       "In",           "Lt",     "NotIn"};
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const Path term = path.item(i);
        const Path list = term.child("matchExpressions");
        const Value& expressions = terms[i]["matchExpressions"];
        for (std::size_t j = 0; j < expressions.size(); ++j) {
            const Path item = list.item(j);
            const std::string_view operation = expressions[j]["operator"].text_or("");
            const std::size_t values = expressions[j]["values"].size();
            const bool takes_values = operation == "In" || operation == "NotIn";
            const bool takes_one = operation == "Gt" || operation == "Lt";
            if (takes_values && values == 0) {
                errors.push_back(required(item.child("values"),
                                          "must be specified when `operator` is 'In' or 'NotIn'"));
            } else if (takes_one && values != 1) {
                errors.push_back(
                    required(item.child("values"),
                             "must be specified single value when `operator` is 'Lt' or 'Gt'"));
            } else if (operation.empty()) {
                errors.push_back(
                    not_supported(item.child("operator"), expressions[j]["operator"], operators));
            }
            add_invalid(errors, item.child("key"), expressions[j]["key"],
                        label_key_faults(expressions[j]["key"].text_or("")));
        }
    }
}

void check_affinity(const Value& affinity, const Path& path, FieldErrors& errors) {
    const Value& must = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    const Path node = path.child("nodeAffinity");
    if (must.is_object()) {
        const Path required_path = node.child("requiredDuringSchedulingIgnoredDuringExecution");
        const Path terms = required_path.child("nodeSelectorTerms");
        if (must["nodeSelectorTerms"].empty()) {
            errors.push_back(required(terms, "must have at least one node selector term"));
        }
        check_node_terms(must["nodeSelectorTerms"], terms, errors);
    }
    for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
        const Path pod = path.child(kind);
        const Path list = pod.child("requiredDuringSchedulingIgnoredDuringExecution");
        const Value& terms = affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"];
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const Path item = list.item(i);
            if (terms[i]["topologyKey"].text_or("").empty()) {
                errors.push_back(required(item.child("topologyKey"), "can not be empty"));
            }
            check_label_selector(terms[i]["labelSelector"], item.child("labelSelector"), errors);
        }
    }
}

void check_seconds(const Value& spec, const Path& path, FieldErrors& errors) {
    const Value& grace = spec["terminationGracePeriodSeconds"];
    if (grace.integer_or(0) < 0) {
        errors.push_back(invalid(path.child("terminationGracePeriodSeconds"), grace,
                                 "must be greater than or equal to 0"));
    }
    const Value& deadline = spec["activeDeadlineSeconds"];
    if (!deadline.is_null() &&
        (deadline.integer_or(1) < 1 || deadline.integer_or(1) > 2147483647)) {
        errors.push_back(invalid(path.child("activeDeadlineSeconds"), deadline,
                                 "must be between 1 and 2147483647, inclusive"));
    }
}

constexpr const char* update_rule =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

void clear_images(Value& spec, const char* list) {
    if (!spec[list].is_array()) return;
    for (Value& container : spec.at(list).mutable_items()) {
        if (container.is_object()) container.erase("image");
    }
}

/// The spec without what an update may change.
Value fixed_part(Value spec, const Value& old_spec) {
    if (!spec.is_object()) return spec;
    clear_images(spec, "containers");
    clear_images(spec, "initContainers");
    for (const char* field :
         {"activeDeadlineSeconds", "tolerations", "schedulingGates", "ephemeralContainers"}) {
        spec.erase(field);
    }
    if (old_spec["nodeName"].text_or("").empty()) spec.erase("nodeName");  // A binding.
    if (!old_spec["schedulingGates"].empty()) {
        spec.erase("nodeSelector");  // May be narrowed until the gates open.
        spec.erase("affinity");
    }
    return spec;
}

void check_pod_update(const Value& pod, const Value& old, FieldErrors& errors) {
    const Path path;
    const Path spec = path.child("spec");
    for (const char* list : {"containers", "initContainers"}) {
        if (pod["spec"][list].size() == old["spec"][list].size()) continue;
        errors.push_back(
            forbidden(spec.child(list), "pod updates may not add or remove containers"));
        return;
    }
    if (!(fixed_part(pod["spec"], old["spec"]) == fixed_part(old["spec"], old["spec"]))) {
        errors.push_back(forbidden(spec, update_rule));
    }
    const auto tolerated = [](const Value& toleration) {
        return std::pair(toleration["key"].text(), toleration["effect"].text());
    };
    std::set<std::pair<std::string, std::string>> now;
    for (const Value& toleration : pod["spec"]["tolerations"].items())
        now.insert(tolerated(toleration));
    for (const Value& toleration : old["spec"]["tolerations"].items()) {
        if (now.contains(tolerated(toleration))) continue;
        errors.push_back(forbidden(spec.child("tolerations"),
                                   "existing toleration can not be modified except its "
                                   "tolerationSeconds"));
        break;
    }
    const Path gates = spec.child("schedulingGates");
    std::set<std::string> had;
    for (const Value& gate : old["spec"]["schedulingGates"].items())
        had.insert(gate["name"].text());
    for (std::size_t i = 0; i < pod["spec"]["schedulingGates"].size(); ++i) {
        const Value& gate = pod["spec"]["schedulingGates"][i];
        if (had.contains(gate["name"].text())) continue;
        const Path item = gates.item(i);
        errors.push_back(forbidden(item.child("name"),
                                   "only deletion is allowed, but found new scheduling gate '" +
                                       gate["name"].text() + "'"));
    }
}

}  // namespace

void check_pod_spec(const Value& spec, const Path& path, FieldErrors& errors) {
    check_volumes(spec["volumes"], path.child("volumes"), errors);
    check_containers(spec, path, errors);
    check_labels(spec["nodeSelector"], path.child("nodeSelector"), errors);
    check_tolerations(spec["tolerations"], path.child("tolerations"), errors);
    check_affinity(spec["affinity"], path.child("affinity"), errors);
    check_seconds(spec, path, errors);
    check_ids(spec["securityContext"], path.child("securityContext"), errors);
    for (const char* field : {"serviceAccountName", "nodeName", "priorityClassName"}) {
        if (spec[field].text_or("").empty()) continue;
        add_invalid(errors, path.child(field), spec[field],
                    dns1123_subdomain_faults(spec[field].as_string()));
    }
    for (const char* field : {"hostname", "subdomain"}) {
        if (spec[field].text_or("").empty()) continue;
        add_invalid(errors, path.child(field), spec[field],
                    dns1123_label_faults(spec[field].as_string()));
    }
}

void check_pod_template(const Value& pod_template, const Path& path, FieldErrors& errors) {
    // These two are named so in the reference.
    check_labels(pod_template["metadata"]["labels"], path.child("labels"), errors);
    check_annotations(pod_template["metadata"]["annotations"], path.child("annotations"), errors);
    check_pod_spec(pod_template["spec"], path.child("spec"), errors);
}

FieldErrors validate_pod(const Value& pod, const Value* old) {
    FieldErrors errors;
    const Path path;
    check_pod_spec(pod["spec"], path.child("spec"), errors);
    if (old != nullptr) check_pod_update(pod, *old, errors);
    return errors;
}

}  // namespace muster::api
