// control/queue/hooks.cpp - admission of jobs.
#include "control/queue/hooks.h"

#include <optional>
#include <string>
#include <utility>

#include "api/field_error.h"
#include "base/dns_name.h"
#include "control/queue/integration.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Admission;
using api::AdmissionRequest;
using api::Value;

const JobKind* job_kind_of(const AdmissionRequest& request) {
    if (!request.subresource.empty()) return nullptr;
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

Admission denied(const std::vector<api::FieldError>& errors) {
    Admission admission;
    if (errors.empty()) return admission;
    Admission::Denial denial;
    for (const api::FieldError& error : errors) {
        if (!denial.text.empty()) denial.text += ", ";
        denial.text += error.field + ": " + error.text;
    }
    denial.causes = errors;
    admission.denied = std::move(denial);
    return admission;
}

/// The error when a label is not what it was.
void keep_label(const AdmissionRequest& request, std::string_view label,
                std::vector<api::FieldError>& errors) {
    const Value& before = request.old["metadata"]["labels"][label];
    const Value& after = request.object["metadata"]["labels"][label];
    if (before.text_or("") == after.text_or("")) return;
    const api::Path root;
    const api::Path metadata = root.child("metadata");
    const api::Path labels = metadata.child("labels");
    errors.push_back(api::invalid(labels.key(label), Value(after.text_or("")),
                                  "field is immutable while the job is not suspended"));
}

}  // namespace

Admission give_default_queue(const AdmissionRequest& request) {
    Admission admission;
    if (request.operation != AdmissionRequest::Operation::create) return admission;
    if (job_kind_of(request) == nullptr || !queue_name_of(request.object).empty()) return admission;
    if (!request.object["metadata"]["ownerReferences"].empty()) return admission;
    const auto queue = default_queue_in(request, namespace_of(request.object));
    if (!queue) return admission;
    admission.changed = request.object;
    at_path(*admission.changed, "metadata.labels").set(queue_name_label, *queue);
    return admission;
}

Admission suspend_new_job(const AdmissionRequest& request) {
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::create) return {};
    if (!is_managed(request.object, namespace_of(request.object), request.find)) return {};
    std::vector<api::FieldError> errors;
    for (const std::string& fault : dns1123_subdomain_faults(queue_name_of(request.object))) {
        const api::Path root;
        const api::Path metadata = root.child("metadata");
        const api::Path labels = metadata.child("labels");
        errors.push_back(api::invalid(labels.key(queue_name_label),
                                      Value(queue_name_of(request.object)), fault));
    }
    if (kind->check != nullptr) {
        for (api::FieldError& error : kind->check(request.object))
            errors.push_back(std::move(error));
    }
    Admission admission = denied(errors);
    if (admission.denied || kind->suspend.empty() || is_suspended(*kind, request.object))
        return admission;
    admission.changed = request.object;
    at_path(*admission.changed, kind->suspend) = true;
    return admission;
}

Admission keep_running_job(const AdmissionRequest& request) {
    const JobKind* kind = job_kind_of(request);
    if (kind == nullptr || request.operation != AdmissionRequest::Operation::update) return {};
    std::vector<api::FieldError> errors;
    if (!is_suspended(*kind, request.object)) {
        for (const std::string_view label :
             {queue_name_label, priority_class_label, max_time_label})
            keep_label(request, label, errors);
    }
    return denied(errors);
}

std::vector<api::AdmissionHook> admission_hooks() {
    return {give_default_queue, suspend_new_job, keep_running_job};
}

}  // namespace muster::control::queue
