// control/queue/hooks.cpp - admission of jobs.
#include "control/queue/hooks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/denial.h"
#include "api/kueue/admission_gates.h"
#include "control/queue/integration.h"
#include "control/queue/job_rules.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_hooks.h"
#include "control/queue/slices.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Admission;
using api::AdmissionRequest;
using api::Value;

/// Scaling is a change like any other.
const JobKind* job_kind_of(const AdmissionRequest& request) {
    if (!request.subresource.empty() && request.subresource != "scale") return nullptr;
    return find_job_kind(request.kind->resource());
}

std::string namespace_of(const Value& object) {
    return object["metadata"]["namespace"].text();
}

bool is_default_queue(const Value& queue) {
    return queue["metadata"]["annotations"][default_queue_annotation].text_or("") == "true";
}

std::optional<std::string> default_queue_in(const AdmissionRequest& request,
                                            const std::string& ns) {
    if (!request.find({local_queues, ns, "default"}).is_null()) return "default";
    std::optional<std::pair<std::string, std::string>> oldest;
    for (const Value& queue : request.list(local_queues, ns)) {
        if (!is_default_queue(queue)) continue;
        std::pair<std::string, std::string> candidate{queue["metadata"]["creationTimestamp"].text(),
                                                      queue["metadata"]["name"].text()};
        if (!oldest || candidate < *oldest) oldest = std::move(candidate);
    }
    if (!oldest) return std::nullopt;
    return oldest->second;
}

Admission denied(const JobKind& kind, FieldErrors errors) {
    Admission admission;
    if (errors.empty()) return admission;
    admission.denied =
        api::denial_by("v" + std::string(kind.webhook) + ".kb.io", std::move(errors));
    return admission;
}

/// The error of a chain of owners that nobody follows to its end.
Admission denied_as_too_deep(const JobKind& kind) {
    Admission admission;
    admission.denied = Admission::Denial{Reason::internal_error,
                                         "managed owners chain limit reached",
                                         {},
                                         "m" + std::string(kind.webhook) + ".kb.io"};
    return admission;
}

/// What Kueue still takes, and says that it will not.
void warn_of_old_forms(const Value& workload, Admission& admission) {
    const Value& pod_sets = workload["spec"]["podSets"];
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
        const Value& count = pod_sets[i]["topologyRequest"]["subGroupCount"];
        if (count.integer_or(0) >= 0) continue;
        admission.warnings.push_back("spec.podSets[" + std::to_string(i) +
                                     "].topologyRequest.subGroupCount: negative value " +
                                     std::to_string(count.as_integer()) +
                                     " is deprecated and will be rejected in a future release");
    }
}

/// Rules of kinds whose objects are free without a queue are for those that name or must find one.
bool judges(const JobRules& rules, const JobKind& kind, const Value& object) {
    return kind.unqueued == JobKind::Unqueued::judged || !queue_name_of(object).empty() ||
           rules.unlabelled == JobRules::Unlabelled::managed;
}

bool is_queued(const JobRules& rules, const JobKind& kind, const AdmissionRequest& request) {
    const std::string ns = namespace_of(request.object);
    return request.object["metadata"]["deletionTimestamp"].is_null() &&
           (is_managed(request.object, ns, request.find) ||
            must_find_queue(rules, kind, request.object, ns, request.find));
}

/// What serves has labels of its own for its queue only: for all else its pods are judged.
void check_as_made(const JobKind& kind, const Value& object, FieldErrors& errors) {
    if (kind.start == JobKind::Start::by_pods) {
        check_name_in_label(object, queue_name_label, errors);
        check_elastic(kind, object, errors);
    } else {
        check_labels(kind, object, errors);
        check_pod_sets(kind, object, errors);
    }
}

/// Kinds of which, once they are there, only what changes is judged, and the topologies.
bool is_judged_by_change(const JobKind& kind) {
    return kind.start == JobKind::Start::ungated || is_app_wrapper(kind.resource) ||
           (kind.resource.group == "kubeflow.org" && kind.kind != "MPIJob");
}

void append(FieldErrors more, FieldErrors& errors) {
    for (api::FieldError& error : more)
        errors.push_back(std::move(error));
}

/// What was wrong with a job that was judged before is not newly wrong: a rule may be younger than
/// the job, which must still be started, stopped and let go (docs/deviations.md).
void drop_old_faults(const JobKind& kind, const Value& before, FieldErrors& errors) {
    if (errors.empty()) return;
    FieldErrors old;
    check_as_made(kind, before, old);
    api::check_admission_gates(nullptr, before, old);
    if (kind.check != nullptr) append(kind.check(before), old);
    std::erase_if(errors, [&](const api::FieldError& error) {
        return std::any_of(old.begin(), old.end(), [&](const api::FieldError& each) {
            return each.field == error.field && each.text == error.text;
        });
    });
}

bool starts_when_unsuspended(const JobKind& kind) {
    return kind.start == JobKind::Start::unsuspended;
}

}  // namespace

Admission give_default_queue(const AdmissionRequest& request, const JobRules& rules) {
    Admission admission;
    if (request.operation != AdmissionRequest::Operation::create) return admission;
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || !queue_name_of(request.object).empty()) return admission;
    if (!takes_part_unlabelled(rules, *kind) || is_made_by_job(request.object) ||
        is_left_alone(*kind, request.object)) {
        return admission;
    }
    const auto queue = default_queue_in(request, namespace_of(request.object));
    if (!queue) return admission;
    admission.changed = request.object;
    at_path(*admission.changed, "metadata.labels").set(queue_name_label, *queue);
    return admission;
}

Admission suspend_new_job(const AdmissionRequest& request) {
    const JobKind* kind = job_kind_of(request);
    Admission admission;
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::create)
        return admission;
    if (!starts_when_unsuspended(*kind) || is_suspended(*kind, request.object) ||
        is_left_alone(*kind, request.object)) {
        return admission;
    }
    const Above above = find_above(request.object, namespace_of(request.object), request.find);
    if (above.end == Above::End::too_deep) return denied_as_too_deep(*kind);
    if (queue_name_of(request.object).empty() || !above.managed.name.empty()) return admission;
    admission.changed = request.object;
    at_path(*admission.changed, kind->suspend) = true;
    return admission;
}

Admission check_new_job(const AdmissionRequest& request, const JobRules& rules) {
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::create) return {};
    FieldErrors errors;
    const bool is_judged = judges(rules, *kind, request.object);
    if (is_judged && kind->check != nullptr) errors = kind->check(request.object);
    if (!is_judged || !is_left_alone(*kind, request.object)) {
        check_as_made(*kind, request.object, errors);
        api::check_admission_gates(nullptr, request.object, errors);
    }
    return denied(*kind, std::move(errors));
}

Admission check_changed_job(const AdmissionRequest& request, const JobRules& rules) {
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::update) return {};
    const bool is_judged = judges(rules, *kind, request.object);
    const bool was_judged = judges(rules, *kind, request.old);
    if (!is_judged && !was_judged) return {};
    const bool is_serving = kind->start == JobKind::Start::by_pods;
    const bool is_free = is_left_alone(*kind, request.object);
    if (is_serving && is_free) return {};
    FieldErrors errors;
    if (!is_serving) {
        const bool has_default =
            !request.find({local_queues, namespace_of(request.object), "default"}).is_null();
        check_label_changes(*kind, request.old, request.object,
                            has_default ? DefaultQueue::exists : DefaultQueue::none, errors);
    }
    if (!is_free && !is_judged_by_change(*kind)) check_as_made(*kind, request.object, errors);
    if (is_judged_by_change(*kind)) check_pod_sets(*kind, request.object, errors);
    api::check_admission_gates(&request.old, request.object, errors);
    if (is_judged && kind->check_change != nullptr) {
        append(kind->check_change(request.old, request.object), errors);
    } else if (is_judged && kind->check != nullptr) {
        append(kind->check(request.object), errors);
    }
    if (was_judged) drop_old_faults(*kind, request.old, errors);
    if (kind->check_queued_change != nullptr && is_queued(rules, *kind, request))
        append(kind->check_queued_change(request), errors);
    return denied(*kind, std::move(errors));
}

Admission suspend_unlabelled_job(const AdmissionRequest& request, const JobRules& rules) {
    const JobKind* kind = job_kind_of(request);
    Admission admission;
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::create ||
        !starts_when_unsuspended(*kind) || is_suspended(*kind, request.object) ||
        !must_find_queue(rules, *kind, request.object, namespace_of(request.object),
                         request.find)) {
        return admission;
    }
    admission.changed = request.object;
    at_path(*admission.changed, kind->suspend) = true;
    return admission;
}

bool is_held_while_used(const api::GroupResource& resource) {
    return resource == cluster_queues || resource == flavors;
}

Admission hold_new_queue(const AdmissionRequest& request) {
    Admission admission;
    const api::GroupResource resource = request.kind->resource();
    if (request.operation != AdmissionRequest::Operation::create || !request.subresource.empty() ||
        !is_held_while_used(resource) || has_in_use_finalizer(request.object)) {
        return admission;
    }
    admission.changed = request.object;
    at_path(*admission.changed, "metadata.finalizers").push(Value(in_use_finalizer));
    return admission;
}

Admission warn_of_what_is_not_obeyed(const AdmissionRequest& request) {
    struct Kept {
        const char* field;
        const char* what_is_not_done;
    };
    static constexpr Kept kept[] = {
        {"concurrentAdmissionPolicy",
         "each workload is tried as one in the flavors' order, not in several flavors at once, and "
         "does not move to another flavor once it is admitted"},
        {"quotaManagement", "the quota is what is written in spec.resourceGroups"},
    };
    Admission admission;
    if (request.operation == AdmissionRequest::Operation::remove) return admission;
    if (request.kind->resource() == workloads) warn_of_old_forms(request.object, admission);
    if (!request.subresource.empty() || request.kind->resource() != cluster_queues)
        return admission;
    for (const Kept& each : kept) {
        const Value& value = request.object["spec"][each.field];
        if (value.is_null() || value == request.old["spec"][each.field]) continue;
        admission.warnings.push_back(
            std::string("spec.") + each.field +
            " is kept, but this version of Muster does not obey it: " + each.what_is_not_done);
    }
    return admission;
}

std::vector<api::AdmissionHook> admission_hooks(const JobRules& rules, Controllers controllers) {
    const auto concerns = [rules](const AdmissionRequest& request) {
        const JobKind* kind = job_kind_of(request);
        return kind != nullptr && manages(rules, *kind) &&
               manages_namespace(rules, namespace_of(request.object), request.find);
    };
    std::vector<api::AdmissionHook> hooks;
    const auto add_with_rules = [&](Admission (*hook)(const AdmissionRequest&, const JobRules&)) {
        hooks.push_back([concerns, rules, hook](const AdmissionRequest& request) {
            return concerns(request) ? hook(request, rules) : Admission{};
        });
    };
    const auto add = [&](Admission (*hook)(const AdmissionRequest&)) {
        hooks.push_back([concerns, hook](const AdmissionRequest& request) {
            return concerns(request) ? hook(request) : Admission{};
        });
    };
    add_with_rules(give_default_queue);
    add(suspend_new_job);
    add(gate_elastic_job);
    add_with_rules(mark_pod_templates);
    add_with_rules(gate_new_pod);
    add_with_rules(check_new_job);
    add_with_rules(check_changed_job);
    add(warn_of_managed_label);
    add_with_rules(suspend_unlabelled_job);
    if (controllers == Controllers::run) hooks.emplace_back(hold_new_queue);
    hooks.emplace_back(warn_of_what_is_not_obeyed);
    return hooks;
}

}  // namespace muster::control::queue
