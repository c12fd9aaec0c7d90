// apiserver/status_error.h - why a request is refused, worded and shaped as Kubernetes' Status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/schema.h"
#include "api/value.h"
#include "base/error.h"

namespace muster::apiserver {

/// A refusal on its way to the client. `details` is the Status' details object, null when there is
/// none.
class StatusError : public Error {
public:
    StatusError(Reason reason, const std::string& message, api::Value details = {})
        : Error(reason, message), code_(reason_code(reason)), details_(std::move(details)) {}
    /// A whole Status, as somebody else made it.
    static StatusError of(api::Value status);
    int code() const { return code_; }
    const api::Value& details() const { return details_; }
    /// Answers with another HTTP code than the reason's usual one.
    StatusError& with_code(int code) {
        code_ = code;
        return *this;
    }
    /// Null unless it was made of it.
    const api::Value& whole() const { return whole_; }
    /// The answer is a page for people, not a Status: nobody knows what the path should be.
    bool is_page() const { return page_; }

private:
    int code_;
    api::Value details_;
    api::Value whole_;
    bool page_ = false;
    friend StatusError page_not_found();
};

/// The Status object that a client sees.
api::Value status_of(const StatusError& error);
api::Value success_status(const api::Value& details);

/// "pods", "jobs.batch": how messages name a resource.
std::string resource_text(const api::GroupResource& resource);

StatusError not_found(const api::GroupResource& resource, std::string_view name);
StatusError already_exists(const api::GroupResource& resource, std::string_view name);
/// Of one that is there only until its finalizers are gone.
StatusError still_being_deleted(const api::GroupResource& resource, std::string_view name);
StatusError conflict(const api::GroupResource& resource, std::string_view name,
                     const std::string& why);
/// The conflict of an outdated resourceVersion.
StatusError modified(const api::GroupResource& resource, std::string_view name);
StatusError forbidden(const api::GroupResource& resource, std::string_view name,
                      const std::string& why, std::vector<api::FieldError> causes = {});
StatusError invalid(const api::Kind& kind, std::string_view name,
                    const std::vector<api::FieldError>& errors);
/// The same, named by the resource.
StatusError invalid(const api::GroupResource& resource, std::string_view name,
                    const std::vector<api::FieldError>& errors);
/// Options beside the object ("ListOptions") that are wrong.
StatusError invalid_options(std::string_view kind, const std::vector<api::FieldError>& errors);
StatusError bad_request(const std::string& message);
/// What is applied is of no type that can be applied here.
StatusError invalid_type(std::string_view api_version, std::string_view kind);
/// The details of a patch that makes what cannot be read, or something else.
api::Value patch_details(const std::string& why, const char* field = "patch");
StatusError unauthorized();
StatusError no_such_resource();
StatusError page_not_found();
StatusError method_not_allowed();
/// Of a custom kind, whose handler names it, and the verb where the method is one.
StatusError method_not_allowed(const api::GroupResource& resource, std::string_view method,
                               std::string_view verb);
StatusError expired(const std::string& message);
StatusError unavailable(const std::string& message);

/// A FieldError worded as the API server does: `spec.foo: Invalid value: "x": must be ...`.
api::FieldError invalid_value(std::string field, std::string_view shown, std::string_view why);
api::FieldError required_value(std::string field, std::string_view why);
api::FieldError forbidden_value(std::string field, std::string_view why);

}  // namespace muster::apiserver
