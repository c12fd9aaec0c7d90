// api/kueue/validation.cpp - what Kueue's webhooks refuse beyond the rules of the schemas, and what
// this version of Muster does not obey yet.
#include <algorithm>
#include <set>
#include <string>

#include "api/field_error.h"
#include "api/json.h"
#include "api/kueue/rules.h"
#include "api/label_rules.h"
#include "base/dns_name.h"
#include "base/quantity.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

/// Fields that would change a decision and are not obeyed yet: refused unless they hold their
/// default. `path` walks members; "[]" is every item of a list.
struct NotYet {
    std::string_view path;
    std::vector<std::string_view> fine;  // Values that are as good as absent.
    std::string_view what;
};

const std::vector<NotYet>& not_yet_of_cluster_queues() {
    static const std::vector<NotYet> table = {
        {"spec.concurrentAdmissionPolicy", {}, "concurrent admission is"},
        {"spec.quotaManagement", {}, "quota management is"},
    };
    return table;
}

void refuse(const Value& value, std::string_view rest, const Path& path, const NotYet& row,
            Errors& errors) {
    if (value.is_null()) return;
    if (rest.empty()) {
        const std::string text = value.is_string() ? value.text() : to_json(value);
        for (const std::string_view fine : row.fine) {
            if (text == fine) return;
        }
        errors.push_back(forbidden(
            path, std::string(row.what) + " not supported yet by this version of Muster"));
        return;
    }
    const std::size_t dot = rest.find('.');
    const std::string_view step = rest.substr(0, dot);
    const std::string_view after =
        dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    if (step != "[]") return refuse(value[step], after, path.child(step), row, errors);
    for (std::size_t i = 0; i < value.items().size(); ++i) {
        refuse(value.items()[i], after, path.item(i), row, errors);
    }
}

void refuse_all(const std::vector<NotYet>& table, const Value& object, Errors& errors) {
    for (const NotYet& row : table)
        refuse(object, row.path, Path(), row, errors);
}

void check_not_negative(const Value& quantity, const Path& path, Errors& errors) {
    const std::string text = quantity.is_string() ? quantity.text() : to_json(quantity);
    const std::optional<Quantity> amount = Quantity::parse(text);
    if (amount && amount->is_negative()) {
        errors.push_back(invalid(path, quantity, "must be greater than or equal to 0"));
    }
}

std::optional<Quantity> quantity_of(const Value& value) {
    if (value.is_null()) return std::nullopt;
    return Quantity::parse(value.is_string() ? value.text() : to_json(value));
}

/// Only what is part of a cohort can lend and borrow; a queue lends at most what is its own.
enum class Owner { queue, cohort };
enum class Standing { alone, in_cohort };

void check_limits(const Value& quota, Owner owner, Standing standing, const Path& path,
                  Errors& errors) {
    const char* of = owner == Owner::queue ? "cohort" : "parent";
    for (const char* limit : {"borrowingLimit", "lendingLimit"}) {
        if (quota[limit].is_null()) continue;
        check_not_negative(quota[limit], path.child(limit), errors);
        if (standing == Standing::alone) {
            errors.push_back(invalid(path.child(limit), quota[limit],
                                     "must be nil when " + std::string(of) + " is empty"));
        }
    }
    const std::optional<Quantity> nominal = quantity_of(quota["nominalQuota"]);
    const std::optional<Quantity> lending = quantity_of(quota["lendingLimit"]);
    if (owner == Owner::queue && nominal && lending && *lending > *nominal) {
        errors.push_back(invalid(path.child("lendingLimit"), quota["lendingLimit"],
                                 "must be less than or equal to the nominalQuota"));
    }
}

/// A flavor's quotas must be those of the covered resources, in their order; that there are as many
/// is a rule of the schema.
void check_flavor(const Value& flavor, const Value& covered, Owner owner, Standing standing,
                  const Path& path, Errors& errors) {
    const Path resources = path.child("resources");
    for (std::size_t i = 0; i < covered.size(); ++i) {
        const Path item = resources.item(i);
        const Value& quota = flavor["resources"][i];
        if (!(quota["name"] == covered[i])) {
            errors.push_back(invalid(item.child("name"), quota["name"],
                                     "must match the name in coveredResources"));
        }
        check_not_negative(quota["nominalQuota"], item.child("nominalQuota"), errors);
        check_limits(quota, owner, standing, item, errors);
    }
}

void check_resource_groups(const Value& groups, Owner owner, Standing standing, const Path& path,
                           Errors& errors) {
    std::set<std::string> resources;
    std::set<std::string> flavors;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const Path group_path = path.item(i);
        const Value& covered = groups[i]["coveredResources"];
        const Path covered_path = group_path.child("coveredResources");
        for (std::size_t j = 0; j < covered.size(); ++j) {
            add_invalid(errors, covered_path.item(j), covered[j],
                        label_key_faults(covered[j].text_or("")));
            if (!resources.insert(covered[j].text()).second) {
                errors.push_back(duplicate(covered_path.item(j), covered[j]));
            }
        }
        const Path flavors_path = group_path.child("flavors");
        for (std::size_t j = 0; j < groups[i]["flavors"].size(); ++j) {
            const Value& flavor = groups[i]["flavors"][j];
            const Path flavor_path = flavors_path.item(j);
            check_flavor(flavor, covered, owner, standing, flavor_path, errors);
            if (!flavors.insert(flavor["name"].text()).second) {
                errors.push_back(duplicate(flavor_path.child("name"), flavor["name"]));
            }
        }
    }
    if (resources.size() > 256) errors.push_back(too_many(path, resources.size(), 256));
    if (flavors.size() > 256) errors.push_back(too_many(path, flavors.size(), 256));
}

/// 0, or more than a billionth.
void check_weight(const Value& weight, const Path& path, Errors& errors) {
    const std::optional<Quantity> parsed = quantity_of(weight);
    if (!parsed || parsed->is_zero()) return;
    if (parsed->is_negative()) {
        errors.push_back(invalid(path, weight, "must be greater than or equal to 0"));
    } else if (*parsed <= *Quantity::parse("1n")) {
        errors.push_back(
            invalid(path, weight, "When weight is not 0, it must be greater than 10^-9"));
    }
}

bool is_named(const Value& spec, const char* field) {
    return !spec[field].text_or("").empty();
}

void check_preemption(const Value& preemption, const Path& path, Errors& errors) {
    const std::string_view reclaim = preemption["reclaimWithinCohort"].text_or("Never");
    const std::string_view borrow = preemption["borrowWithinCohort"]["policy"].text_or("Never");
    if (reclaim == "Never" && borrow != "Never") {
        errors.push_back(invalid(path, preemption,
                                 "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"));
    }
}

/// v1beta1's schema takes any word.
void check_admission_mode(const Value& mode, const Path& path, Errors& errors) {
    static const std::vector<std::string> modes = {"UsageBasedAdmissionFairSharing",
                                                   "NoAdmissionFairSharing"};
    if (mode.is_null() || std::find(modes.begin(), modes.end(), mode.text()) != modes.end()) return;
    errors.push_back(not_supported(path, mode, modes));
}

/// One pod set may start with fewer pods than it has, and with at least one.
void check_min_counts(const Value& pod_sets, const Path& path, Errors& errors) {
    bool seen = false;
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        const Value& least = pod_sets[i]["minCount"];
        if (least.is_null()) continue;
        if (seen) errors.push_back(invalid(path, pod_sets, "at most one podSet can use minCount"));
        seen = true;
    }
}

bool holds(const Value& workload, std::string_view condition) {
    for (const Value& each : workload["status"]["conditions"].items()) {
        if (each["type"].text_or("") == condition) return each["status"].text_or("") == "True";
    }
    return false;
}

void check_requests(const Value& pod_set, const Path& path, Errors& errors) {
    const Path pod_template = path.child("template");
    const Path spec = pod_template.child("spec");
    for (const char* list : {"initContainers", "containers"}) {
        const Value& containers = pod_set["template"]["spec"][list];
        const Path list_path = spec.child(list);
        for (std::size_t i = 0; i < containers.size(); ++i) {
            const Path item = list_path.item(i);
            const Path resources = item.child("resources");
            const Path requests = resources.child("requests");
            for (const Value::Member& request : containers[i]["resources"]["requests"].members()) {
                check_not_negative(request.value, requests.key(request.key), errors);
                if (request.key == "pods") {
                    errors.push_back(invalid(requests.key(request.key), request.value,
                                             "the key is reserved for internal kueue use"));
                }
            }
        }
    }
}

const Value& named(const Value& list, const Value& name) {
    static const Value none{};
    for (const Value& item : list.items()) {
        if (item["name"] == name) return item;
    }
    return none;
}

void check_reclaimable(const Value& object, const Value* old, Errors& errors) {
    const Path status = Path().child("status");
    const Path list = status.child("reclaimablePods");
    const Value& now = object["status"]["reclaimablePods"];
    for (const Value& pods : now.items()) {
        const Value& pod_set = named(object["spec"]["podSets"], pods["name"]);
        const std::string key = pods["name"].text();
        const Path item = list.key(key);
        if (pod_set.is_null()) {
            errors.push_back(invalid(item.child("name"), pods["name"], "must name a podSet"));
        } else if (pods["count"].integer_or(0) > pod_set["count"].integer_or(1)) {
            errors.push_back(invalid(
                item.child("count"), pods["count"],
                "should be less or equal to " + std::to_string(pod_set["count"].integer_or(1))));
        }
    }
    if (old == nullptr || !holds(*old, "QuotaReserved") || !holds(object, "QuotaReserved")) return;
    for (const Value& before : (*old)["status"]["reclaimablePods"].items()) {
        const Value& after = named(now, before["name"]);
        const std::string key = before["name"].text();
        if (after["count"].integer_or(0) < before["count"].integer_or(0)) {
            errors.push_back(
                invalid(list.key(key), after["count"],
                        "cannot be less than " + std::to_string(before["count"].integer_or(0))));
        }
    }
}

/// What of an admission may never change: all but where its pods are.
Value without_places(Value admission) {
    if (!admission["podSetAssignments"].is_array()) return admission;
    for (Value& set : admission.at("podSetAssignments").mutable_items()) {
        set.erase("topologyAssignment");
        set.erase("delayedTopologyRequest");
    }
    return admission;
}

void check_admission_checks(const Value& object, const Value* old, Errors& errors) {
    const Path status = Path().child("status");
    const Path list = status.child("admissionChecks");
    const Value& checks = object["status"]["admissionChecks"];
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const Value& updates = checks[i]["podSetUpdates"];
        const Path check = list.item(i);
        const Path path = check.child("podSetUpdates");
        for (std::size_t k = 0; k < updates.size(); ++k) {
            const Path item = path.item(k);
            if (named(object["spec"]["podSets"], updates[k]["name"]).is_null())
                errors.push_back(
                    invalid(item.child("name"), updates[k]["name"], "must name a podSet"));
            check_labels(updates[k]["labels"], item.child("labels"), errors);
            check_annotations(updates[k]["annotations"], item.child("annotations"), errors);
            check_labels(updates[k]["nodeSelector"], item.child("nodeSelector"), errors);
            check_tolerations(updates[k]["tolerations"], item.child("tolerations"), errors);
        }
        if (old == nullptr) continue;
        const Value& before = named((*old)["status"]["admissionChecks"], checks[i]["name"]);
        if (before["state"].text_or("") == "Ready" && checks[i]["state"].text_or("") == "Ready" &&
            !(before["podSetUpdates"] == updates))
            errors.push_back(invalid(path, updates, "field is immutable"));
    }
}

bool is_elastic(const Value& workload) {
    return workload["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"].text_or("") == "true";
}

/// Fewer pods of the same pod sets: what an elastic job may become while it holds quota.
bool only_shrinks(const Value& object, const Value& old) {
    const Value& now = object["spec"]["podSets"];
    const Value& before = old["spec"]["podSets"];
    if (now.size() != before.size()) return false;
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i]["count"].integer_or(1) > before[i]["count"].integer_or(1)) return false;
        Value same = now[i];
        same.set("count", before[i]["count"]);
        if (!(same == before[i])) return false;
    }
    return true;
}

void check_workload_update(const Value& object, const Value& old, Errors& errors) {
    if (!holds(old, "QuotaReserved")) return;
    const Path spec = Path().child("spec");
    const bool shrinks = is_elastic(object) && is_elastic(old) && only_shrinks(object, old);
    if (!shrinks && !(object["spec"]["podSets"] == old["spec"]["podSets"])) {
        errors.push_back(invalid(spec.child("podSets"), object["spec"]["podSets"],
                                 "field is immutable while workload quota reserved"));
    }
    if (!holds(object, "QuotaReserved")) return;
    const Value& before = old["status"]["admission"];
    const Value& after = object["status"]["admission"];
    if (!before.is_null() && !after.is_null() &&
        !(without_places(before) == without_places(after))) {
        const Path status = Path().child("status");
        errors.push_back(invalid(status.child("admission"), after, "field is immutable"));
    }
}

}  // namespace

void default_workload(Value& workload) {
    Value* spec = workload.is_object() ? workload.find("spec") : nullptr;
    if (spec == nullptr || (*spec)["podSets"].size() == 0) return;
    for (Value& pod_set : spec->at("podSets").mutable_items()) {
        if (!pod_set.is_object()) continue;
        if (pod_set["name"].text_or("").empty()) pod_set.set("name", "main");
    }
}

std::vector<FieldError> validate_cluster_queue(const Value& object, const Value*) {
    Errors errors;
    const Path spec = Path().child("spec");
    const Value& fields = object["spec"];
    const bool shares = is_named(fields, "cohort") || is_named(fields, "cohortName");
    check_resource_groups(fields["resourceGroups"], Owner::queue,
                          shares ? Standing::in_cohort : Standing::alone,
                          spec.child("resourceGroups"), errors);
    check_preemption(fields["preemption"], spec.child("preemption"), errors);
    check_weight(fields["fairSharing"]["weight"], spec.child("fairSharing").child("weight"),
                 errors);
    check_label_selector(object["spec"]["namespaceSelector"], spec.child("namespaceSelector"),
                         errors);
    check_admission_mode(fields["admissionScope"]["admissionMode"],
                         spec.child("admissionScope").child("admissionMode"), errors);
    refuse_all(not_yet_of_cluster_queues(), object, errors);
    return errors;
}

std::vector<FieldError> validate_cohort(const Value& object, const Value*) {
    Errors errors;
    const Path spec = Path().child("spec");
    const Value& fields = object["spec"];
    const bool has_parent = is_named(fields, "parentName");
    check_resource_groups(fields["resourceGroups"], Owner::cohort,
                          has_parent ? Standing::in_cohort : Standing::alone,
                          spec.child("resourceGroups"), errors);
    check_weight(fields["fairSharing"]["weight"], spec.child("fairSharing").child("weight"),
                 errors);
    return errors;
}

std::vector<FieldError> validate_local_queue(const Value& object, const Value*) {
    Errors errors;
    const Path spec = Path().child("spec");
    check_weight(object["spec"]["fairSharing"]["weight"], spec.child("fairSharing").child("weight"),
                 errors);
    return errors;
}

std::vector<FieldError> validate_resource_flavor(const Value& object, const Value*) {
    Errors errors;
    const Path spec = Path().child("spec");
    check_labels(object["spec"]["nodeLabels"], spec.child("nodeLabels"), errors);
    check_taints(object["spec"]["nodeTaints"], spec.child("nodeTaints"), errors);
    check_tolerations(object["spec"]["tolerations"], spec.child("tolerations"), errors);
    return errors;
}

std::vector<FieldError> validate_workload(const Value& object, const Value* old) {
    Errors errors;
    const Path spec = Path().child("spec");
    const Value& pod_sets = object["spec"]["podSets"];
    const Path list = spec.child("podSets");
    if (pod_sets.empty()) errors.push_back(required(list, "at least one podSet is required"));
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        const Path item = list.item(i);
        check_requests(pod_sets[i], item, errors);
    }
    check_min_counts(pod_sets, list, errors);
    check_reclaimable(object, old, errors);
    check_admission_checks(object, old, errors);
    if (old != nullptr) check_workload_update(object, *old, errors);
    return errors;
}

}  // namespace muster::api
