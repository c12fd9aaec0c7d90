// api/kueue/validation.cpp - what Kueue's webhooks refuse of queues, cohorts and flavors beyond the
// rules of the schemas.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/field_error.h"
#include "api/kueue/rules.h"
#include "api/label_rules.h"
#include "api/quantity_fields.h"
#include "base/dns_name.h"
#include "base/quantity.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

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

std::string at_most(const char* what, std::size_t most, std::size_t total) {
    return std::string(what) + " must be ≤ " + std::to_string(most) + ", got " +
           std::to_string(total);
}

/// Limits over several lists, which schemas do not have. Of queues only.
void check_totals(const Value& groups, const Path& path, Errors& errors) {
    constexpr std::size_t names_max = 256, quotas_max = 512;
    std::size_t flavors = 0, resources = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        flavors += groups[i]["flavors"].size();
        resources += groups[i]["coveredResources"].size();
        std::size_t quotas = 0;
        for (const Value& flavor : groups[i]["flavors"].items())
            quotas += flavor["resources"].size();
        if (quotas <= quotas_max) continue;
        const char* what = "number of flavor-resource combinations in a resourceGroup";
        errors.push_back(invalid(path.item(i), static_cast<std::int64_t>(quotas),
                                 at_most(what, quotas_max, quotas)));
    }
    for (const auto& [what, total] :
         {std::pair("total number of flavors across all resourceGroups", flavors),
          std::pair("total number of covered resources across all resourceGroups", resources)}) {
        if (total > names_max)
            errors.push_back(
                invalid(path, static_cast<std::int64_t>(total), at_most(what, names_max, total)));
    }
}

std::set<std::string> flavors_of(const Value& queue) {
    std::set<std::string> flavors;
    for (const Value& group : queue["spec"]["resourceGroups"].items()) {
        for (const Value& flavor : group["flavors"].items())
            flavors.insert(flavor["name"].text());
    }
    return flavors;
}

std::set<std::string> on_flavors(const Value& rule) {
    std::set<std::string> flavors;
    for (const Value& flavor : rule["onFlavors"].items())
        flavors.insert(flavor.text());
    return flavors;
}

/// A check holds for flavors that the queue has. A queue that had it wrong before may be changed
/// elsewhere.
void check_check_rules(const Value& queue, const Value* old, Errors& errors) {
    const std::set<std::string> flavors = flavors_of(queue);
    const std::vector<std::string> allowed(flavors.begin(), flavors.end());
    const bool same_flavors = old != nullptr && flavors_of(*old) == flavors;
    const Path spec = Path().child("spec");
    const Path strategy = spec.child("admissionChecksStrategy");
    const Path list = strategy.child("admissionChecks");
    const Value& rules = queue["spec"]["admissionChecksStrategy"]["admissionChecks"];
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const Value* before = nullptr;
        if (same_flavors) {
            for (const Value& each :
                 (*old)["spec"]["admissionChecksStrategy"]["admissionChecks"].items()) {
                if (each["name"] == rules[i]["name"]) before = &each;
            }
        }
        if (before != nullptr && on_flavors(*before) == on_flavors(rules[i])) continue;
        const Path item = list.item(i);
        const Path named = item.child("onFlavors");
        for (std::size_t k = 0; k < rules[i]["onFlavors"].size(); ++k) {
            const Value& flavor = rules[i]["onFlavors"][k];
            if (!flavors.contains(flavor.text()))
                errors.push_back(not_supported(named.item(k), flavor, allowed));
        }
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
}

/// A weight is 0, or more than a billionth.
void check_fair_sharing(const Value& fair_sharing, const Path& path, Errors& errors) {
    const Value& weight = fair_sharing["weight"];
    const std::optional<Quantity> parsed = quantity_of(weight);
    if (!parsed || parsed->is_zero()) return;
    if (parsed->is_negative()) {
        errors.push_back(invalid(path, weight, "must be greater than or equal to 0"));
    } else if (*parsed <= *Quantity::parse("1n")) {
        errors.push_back(invalid(path, weight, "When not 0, weight must be > 10e-9"));
    }
}

/// Who has a preference must have a choice: both of the others are tried in turn.
void check_fungibility(const Value& fungibility, const Path& path, Errors& errors) {
    const Value& preference = fungibility["preference"];
    if (preference.is_null()) return;
    for (const char* when : {"whenCanBorrow", "whenCanPreempt"}) {
        if (fungibility[when].text_or("") == "TryNextFlavor") continue;
        errors.push_back(invalid(path.child("preference"), preference,
                                 "preference " + quoted(preference.text()) +
                                     " requires both whenCanBorrow and whenCanPreempt to be "
                                     "TryNextFlavor"));
        return;
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

}  // namespace

std::vector<FieldError> validate_cluster_queue(const Value& object, const Value* old) {
    Errors errors;
    const Path spec = Path().child("spec");
    const Value& fields = object["spec"];
    const bool shares = is_named(fields, "cohort") || is_named(fields, "cohortName");
    check_resource_groups(fields["resourceGroups"], Owner::queue,
                          shares ? Standing::in_cohort : Standing::alone,
                          spec.child("resourceGroups"), errors);
    check_totals(fields["resourceGroups"], spec.child("resourceGroups"), errors);
    check_check_rules(object, old, errors);
    check_preemption(fields["preemption"], spec.child("preemption"), errors);
    check_fungibility(fields["flavorFungibility"], spec.child("flavorFungibility"), errors);
    check_fair_sharing(fields["fairSharing"], spec.child("fairSharing"), errors);
    check_label_selector(object["spec"]["namespaceSelector"], spec.child("namespaceSelector"),
                         errors);
    check_admission_mode(fields["admissionScope"]["admissionMode"],
                         spec.child("admissionScope").child("admissionMode"), errors);
    const Value& policy = fields["concurrentAdmissionPolicy"];
    if (old != nullptr && !(policy == (*old)["spec"]["concurrentAdmissionPolicy"])) {
        errors.push_back(
            invalid(spec.child("concurrentAdmissionPolicy"), policy, "field is immutable"));
    }
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
    check_fair_sharing(fields["fairSharing"], spec.child("fairSharing"), errors);
    return errors;
}

std::vector<FieldError> validate_local_queue(const Value& object, const Value*) {
    Errors errors;
    const Path spec = Path().child("spec");
    check_fair_sharing(object["spec"]["fairSharing"], spec.child("fairSharing"), errors);
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

}  // namespace muster::api
