// control/appwrapper/hooks.cpp - admission of AppWrappers.
#include "control/appwrapper/hooks.h"

#include <string>
#include <utility>

#include "api/denial.h"
#include "api/field_error.h"
#include "api/guest_kinds.h"
#include "base/text.h"
#include "control/appwrapper/wrapped.h"
#include "control/queue/names.h"

namespace muster::control::appwrapper {
namespace {

using api::Admission;
using api::AdmissionRequest;
using api::Value;

constexpr const char* webhook = "vappwrapper.kb.io";

/// Written by somebody now, and not what was there before.
bool is_new_spec(const AdmissionRequest& request) {
    if (!queue::is_app_wrapper(request.kind->resource()) || !request.subresource.empty())
        return false;
    if (request.operation == AdmissionRequest::Operation::create) return true;
    return request.operation == AdmissionRequest::Operation::update &&
           !(request.object["spec"]["resources"] == request.old["spec"]["resources"]);
}

const api::Kind* kind_of(const Value& wrapped) {
    const auto group_version = api::parse_group_version(wrapped["apiVersion"].text_or(""));
    return api::find_known_kind_named(group_version.group, wrapped["kind"].text_or(""));
}

/// The server itself gives a new Job its selector and the labels that go with it.
bool is_filled_by_server(const api::Kind& kind, const api::FieldError& error) {
    return kind.group == "batch" && kind.plural == "jobs" &&
           (error.field.starts_with("spec.selector") ||
            error.field.starts_with("spec.template.metadata.labels"));
}

/// Errors of the wrapped object as if it were created by itself, under the path of the template.
void check_by_schema(const api::Kind& kind, const api::Version& version, Value wrapped,
                     const std::string& ns, const api::Path& path,
                     std::vector<api::FieldError>& errors) {
    if (kind.namespaced) wrapped.at("metadata").set("namespace", ns);
    api::apply_defaults(*version.schema, wrapped);
    if (kind.defaulting != nullptr) kind.defaulting(wrapped);
    std::vector<api::FieldError> found = api::validate(*version.schema, wrapped);
    if (found.empty() && kind.validate != nullptr) found = kind.validate(wrapped, nullptr);
    for (api::FieldError& error : found) {
        if (is_filled_by_server(kind, error)) continue;
        error.field = path.text() + "." + error.field;
        errors.push_back(std::move(error));
    }
}

bool is_guest(const api::Kind& kind) {
    return api::find_kind(kind.group, kind.plural) == nullptr;
}

/// A guest is served when somebody has brought its definition.
bool is_served(const AdmissionRequest& request, const api::Kind& kind) {
    if (!is_guest(kind) || !request.find) return true;
    const api::GroupResource definitions{"apiextensions.k8s.io", "customresourcedefinitions"};
    return !request.find({definitions, "", kind.plural + "." + kind.group}).is_null();
}

void check_template(const AdmissionRequest& request, const Value& wrapped, const api::Path& path,
                    std::vector<api::FieldError>& errors) {
    if (!wrapped.is_object()) return;  // The kind's own validation has said so.
    const std::string ns = request.object["metadata"]["namespace"].text();
    const api::Kind* kind = kind_of(wrapped);
    if (kind != nullptr && !is_served(request, *kind)) kind = nullptr;
    const std::string api_version = wrapped["apiVersion"].text();
    const api::Version* version =
        kind != nullptr ? kind->find_version(api::parse_group_version(api_version).version)
                        : nullptr;
    if (version == nullptr) {
        errors.push_back(api::invalid(path.child("kind"), wrapped["kind"],
                                      "no matches for kind " + quoted(wrapped["kind"].text_or("")) +
                                          " in version " + quoted(api_version)));
        return;
    }
    if (queue::is_app_wrapper(kind->resource())) {
        errors.push_back(
            api::forbidden(path.child("kind"), "an AppWrapper must not wrap an AppWrapper"));
        return;
    }
    if (gives_rights(*kind)) {
        errors.push_back(api::forbidden(path.child("kind"), gives_rights_fault));
        return;
    }
    const api::Path metadata = path.child("metadata");
    if (!kind->namespaced) {
        errors.push_back(api::forbidden(path.child("kind"), kind->kind +
                                                                " belongs to no namespace; an "
                                                                "AppWrapper wraps what belongs to "
                                                                "its own"));
        return;
    }
    const Value& other = wrapped["metadata"]["namespace"];
    if (!other.text_or("").empty() && other.text_or("") != ns) {
        errors.push_back(api::invalid(metadata.child("namespace"), other,
                                      "must be the namespace of the AppWrapper, " + quoted(ns)));
    }
    if (wrapped["metadata"]["name"].text_or("").empty()) {
        errors.push_back(api::required(metadata.child("name"), "a wrapped object needs a name"));
    }
    if (!is_guest(*kind)) check_by_schema(*kind, *version, wrapped, ns, path, errors);
}

}  // namespace

Admission check_templates(const AdmissionRequest& request) {
    Admission admission;
    if (!is_new_spec(request)) return admission;
    const Value& items = request.object["spec"]["resources"]["GenericItems"];
    const api::Path root;
    const api::Path spec = root.child("spec");
    const api::Path resources = spec.child("resources");
    const api::Path list = resources.child("GenericItems");
    std::vector<api::FieldError> errors;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const api::Path item = list.item(i);
        check_template(request, items[i]["generictemplate"], item.child("generictemplate"), errors);
    }
    if (errors.empty()) return admission;
    admission.denied = api::denial_by(webhook, std::move(errors));
    return admission;
}

/// What is made is not made anew when its template changes, and what it counts for stays.
Admission check_change(const AdmissionRequest& request) {
    Admission admission;
    if (request.operation != AdmissionRequest::Operation::update || !is_new_spec(request))
        return admission;
    if (!request.old["status"]["canrun"].boolean_or(false)) return admission;
    admission.denied = Admission::Denial{
        Reason::forbidden,
        "spec.resources: the AppWrapper has been dispatched and its objects are made; delete it "
        "and create it again with the changed resources",
        {},
        webhook};
    return admission;
}

Admission warn_of_replicas(const AdmissionRequest& request) {
    Admission admission;
    if (!is_new_spec(request)) return admission;
    const Value& items = request.object["spec"]["resources"]["GenericItems"];
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i]["replicas"].integer_or(1) == 1) continue;
        admission.warnings.push_back(
            "spec.resources.GenericItems[" + std::to_string(i) +
            "].replicas is not used: its template is made once; say inside "
            "the template how many pods there are");
    }
    return admission;
}

Admission check_rights(const AdmissionRequest& request) {
    Admission admission;
    if (!is_new_spec(request) || !request.allowed) return admission;
    const std::string ns = request.object["metadata"]["namespace"].text();
    const Value& items = request.object["spec"]["resources"]["GenericItems"];
    for (std::size_t i = 0; i < items.size(); ++i) {
        const api::Kind* kind = kind_of(items[i]["generictemplate"]);
        if (kind == nullptr || request.allowed("create", kind->resource(), ns)) continue;
        admission.denied = Admission::Denial{
            Reason::forbidden,
            "spec.resources.GenericItems[" + std::to_string(i) + "]: user " + quoted(request.user) +
                " cannot create resource " + quoted(kind->plural) + " in API group " +
                quoted(kind->group) + " in the namespace " + quoted(ns) +
                "; whoever creates an AppWrapper needs the right to create what it wraps",
            {},
            webhook};
        return admission;
    }
    return admission;
}

std::vector<api::AdmissionHook> admission_hooks() {
    return {check_templates, check_rights, check_change, warn_of_replicas};
}

}  // namespace muster::control::appwrapper
