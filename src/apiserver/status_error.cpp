// apiserver/status_error.cpp - the words of every refusal, and the Status made from it.
#include "apiserver/status_error.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace muster::apiserver {
namespace {

using api::Value;

Value details_of(const api::GroupResource& resource, std::string_view name) {
    Value details = Value::object();
    if (!name.empty()) details.set("name", name);
    if (!resource.group.empty()) details.set("group", resource.group);
    details.set("kind", resource.plural);
    return details;
}

/// So many of the errors are told, each in the message and as a cause. A body of three megabytes
/// may have hundreds of thousands.
std::size_t told_of(const std::vector<api::FieldError>& errors) {
    constexpr std::size_t errors_max = 100, bytes_max = 256 << 10;
    std::size_t told = 0, bytes = 0;
    while (told < errors.size() && told < errors_max && bytes < bytes_max) {
        bytes += errors[told].field.size() + errors[told].text.size();
        ++told;
    }
    return told;
}

Value causes_of(const std::vector<api::FieldError>& errors, std::size_t told) {
    Value causes = Value::array();
    for (std::size_t i = 0; i < told; ++i) {
        const api::FieldError& error = errors[i];
        Value cause = Value::object({{"reason", error.reason}, {"message", error.text}});
        if (!error.field.empty()) cause.set("field", error.field);
        causes.push(std::move(cause));
    }
    return causes;
}

std::string quoted(const std::string& what, std::string_view name) {
    return name.empty() ? what : what + " \"" + std::string(name) + "\"";
}

StatusError invalid_of(const std::string& group, const std::string& kind, std::string_view name,
                       const std::vector<api::FieldError>& errors) {
    Value details = Value::object();
    if (!name.empty()) details.set("name", name);
    if (!group.empty()) details.set("group", group);
    if (!kind.empty()) details.set("kind", kind);
    const std::size_t told = told_of(errors);
    details.set("causes", causes_of(errors, told));
    std::string text;
    for (std::size_t i = 0; i < told; ++i) {
        if (!text.empty()) text += ", ";
        if (!errors[i].field.empty()) text += errors[i].field + ": ";
        text += errors[i].text;
    }
    if (told < errors.size()) text += ", and " + std::to_string(errors.size() - told) + " more";
    if (errors.size() > 1) text = "[" + text + "]";
    const std::string what = group.empty() ? kind : kind + "." + group;
    return {Reason::invalid, what + " \"" + std::string(name) + "\" is invalid: " + text,
            std::move(details)};
}

}  // namespace

StatusError StatusError::of(Value status) {
    StatusError error(Reason::internal_error, status["message"].text());
    const std::int64_t code = status["code"].integer_or(0);
    constexpr std::int64_t least = 400, most = 599;
    error.code_ =
        code < least || code > most ? reason_code(Reason::internal_error) : static_cast<int>(code);
    error.details_ = status["details"];
    error.whole_ = std::move(status);
    return error;
}

Value status_of(const StatusError& error) {
    if (!error.whole().is_null()) return error.whole();
    Value status = Value::object({{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", Value::object()},
                                  {"status", "Failure"},
                                  {"message", error.what()}});
    if (error.reason() != Reason::unnamed) status.set("reason", reason_word(error.reason()));
    if (!error.details().is_null()) status.set("details", error.details());
    status.set("code", error.code());
    return status;
}

Value success_status(const Value& details) {
    Value status = Value::object({{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", Value::object()},
                                  {"status", "Success"}});
    if (!details.is_null()) status.set("details", details);
    return status;
}

std::string resource_text(const api::GroupResource& resource) {
    return resource.group.empty() ? resource.plural.text() : resource.plural + "." + resource.group;
}

StatusError not_found(const api::GroupResource& resource, std::string_view name) {
    return {Reason::not_found, quoted(resource_text(resource), name) + " not found",
            details_of(resource, name)};
}

StatusError already_exists(const api::GroupResource& resource, std::string_view name) {
    return {Reason::already_exists, quoted(resource_text(resource), name) + " already exists",
            details_of(resource, name)};
}

StatusError still_being_deleted(const api::GroupResource& resource, std::string_view name) {
    const StatusError there = already_exists(resource, name);
    return {there.reason(), std::string("object is being deleted: ") + there.what(),
            there.details()};
}

StatusError conflict(const api::GroupResource& resource, std::string_view name,
                     const std::string& why) {
    return {
        Reason::conflict,
        "Operation cannot be fulfilled on " + quoted(resource_text(resource), name) + ": " + why,
        details_of(resource, name)};
}

StatusError modified(const api::GroupResource& resource, std::string_view name) {
    return conflict(resource, name,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
}

StatusError forbidden(const api::GroupResource& resource, std::string_view name,
                      const std::string& why, std::vector<api::FieldError> causes) {
    Value details = details_of(resource, name);
    if (!causes.empty()) details.set("causes", causes_of(causes, told_of(causes)));
    return {Reason::forbidden, quoted(resource_text(resource), name) + " is forbidden: " + why,
            std::move(details)};
}

StatusError invalid(const api::Kind& kind, std::string_view name,
                    const std::vector<api::FieldError>& errors) {
    return invalid_of(kind.group, kind.kind, name, errors);
}

StatusError invalid(const api::GroupResource& resource, std::string_view name,
                    const std::vector<api::FieldError>& errors) {
    return invalid_of(resource.group, resource.plural, name, errors);
}

StatusError invalid_options(std::string_view kind, const std::vector<api::FieldError>& errors) {
    return invalid_of("meta.k8s.io", std::string(kind), "", errors);
}

StatusError bad_request(const std::string& message) {
    return {Reason::bad_request, message};
}

StatusError invalid_type(std::string_view api_version, std::string_view kind) {
    const bool of_core = api_version.find('/') == std::string_view::npos;
    return bad_request("invalid object type: " + std::string(of_core ? "/" : "") +
                       std::string(api_version) + ", Kind=" + std::string(kind));
}

Value patch_details(const std::string& why, const char* field) {
    const Value cause =
        Value::object({{"reason", "FieldValueInvalid"}, {"message", why}, {"field", field}});
    return Value::object({{"causes", Value::array({cause})}});
}

StatusError unauthorized() {
    return {Reason::unauthorized, "Unauthorized"};
}

StatusError no_such_resource() {
    return {Reason::not_found, "the server could not find the requested resource", Value::object()};
}

StatusError page_not_found() {
    StatusError error = no_such_resource();
    error.page_ = true;
    return error;
}

StatusError method_not_allowed() {
    return {Reason::method_not_allowed,
            "the server does not allow this method on the requested resource", Value::object()};
}

StatusError method_not_allowed(const api::GroupResource& resource, std::string_view method,
                               std::string_view verb) {
    constexpr std::string_view known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    const bool is_verb = std::find(std::begin(known), std::end(known), method) != std::end(known);
    return {Reason::method_not_allowed,
            (is_verb ? std::string(verb) : "") + " is not supported on resources of kind \"" +
                resource_text(resource) + "\"",
            details_of(resource, "")};
}

StatusError expired(const std::string& message) {
    return {Reason::expired, message};
}

StatusError unavailable(const std::string& message) {
    return {Reason::service_unavailable, message};
}

api::FieldError invalid_value(std::string field, std::string_view shown, std::string_view why) {
    return {"FieldValueInvalid", std::move(field),
            "Invalid value: \"" + std::string(shown) + "\": " + std::string(why)};
}

api::FieldError required_value(std::string field, std::string_view why) {
    return {"FieldValueRequired", std::move(field),
            why.empty() ? "Required value" : "Required value: " + std::string(why)};
}

api::FieldError forbidden_value(std::string field, std::string_view why) {
    return {"FieldValueForbidden", std::move(field), "Forbidden: " + std::string(why)};
}

}  // namespace muster::apiserver
