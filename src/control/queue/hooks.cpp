// control/queue/hooks.cpp - admission of jobs.
#include "control/queue/hooks.h"

#include <optional>
#include <string>
#include <utility>

#include "api/denial.h"
#include "control/queue/integration.h"
#include "control/queue/job_rules.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_hooks.h"
#include "control/queue/slices.h"

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

bool starts_when_unsuspended(const JobKind& kind) {
    return kind.start == JobKind::Start::unsuspended;
}

}  // namespace

Admission give_default_queue(const AdmissionRequest& request, const JobRules& rules) {
    Admission admission;
    if (request.operation != AdmissionRequest::Operation::create) return admission;
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || !queue_name_of(request.object).empty()) return admission;
    if (!takes_part_unlabelled(rules, *kind) || is_made_by_job(request.object)) return admission;
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
    if (!starts_when_unsuspended(*kind) || is_suspended(*kind, request.object)) return admission;
    const Above above = find_above(request.object, namespace_of(request.object), request.find);
    if (above.end == Above::End::too_deep) return denied_as_too_deep(*kind);
    if (queue_name_of(request.object).empty() || !above.managed.name.empty()) return admission;
    admission.changed = request.object;
    at_path(*admission.changed, kind->suspend) = true;
    return admission;
}

Admission check_new_job(const AdmissionRequest& request) {
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::create) return {};
    FieldErrors errors;
    if (kind->start == JobKind::Start::by_pods) return denied(*kind, kind->check(request.object));
    check_labels(*kind, request.object, errors);
    check_gates(nullptr, request.object, errors);
    if (kind->check != nullptr) {
        for (api::FieldError& error : kind->check(request.object))
            errors.push_back(std::move(error));
    }
    check_pod_sets(*kind, request.object, errors);
    return denied(*kind, std::move(errors));
}

Admission check_changed_job(const AdmissionRequest& request) {
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::update) return {};
    if (kind->start == JobKind::Start::by_pods)
        return denied(*kind, kind->check_change(request.old, request.object));
    const bool has_default =
        !request.find({local_queues, namespace_of(request.object), "default"}).is_null();
    FieldErrors errors;
    check_labels(*kind, request.object, errors);
    check_label_changes(*kind, request.old, request.object,
                        has_default ? DefaultQueue::exists : DefaultQueue::none, errors);
    check_gates(&request.old, request.object, errors);
    FieldErrors more;
    if (kind->check_change != nullptr) {
        more = kind->check_change(request.old, request.object);
    } else if (kind->check != nullptr) {
        more = kind->check(request.object);
    }
    for (api::FieldError& error : more)
        errors.push_back(std::move(error));
    check_pod_sets(*kind, request.object, errors);
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
    if (request.operation == AdmissionRequest::Operation::remove || !request.subresource.empty() ||
        request.kind->resource() != cluster_queues) {
        return admission;
    }
    for (const Kept& each : kept) {
        const Value& value = request.object["spec"][each.field];
        if (value.is_null() || value == request.old["spec"][each.field]) continue;
        admission.warnings.push_back(
            std::string("spec.") + each.field +
            " is kept, but this version of Muster does not obey it: " + each.what_is_not_done);
    }
    return admission;
}

std::vector<api::AdmissionHook> admission_hooks(const JobRules& rules) {
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
    add(check_new_job);
    add(check_changed_job);
    add(warn_of_managed_label);
    add_with_rules(suspend_unlabelled_job);
    hooks.emplace_back(warn_of_what_is_not_obeyed);
    return hooks;
}

}  // namespace muster::control::queue
