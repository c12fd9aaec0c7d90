// apiserver/write.cpp - the way of a write: decode, admit, validate, record who wrote what, commit,
// answer.
#include "apiserver/write.h"

#include <optional>
#include <utility>
#include <variant>

#include "api/denial.h"
#include "api/json.h"
#include "api/patch.h"
#include "api/rules.h"
#include "apiserver/admit.h"
#include "apiserver/answer.h"
#include "apiserver/decode.h"
#include "apiserver/definitions.h"
#include "apiserver/metadata.h"
#include "apiserver/patch_verb.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Operation = api::AdmissionRequest::Operation;

constexpr int name_tries = 8;

/// Who owns the fields that a write changes.
enum class Tracking { record, already_done };

Value tracked(Context& context, const Exchange& exchange, const api::Kind& kind,
              std::string_view subresource, const Value& before, Value after) {
    api::ApplyRequest request;
    request.manager = field_manager(exchange.request);
    request.api_version = stored_api_version(kind);
    request.subresource = subresource;
    request.time = to_rfc3339(context.loop.now());
    const Value& given = after["metadata"]["managedFields"];
    const bool cleared = given.is_array() && (given.empty() || given[0].empty());
    if (cleared) {
        after.at("metadata").erase("managedFields");
    } else if (given.is_null() && !before["metadata"]["managedFields"].is_null()) {
        after.at("metadata").set("managedFields", before["metadata"]["managedFields"]);
    }
    return api::track_update(kind.storage_schema(), before, std::move(after), request);
}

/// The rules of the version that the client speaks, asked of the object in that version.
std::vector<api::FieldError> broken_rules(const api::Kind& kind, const api::Version& version,
                                          const Value& object, const Value& old) {
    if (!kind.custom) return {};
    if (version.name == kind.storage || kind.convert == nullptr) {
        return api::broken_rules(*version.schema, object, old.is_null() ? nullptr : &old);
    }
    const Value before = old.is_null() ? old : kind.convert(old, version.name);
    return api::broken_rules(*version.schema, kind.convert(object, version.name),
                             before.is_null() ? nullptr : &before);
}

/// As a cluster does it: first what the schema's rules say, then, when that is well, the webhooks,
/// of which one has `denied` already.
void check_valid(const Exchange& exchange, const api::Kind& kind, const Value& object,
                 const Value& old, const std::optional<api::Admission::Denial>& denied) {
    std::vector<api::FieldError> errors = validate_metadata(kind, object, old);
    for (api::FieldError& error : broken_rules(kind, *exchange.version, object, old))
        errors.push_back(std::move(error));
    if (kind.validate != nullptr && !kind.custom) {
        for (api::FieldError& error : kind.validate(object, old.is_null() ? nullptr : &old)) {
            errors.push_back(std::move(error));
        }
    }
    if (!errors.empty()) throw invalid(kind, object["metadata"]["name"].text_or(""), errors);
    if (denied) throw refused_by_webhook(*denied);
    if (const auto refused = api::denial_of_kind(kind, object, old))
        throw refused_by_webhook(*refused);
}

/// The parts of an object that its subresources guard.
void keep_guarded_parts(const api::Kind& kind, std::string_view subresource, const Value& old,
                        Value& object) {
    if (subresource == "status") {
        Value result = old;
        if (object["status"].is_null()) {
            result.erase("status");
        } else {
            result.set("status", object["status"]);
        }
        if (kind.custom) {
            result.at("metadata").set("managedFields", object["metadata"]["managedFields"]);
        } else {
            result.set("metadata", object["metadata"]);
            result.at("metadata").set("ownerReferences", old["metadata"]["ownerReferences"]);
        }
        for (const char* name : {"managedFields", "ownerReferences"}) {
            if (result["metadata"][name].is_null()) result.at("metadata").erase(name);
        }
        object = std::move(result);
        return;
    }
    if (!subresource.empty()) return;
    if (kind.has_status) {
        if (old["status"].is_null()) {
            object.erase("status");
        } else {
            object.set("status", old["status"]);
        }
    }
    if (kind.plural == "namespaces" && kind.group.empty() && old.has("spec")) {
        object.set("spec", old["spec"]);
    }
}

void answer_object(Context& context, const ExchangePtr& exchange, int code,
                   const Committed& committed) {
    guarded(exchange,
            [&] { send_object(context, *exchange, code, *committed.object, committed.bytes); });
}

/// The second half of every update: `object` is what the client wants, in stored form.
void finish_update(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                   std::string_view subresource, const Newest& newest, Value object,
                   Tracking tracking, std::function<void(const Committed&)> answer) {
    const Value& old = newest.object;
    carry_metadata(kind, old, newest.revision,
                   exchange->route.verb == "patch" ? Given::by_patch : Given::as_whole, object);
    keep_guarded_parts(kind, subresource, old, object);
    if (kind.defaulting != nullptr) kind.defaulting(object);
    // Before admission: what it adds belongs to nobody, so that no apply takes it away.
    if (tracking == Tracking::record) {
        object = tracked(context, *exchange, kind, subresource, old, std::move(object));
    }
    const auto denied =
        admit(context, *exchange, kind, Operation::update, subresource, object, old);
    check_valid(*exchange, kind, object, old, denied);
    count_generation(kind, old, object);
    if (exchange->is_dry_run() || same_but_version(old, object)) {
        Committed committed;
        const bool same = !exchange->is_dry_run();
        committed.object = std::make_shared<const Value>(same ? old : std::move(object));
        committed.bytes = same ? newest.bytes : nullptr;
        committed.revision = newest.revision;
        when_durable(context, newest.revision,
                     [committed, then = std::move(answer)] { then(committed); });
        return;
    }
    if (is_released(kind, object)) {
        Committed last;
        last.object = std::make_shared<const Value>(object);
        commit_remove(context, kind, object["metadata"]["namespace"].text_or(""),
                      object["metadata"]["name"].text_or(""), newest.revision,
                      [last, then = std::move(answer)](store::Revision) { then(last); });
        return;
    }
    commit_put(context, kind, std::move(object), newest.revision, std::move(answer));
}

/// The second half of a create: `object` is typed, in the version of the exchange.
void finish_create(Context& context, const ExchangePtr& exchange, Value object, Tracking tracking) {
    const api::Kind& kind = *exchange->kind;
    if (kind.namespaced && exchange->route.ns.empty()) {
        throw bad_request("an empty namespace may not be set during creation");
    }
    const std::string base = object["metadata"]["generateName"].text();
    const bool generated = object["metadata"]["name"].text_or("").empty() && !base.empty();
    fill_new_name(context, *exchange, object);
    const std::string& ns = exchange->route.ns;
    for (int tries = name_tries; generated && tries > 0; --tries) {
        const Newest taken = newest_of(context, kind, ns, object["metadata"]["name"].text_or(""));
        if (taken.object.is_null()) break;
        object.at("metadata").erase("name");
        fill_new_name(context, *exchange, object);
    }
    const std::string name = object["metadata"]["name"].text();
    if (kind.namespaced) check_namespace(context, *exchange, ns, name);
    check_not_ending(context, kind, name);
    object = to_stored(kind, std::move(object));
    if (kind.has_status && !keeps_first_status(kind)) object.erase("status");
    if (kind.defaulting != nullptr) kind.defaulting(object);
    // Before the server's own additions: they belong to nobody, so that no apply takes them away.
    if (tracking == Tracking::record) {
        object = tracked(context, *exchange, kind, "", {}, std::move(object));
    }
    fill_new_identity(context, kind, object);
    reset_status(kind, object);
    if (kind.defaulting != nullptr) kind.defaulting(object);  // Some need the uid.
    const auto denied = admit(context, *exchange, kind, Operation::create, "", object, {});
    check_valid(*exchange, kind, object, {}, denied);
    if (!newest_of(context, kind, ns, name).object.is_null()) {
        throw already_exists(kind.resource(), name);
    }
    if (exchange->is_dry_run()) {
        send_object(context, *exchange, 201, object, nullptr);
        return;
    }
    commit_put(context, kind, std::move(object), 0,
               [&context, exchange](const Committed& committed) {
                   answer_object(context, exchange, 201, committed);
               });
}

Newest present(Context& context, const Exchange& exchange) {
    const Route& route = exchange.route;
    Newest newest = newest_of(context, *exchange.kind, route.ns, route.name);
    if (newest.object.is_null()) throw not_found(exchange.kind->resource(), route.name);
    return newest;
}

void check_place(const Exchange& exchange, const Value& object) {
    const std::string name = object["metadata"]["name"].text();
    if (name != exchange.route.name) {
        throw bad_request("the name of the object (" + name +
                          ") does not match the name on the URL (" + exchange.route.name + ")");
    }
    const std::string ns = object["metadata"]["namespace"].text();
    if (!ns.empty() && ns != exchange.route.ns) {
        throw bad_request(
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
    }
}

}  // namespace

std::string field_manager(const net::Request& request) {
    std::string_view manager = request.query_value("fieldManager");
    if (manager.empty()) {
        manager = request.headers.get("User-Agent");
        manager = manager.substr(0, manager.find('/'));
    }
    return manager.empty() ? "unknown" : std::string(manager.substr(0, 128));
}

void serve_create(Context& context, const ExchangePtr& exchange) {
    Value object = typed_object(*exchange, decode_body(exchange->request));
    finish_create(context, exchange, std::move(object), Tracking::record);
}

void serve_update(Context& context, const ExchangePtr& exchange) {
    const api::Kind& kind = *exchange->kind;
    Value object = typed_object(*exchange, decode_body(exchange->request));
    check_place(*exchange, object);
    const Newest newest = present(context, *exchange);
    if (kind.custom && object["metadata"]["resourceVersion"].text_or("").empty()) {
        throw invalid(kind, exchange->route.name,
                      {{"FieldValueInvalid", "metadata.resourceVersion",
                        "Invalid value: 0: must be specified for an update"}});
    }
    finish_update(context, exchange, kind, exchange->route.subresource, newest,
                  to_stored(kind, std::move(object)), Tracking::record,
                  [&context, exchange](const Committed& committed) {
                      answer_object(context, exchange, 200, committed);
                  });
}

void serve_patch(Context& context, const ExchangePtr& exchange) {
    const api::Kind& kind = *exchange->kind;
    const Route& route = exchange->route;
    const BodyType type = patch_type(*exchange);
    const bool apply = type == BodyType::apply_patch;
    const Newest newest = newest_of(context, kind, route.ns, route.name);
    const bool creates = newest.object.is_null() && apply && route.subresource.empty();
    if (newest.object.is_null() && !creates) throw not_found(kind.resource(), route.name);
    const PatchBody patch = read_patch(*exchange, type);
    Value before = creates ? Value() : in_version(kind, newest.object, exchange->version->name);
    Decoded result;
    result.value = patched(context, *exchange, patch, std::move(before));
    result.duplicates = patch.duplicates;
    Value object = typed_object(*exchange, std::move(result));
    check_place(*exchange, object);
    const Tracking tracking = apply ? Tracking::already_done : Tracking::record;
    if (creates) {
        finish_create(context, exchange, std::move(object), tracking);
        return;
    }
    finish_update(context, exchange, kind, route.subresource, newest,
                  to_stored(kind, std::move(object)), tracking,
                  [&context, exchange](const Committed& committed) {
                      answer_object(context, exchange, 200, committed);
                  });
}

void edit_object(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                 std::string_view ns, std::string_view name, std::string_view subresource,
                 const std::function<void(Value& object)>& edit,
                 std::function<void(const Committed&)> answer) {
    const Newest newest = newest_of(context, kind, ns, name);
    if (newest.object.is_null()) throw not_found(kind.resource(), name);
    Value object = newest.object;
    edit(object);
    finish_update(context, exchange, kind, subresource, newest, std::move(object), Tracking::record,
                  std::move(answer));
}

}  // namespace muster::apiserver
