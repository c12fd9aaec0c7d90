// base/error.cpp - the table of Status reasons.
#include "base/error.h"

#include "base/verify.h"

namespace muster {
namespace {

struct Row {
    Reason reason;
    const char* word;
    int code;
};

constexpr Row rows[] = {
    {Reason::unauthorized, "Unauthorized", 401},
    {Reason::forbidden, "Forbidden", 403},
    {Reason::not_found, "NotFound", 404},
    {Reason::already_exists, "AlreadyExists", 409},
    {Reason::conflict, "Conflict", 409},
    {Reason::gone, "Gone", 410},
    {Reason::expired, "Expired", 410},
    {Reason::invalid, "Invalid", 422},
    {Reason::bad_request, "BadRequest", 400},
    {Reason::method_not_allowed, "MethodNotAllowed", 405},
    {Reason::not_acceptable, "NotAcceptable", 406},
    {Reason::unsupported_media_type, "UnsupportedMediaType", 415},
    {Reason::request_entity_too_large, "RequestEntityTooLarge", 413},
    {Reason::too_many_requests, "TooManyRequests", 429},
    {Reason::timeout, "Timeout", 504},
    {Reason::server_timeout, "ServerTimeout", 500},
    {Reason::internal_error, "InternalError", 500},
    {Reason::service_unavailable, "ServiceUnavailable", 503},
    {Reason::unnamed, "", 500},
};

const Row& row_of(Reason reason) {
    for (const Row& row : rows) {
        if (row.reason == reason) return row;
    }
    broken_promise(__FILE__, __LINE__, "every reason has a row");
}

}  // namespace

const char* reason_word(Reason reason) {
    return row_of(reason).word;
}

int reason_code(Reason reason) {
    return row_of(reason).code;
}

}  // namespace muster
