// apiserver/scale.cpp - the scale subresource: autoscaling/v1 Scale over fields of another kind.
#include "apiserver/scale.h"

#include <string>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/patch.h"
#include "apiserver/answer.h"
#include "apiserver/commit.h"
#include "apiserver/conversions.h"
#include "apiserver/decode.h"
#include "apiserver/metadata.h"
#include "apiserver/patch_verb.h"
#include "apiserver/selector.h"
#include "apiserver/status_error.h"
#include "apiserver/subresources.h"
#include "apiserver/write.h"

namespace muster::apiserver {
namespace {

using api::Value;

std::string_view without_dot(std::string_view path) {
    return path.starts_with('.') ? path.substr(1) : path;
}

void set_path(Value& object, std::string_view path, Value value) {
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) {
        object.set(path, std::move(value));
        return;
    }
    set_path(object.at(path.substr(0, dot)), path.substr(dot + 1), std::move(value));
}

/// The Scale that a PUT or PATCH asks for.
Value wanted_scale(Exchange& exchange, const Value& present) {
    if (exchange.route.verb == "update") {
        return typed_body(exchange, "autoscaling/v1", "Scale");
    }
    const PatchBody patch = read_patch(exchange, patch_type(exchange));
    api::Patched result;
    if (patch.type == BodyType::json_patch) {
        result = api::json_patch(present, patch.value);
    } else if (patch.type == BodyType::apply_patch) {
        throw StatusError(Reason::unsupported_media_type,
                          "server-side apply of /scale is not served; use a merge patch");
    } else {
        result = api::merge_patch(present, patch.value);
    }
    if (const auto* problem = std::get_if<api::PatchError>(&result)) {
        throw bad_request(problem->text);
    }
    return std::move(std::get<Value>(result));
}

}  // namespace

Value scale_of(const api::Kind& kind, const Value& object) {
    Value metadata = Value::object();
    for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
        if (!object["metadata"][field].is_null()) metadata.set(field, object["metadata"][field]);
    }
    const std::int64_t replicas = object.path(without_dot(kind.scale_spec_path)).integer_or(0);
    Value spec = Value::object();
    if (replicas != 0) spec.set("replicas", replicas);
    Value status = Value::object(
        {{"replicas", object.path(without_dot(kind.scale_status_path)).integer_or(0)}});
    if (!kind.scale_selector_path.empty()) {
        const Value& selector = object.path(without_dot(kind.scale_selector_path));
        const std::string text =
            selector.is_string() ? selector.text() : LabelSelector::from_object(selector).text();
        if (!text.empty()) status.set("selector", text);
    }
    return Value::object({{"kind", "Scale"},
                          {"apiVersion", "autoscaling/v1"},
                          {"metadata", metadata},
                          {"spec", spec},
                          {"status", status}});
}

void set_scale(const api::Kind& kind, Value& object, std::int64_t replicas) {
    set_path(object, without_dot(kind.scale_spec_path), replicas);
}

void serve_scale(Context& context, const ExchangePtr& exchange) {
    const api::Kind& kind = *exchange->kind;
    const Route& route = exchange->route;
    const Newest newest = newest_of(context, kind, route.ns, route.name);
    if (newest.object.is_null()) throw not_found(kind.resource(), route.name);
    const Value present =
        scale_of(kind, shown_in(context, *exchange, kind, newest.object, exchange->version->name));
    if (route.verb == "get") {
        send_value(*exchange, 200, present);
        return;
    }
    if (route.verb != "update" && route.verb != "patch") throw method_not_allowed();
    const Value wanted = wanted_scale(*exchange, present);
    check_place(*exchange, wanted);
    const std::string version = wanted["metadata"]["resourceVersion"].text();
    if (!version.empty() && version != std::to_string(newest.revision)) {
        throw modified(kind.resource(), route.name);
    }
    const Value& replicas = wanted["spec"]["replicas"];
    if (!replicas.is_null() && !replicas.is_integer()) {
        throw bad_request("Scale: spec.replicas must be a whole number");
    }
    if (replicas.integer_or(0) < 0) {
        throw StatusError(Reason::invalid, "Scale.autoscaling \"" + route.name +
                                               "\" is invalid: spec.replicas: Invalid value: " +
                                               std::to_string(replicas.as_integer()) +
                                               ": must be greater than or equal to 0");
    }
    Edit edit;
    edit.subresource = "scale";
    edit.change = [&context, exchange, count = replicas.integer_or(0)](Value& object) {
        const api::Kind& its = *exchange->kind;
        const api::Version& served_in = *exchange->version;
        Value served = shown_in(context, *exchange, its, std::move(object), served_in.name);
        set_scale(its, served, count);
        // What users bring is checked by its schema alone, and that is asked of whole objects.
        if (its.stored_schema != nullptr) {
            const auto errors = api::validate(*served_in.schema, served);
            if (!errors.empty()) throw invalid(its, exchange->route.name, errors);
        }
        object = stored_form(context, *exchange, its, std::move(served));
    };
    edit.answer = [&context, exchange](const Committed& committed) {
        guarded(exchange, [&context, exchange, committed] {
            send_value(
                *exchange, 200,
                scale_of(*exchange->kind, shown_in(context, *exchange, *exchange->kind,
                                                   *committed.object, exchange->version->name)));
        });
    };
    edit_object(context, exchange, edit);
}

}  // namespace muster::apiserver
