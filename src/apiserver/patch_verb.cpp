// apiserver/patch_verb.cpp - PATCH by content type.
#include "apiserver/patch_verb.h"

#include <utility>
#include <variant>

#include "api/json.h"
#include "api/patch.h"
#include "apiserver/decode.h"
#include "apiserver/request_options.h"
#include "apiserver/status_error.h"
#include "apiserver/write.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::size_t most_operations = 10'000;

[[noreturn]] void refuse_patch_type(bool custom) {
    throw StatusError(
        Reason::unsupported_media_type,
        std::string("the body of the request was in an unknown format - accepted media types "
                    "include: application/json-patch+json, application/merge-patch+json, ") +
            (custom ? "application/apply-patch+yaml"
                    : "application/strategic-merge-patch+json, application/apply-patch+yaml"));
}

Value unwrap(api::Patched result) {
    if (const auto* problem = std::get_if<api::PatchError>(&result)) {
        throw StatusError(problem->invalid ? Reason::invalid : Reason::bad_request, problem->text);
    }
    return std::move(std::get<Value>(result));
}

[[noreturn]] void refuse_apply(const std::vector<api::ApplyConflict>& conflicts) {
    Value causes = Value::array();
    for (const api::ApplyConflict& conflict : conflicts) {
        causes.push(Value::object({{"reason", "FieldManagerConflict"},
                                   {"message", api::conflict_cause(conflict)},
                                   {"field", conflict.field}}));
    }
    throw StatusError(Reason::conflict, api::conflict_message(conflicts),
                      Value::object({{"causes", causes}}));
}

Value applied(Context& context, Exchange& exchange, const PatchBody& patch, const Value& before) {
    api::ApplyRequest request = apply_request(context, exchange);
    request.api_version = api::to_api_version({exchange.kind->group, exchange.version->name});
    if (request.subresource == "status") {
        request.kept_part = "spec";
    } else if (request.subresource.empty() && exchange.kind->has_status) {
        request.kept_part = "status";
    }
    return applied_over(*exchange.version->schema, before, patch.value, request);
}

}  // namespace

api::ApplyRequest apply_request(Context& context, const Exchange& exchange) {
    api::ApplyRequest request;
    request.manager = field_manager(exchange.request);
    request.subresource = exchange.route.subresource;
    request.time = to_rfc3339(context.loop.now());
    request.force = net::query_flag(exchange.request, "force");
    return request;
}

Value applied_over(const api::Schema& schema, const Value& before, const Value& patch,
                   const api::ApplyRequest& request) {
    auto result = api::server_side_apply(schema, before, patch, request);
    if (const auto* conflicts = std::get_if<std::vector<api::ApplyConflict>>(&result)) {
        refuse_apply(*conflicts);
    }
    if (const auto* problem = std::get_if<api::PatchError>(&result)) {
        throw StatusError(problem->untyped   ? Reason::unnamed
                          : problem->invalid ? Reason::invalid
                                             : Reason::bad_request,
                          problem->text);
    }
    return std::move(std::get<Value>(result));
}

BodyType patch_type(const Exchange& exchange) {
    const net::Request& request = exchange.request;
    const auto type = body_type(request);
    const bool custom = exchange.kind->custom;
    if (request.headers.get("Content-Type").empty() || !type || *type == BodyType::json ||
        *type == BodyType::yaml || *type == BodyType::protobuf ||
        (custom && *type == BodyType::strategic_patch)) {
        refuse_patch_type(custom);
    }
    if (request.body->size() > body_limit) {
        throw StatusError(Reason::request_entity_too_large,
                          "Request entity too large: limit is " + std::to_string(body_limit));
    }
    check_write_options(exchange);
    return *type;
}

PatchBody read_patch(Exchange& exchange, BodyType type) {
    const net::Request& request = exchange.request;
    PatchBody patch;
    patch.type = type;
    if (patch.type == BodyType::apply_patch) {
        Decoded decoded = decode_yaml(*request.body);
        if (!decoded.value["metadata"]["managedFields"].empty()) {
            throw bad_request("metadata.managedFields must be nil");
        }
        patch.value = typed_part(exchange, std::move(decoded));
        return patch;
    }
    auto parsed = api::parse_json(*request.body);
    if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
        throw bad_request("error decoding patch: " + problem->text);
    }
    patch.value = std::move(std::get<api::Parsed>(parsed).value);
    patch.duplicates = std::move(std::get<api::Parsed>(parsed).duplicates);
    const bool list = patch.type == BodyType::json_patch;
    // As Go reads it: no operations, no fields. A merge of it would be another object.
    if (patch.value.is_null() && patch.type != BodyType::merge_patch)
        patch.value = list ? Value::array() : Value::object();
    if (list ? !patch.value.is_array() : !patch.value.is_object()) {
        throw bad_request(std::string("error decoding patch: it must be a JSON ") +
                          (list ? "array of operations" : "object"));
    }
    if (list && patch.value.size() > most_operations) {
        throw StatusError(Reason::request_entity_too_large,
                          "The allowed maximum operations in a JSON patch is " +
                              std::to_string(most_operations) + ", got " +
                              std::to_string(patch.value.size()));
    }
    return patch;
}

Value patched(Context& context, Exchange& exchange, const PatchBody& patch, Value before) {
    switch (patch.type) {
        case BodyType::merge_patch:
            return unwrap(api::merge_patch(std::move(before), patch.value));
        case BodyType::json_patch:
            return unwrap(api::json_patch(std::move(before), patch.value));
        case BodyType::strategic_patch:
            return unwrap(api::strategic_merge_patch(*exchange.version->schema, std::move(before),
                                                     patch.value));
        default:
            return applied(context, exchange, patch, before);
    }
}

}  // namespace muster::apiserver
