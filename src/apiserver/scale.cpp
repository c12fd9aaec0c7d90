// apiserver/scale.cpp - the scale subresource: autoscaling/v1 Scale over fields of another kind.
#include "apiserver/scale.h"

#include <string>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/patch.h"
#include "api/scale_faults.h"
#include "api/scale_owners.h"
#include "api/schema.h"
#include "apiserver/answer.h"
#include "apiserver/commit.h"
#include "apiserver/conversions.h"
#include "apiserver/decode.h"
#include "apiserver/metadata.h"
#include "apiserver/patch_verb.h"
#include "apiserver/selector.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "apiserver/subresources.h"
#include "apiserver/write.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

std::string_view without_dot(std::string_view path) {
    return path.starts_with('.') ? path.substr(1) : path;
}

/// What kube-apiserver says of its own failures goes out as it is, without a reason.
StatusError unreadable(const std::string& why) {
    return {Reason::unnamed, why};
}

/// On the way there are objects or nothing.
void set_path(Value& object, std::string_view path, Value value) {
    Value* here = &object;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos;
         dot = path.find('.', dot + 1)) {
        const std::string_view way = path.substr(0, dot);
        const std::string_view name = way.substr(way.rfind('.') + 1);
        if (!here->has(name)) here->set(name, Value::object());
        here = here->find(name);
        if (!here->is_object()) {
            throw unreadable("value cannot be set because ." + std::string(way) +
                             " is not a map[string]interface{}");
        }
    }
    here->set(path.substr(path.rfind('.') + 1), std::move(value));
}

/// Of what users bring nobody has checked what stood there before the kind could be scaled.
void check_readable(const api::Kind& kind, const Value& served) {
    if (kind.stored_schema == nullptr) return;
    const std::string why = api::unreadable_scale(kind, served);
    if (!why.empty()) throw unreadable(why);
}

const api::Schema& scale_schema() {
    return *api::find_schema("autoscaling/v1", "Scale");
}

/// A number that is none, or that nobody could run, is told before it is taken for nought.
void check_scale_types(const Value& wanted) {
    for (const api::FieldError& error : api::validate(scale_schema(), wanted)) {
        throw StatusError(Reason::invalid,
                          " \"\" is invalid: patch: " + error.field + ": " + error.text,
                          patch_details(error.field + ": " + error.text));
    }
}

/// Who reads how many there are is not told nought where nothing is said.
void check_counted(const api::Kind& kind, const Value& served) {
    if (kind.stored_schema == nullptr) return;
    if (!served.path(without_dot(kind.scale_spec_path)).is_null()) return;
    const std::string why =
        "the spec replicas field " + quoted(kind.scale_spec_path) + " does not exist";
    throw StatusError(
        Reason::internal_error, "Internal error occurred: " + why,
        Value::object({{"causes", Value::array({Value::object({{"message", why}})})}}));
}

Value applied_scale(Context& context, Exchange& exchange, const Value& present) {
    const Value applied = decode_yaml(*exchange.request.body).value;
    if (!applied.is_object()) throw bad_request("what is applied must be an object");
    if (!applied["metadata"]["managedFields"].empty())
        throw bad_request("metadata.managedFields must be nil");
    const std::string version = applied["apiVersion"].text();
    if (version != "autoscaling/v1" || applied["kind"].text_or("") != "Scale")
        throw invalid_type(version, applied["kind"].text());
    api::ApplyRequest request = apply_request(context, exchange);
    request.api_version = version;
    Value wanted = applied_over(scale_schema(), present, applied, request);
    check_scale_types(wanted);
    return wanted;
}

Value patched_scale(Exchange& exchange, BodyType type, const Value& present) {
    const PatchBody patch = read_patch(exchange, type);
    api::Patched result = type == BodyType::json_patch ? api::json_patch(present, patch.value)
                                                       : api::merge_patch(present, patch.value);
    if (const auto* problem = std::get_if<api::PatchError>(&result)) {
        throw bad_request(problem->text);
    }
    Value wanted = std::move(std::get<Value>(result));
    api::prune(scale_schema(), wanted);
    check_scale_types(wanted);
    return wanted;
}

/// The Scale that a PUT or PATCH asks for, with whose it is.
Value wanted_scale(Context& context, Exchange& exchange, const Value& present) {
    const bool whole = exchange.route.verb == "update";
    const BodyType type = whole ? BodyType::json : patch_type(exchange);
    if (type == BodyType::apply_patch) return applied_scale(context, exchange, present);
    Value wanted = whole ? typed_body(exchange, "autoscaling/v1", "Scale")
                         : patched_scale(exchange, type, present);
    api::canonicalize(scale_schema(), wanted);
    api::ApplyRequest request = apply_request(context, exchange);
    request.api_version = "autoscaling/v1";
    return api::track_update(scale_schema(), present, std::move(wanted), request);
}

void check_wanted(const Exchange& exchange, const Value& present, const Value& wanted) {
    const api::Kind& kind = *exchange.kind;
    const std::string& name = exchange.route.name;
    check_place(exchange, wanted);
    const std::string version = wanted["metadata"]["resourceVersion"].text();
    if (!version.empty() && version != present["metadata"]["resourceVersion"].text())
        throw modified(kind.resource(), name);
    const std::int64_t replicas = wanted["spec"]["replicas"].integer_or(0);
    if (replicas >= 0) return;
    api::FieldError error{
        "FieldValueInvalid", "spec.replicas",
        "Invalid value: " + std::to_string(replicas) + ": must be greater than or equal to 0"};
    throw invalid(api::GroupResource{"autoscaling", "Scale"}, name, {std::move(error)});
}

/// Changes a stored object as the request wants its Scale.
void scale_object(Context& context, Exchange& exchange, Value& object) {
    const api::Kind& kind = *exchange.kind;
    const api::Version& version = *exchange.version;
    api::ReplicasPlace place{kind.scale_spec_path, {}};
    for (const api::Version& each : kind.versions)
        place.versions.push_back(api::to_api_version({kind.group, each.name}));
    const Value owners = object["metadata"]["managedFields"];

    Value served = shown_in(context, exchange, kind, std::move(object), version.name);
    check_readable(kind, served);
    Value present = scale_of(kind, served);
    if (Value own = api::owners_of_scale(place, owners); !own.is_null())
        present.at("metadata").set("managedFields", std::move(own));
    const Value wanted = wanted_scale(context, exchange, present);
    check_wanted(exchange, present, wanted);
    set_scale(kind, served, wanted["spec"]["replicas"].integer_or(0));
    // What users bring is checked by its schema alone, and that is asked of whole objects.
    const bool brought = kind.stored_schema != nullptr;
    if (brought) {
        const auto errors = api::validate(*version.schema, served);
        if (!errors.empty()) throw invalid(kind, exchange.route.name, errors);
    }
    object = stored_form(context, exchange, kind, std::move(served));

    const std::string owned_in =
        brought ? api::to_api_version({kind.group, version.name}) : stored_api_version(kind);
    Value now =
        api::owners_with_scale(place, owners, wanted["metadata"]["managedFields"], owned_in);
    Value& metadata = object.at("metadata");
    if (now.is_null()) {
        metadata.erase("managedFields");
    } else {
        metadata.set("managedFields", std::move(now));
    }
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
    if (route.verb == "get") {
        const Newest newest = newest_of(context, kind, route.ns, route.name);
        if (newest.object.is_null()) throw not_found(kind.resource(), route.name);
        const Value served =
            shown_in(context, *exchange, kind, newest.object, exchange->version->name);
        check_readable(kind, served);
        check_counted(kind, served);
        send_value(*exchange, 200, scale_of(kind, served));
        return;
    }
    if (route.verb != "update" && route.verb != "patch") {
        throw kind.custom
            ? method_not_allowed(kind.resource(), exchange->request.method, route.verb)
            : method_not_allowed();
    }
    Edit edit;
    edit.subresource = "scale";
    edit.owned = Edit::Owned::already;
    edit.change = [&context, exchange](Value& object) { scale_object(context, *exchange, object); };
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
