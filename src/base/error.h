// base/error.h - the outside failed: one exception type whose reasons are those of a Kubernetes
// Status.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

/// The reasons of a Kubernetes Status, as clients branch on them.
enum class Reason {
    unauthorized,
    forbidden,
    not_found,
    already_exists,
    conflict,
    gone,     // Old name of `expired`, HTTP 410.
    expired,  // HTTP 410: a watch or continue token is too old.
    invalid,
    bad_request,
    method_not_allowed,
    not_acceptable,
    unsupported_media_type,
    request_entity_too_large,
    too_many_requests,
    timeout,
    server_timeout,
    internal_error,
    service_unavailable,
    unnamed,  // HTTP 500 without a word: what a server's part said goes out as it is.
};

/// The word in `Status.reason`, such as "NotFound".
const char* reason_word(Reason reason);

/// The HTTP status code that goes with a reason.
int reason_code(Reason reason);

/// Thrown when the outside failed: connection, disk, server, timeout. Caught in three places only:
/// the control runner, the request handler, main.
class Error : public std::runtime_error {
public:
    Error(Reason reason, const std::string& text) : std::runtime_error(text), reason_(reason) {}
    Reason reason() const { return reason_; }

private:
    Reason reason_;
};

}  // namespace muster
