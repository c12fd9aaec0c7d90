// apiserver/write.cpp - the way of a write: decode, admit, validate, record who wrote what, commit,
// answer.
#include "apiserver/write.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "api/denial.h"
#include "api/json.h"
#include "api/patch.h"
#include "api/rules.h"
#include "api/scale_faults.h"
#include "apiserver/admission_webhooks.h"
#include "apiserver/admit.h"
#include "apiserver/admit_pod_security.h"
#include "apiserver/answer.h"
#include "apiserver/authorize.h"
#include "apiserver/conversions.h"
#include "apiserver/decode.h"
#include "apiserver/definitions.h"
#include "apiserver/guarded_parts.h"
#include "apiserver/metadata.h"
#include "apiserver/namespace_room.h"
#include "apiserver/patch_verb.h"
#include "apiserver/review_of_write.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Operation = api::AdmissionRequest::Operation;

constexpr int name_tries = 8;
constexpr int repeats_max = 10;
constexpr std::size_t manager_max = 128;

/// Who owns the fields that a write changes.
enum class Tracking { record, already_done };

Value tracked(Context& context, const Exchange& exchange, const api::Kind& kind,
              std::string_view subresource, const Value& before, Value after) {
    api::ApplyRequest request = apply_request(context, exchange);
    // Where versions differ in their names alone it is recorded in the one that the client sent.
    const bool as_sent = kind.stored_schema != nullptr || (kind.custom && kind.convert == nullptr);
    request.api_version = as_sent ? api::to_api_version({kind.group, exchange.version->name})
                                  : stored_api_version(kind);
    request.subresource = subresource;
    const Value& had = before["metadata"]["managedFields"];
    const Value& given = after["metadata"]["managedFields"];
    // An empty list is a fresh start for built-in kinds; of what users bring it says nothing.
    const bool says_nothing = given.is_null() || (kind.custom && given.is_array() && given.empty());
    if (says_nothing && !had.is_null()) after.at("metadata").set("managedFields", had);
    const api::Schema& schema = as_sent ? *exchange.version->schema : kind.storage_schema();
    return api::track_update(schema, before, std::move(after), request);
}

/// The rules of the version that the client speaks, asked of the object in that version.
std::vector<api::FieldError> broken_rules(Context& context, Exchange& exchange,
                                          const api::Kind& kind, const Value& object,
                                          const Value& old) {
    if (!kind.custom) return {};
    const api::Version& version = *exchange.version;
    const bool as_stored = kind.convert == nullptr && !kind.by_webhook;
    if (version.name == kind.storage || as_stored) {
        return api::broken_rules(*version.schema, object, old.is_null() ? nullptr : &old);
    }
    const auto shown = [&](const Value& stored) {
        return kind.by_webhook ? shown_in(context, exchange, kind, stored, version.name)
                               : kind.convert(stored, version.name);
    };
    const Value before = old.is_null() ? old : shown(old);
    return api::broken_rules(*version.schema, shown(object), before.is_null() ? nullptr : &before);
}

/// What is wrong with an object of a built-in kind, without what was wrong with it before: a rule
/// may be younger than the object, which must still get its status, lose finalizers and be stopped.
std::vector<api::FieldError> own_faults(const api::Kind& kind, std::string_view subresource,
                                        const Value& object, const Value& old) {
    std::vector<api::FieldError> faults = kind.validate(object, old.is_null() ? nullptr : &old);
    if (faults.empty() || old.is_null()) return faults;
    std::set<std::pair<std::string, std::string>> before;
    for (api::FieldError& error : kind.validate(old, nullptr))
        before.emplace(std::move(error.field), std::move(error.text));
    std::erase_if(faults, [&](const api::FieldError& error) {
        const bool not_written = subresource == "status" && error.field.starts_with("spec");
        return not_written || before.contains({error.field, error.text});
    });
    return faults;
}

/// As a cluster does it: first what the schema's rules say, then, when that is well, the webhooks,
/// of which one of our own has `denied` already.
void check_valid(Context& context, Exchange& exchange, const api::Kind& kind,
                 std::string_view subresource, const Value& object, const Value& old,
                 const std::optional<api::Admission::Denial>& denied) {
    std::vector<api::FieldError> errors = validate_metadata(kind, object, old);
    for (api::FieldError& error : broken_rules(context, exchange, kind, object, old))
        errors.push_back(std::move(error));
    if (kind.custom) {
        for (api::FieldError& error :
             api::scale_faults(kind, object, api::scale_part_of(subresource)))
            errors.push_back(std::move(error));
    }
    if (kind.validate != nullptr && !kind.custom) {
        for (api::FieldError& error : own_faults(kind, subresource, object, old))
            errors.push_back(std::move(error));
    }
    if (!errors.empty()) throw invalid(kind, object["metadata"]["name"].text_or(""), errors);
    admit_pod_security(context, exchange, kind, subresource, object, old);
    if (denied) throw refused_by_webhook(*denied);
    if (const auto refused = api::denial_of_kind(kind, object, old))
        throw refused_by_webhook(*refused);
}

void answer_object(Context& context, const ExchangePtr& exchange, int code,
                   const Committed& committed) {
    guarded(exchange, [&context, exchange, code, committed] {
        send_object(context, *exchange, code, *committed.object, committed.bytes);
    });
}

/// A write from what the client wants to what is stored. Between its steps webhooks may be asked;
/// then others are served meanwhile.
struct Writing {
    Context& context;
    ExchangePtr exchange;
    const api::Kind& kind;
    std::string subresource;
    Newest newest;  // Without an object: one is created.
    ReviewedPtr reviewed;
    std::optional<api::Admission::Denial> denied;  // What our own validating webhooks say.
    std::function<void(const Committed&)> answer;
    std::function<void()> again;  // The whole write anew.
    bool settled = false;
    bool asks = true;  // Webhooks.

    bool creates() const { return newest.object.is_null(); }
    /// Others may have been served since it began: a webhook was asked, or had to convert.
    bool waited() const { return reviewed->waited || kind.by_webhook; }
    Value& object() const { return reviewed->object; }
    const Value& old() const { return newest.object; }
    const std::string& ns() const { return exchange->route.ns; }
    std::string name() const { return object()["metadata"]["name"].text(); }
};
using WritingPtr = std::shared_ptr<Writing>;

void admit_own(Writing& writing) {
    writing.denied = admit(writing.context, *writing.exchange, writing.kind,
                           writing.creates() ? Operation::create : Operation::update,
                           writing.subresource, writing.object(), writing.old());
}

/// What a new object gets from the server, once mutating webhooks have had it.
void settle_new(Writing& writing) {
    const api::Kind& kind = writing.kind;
    Value& object = writing.object();
    if (writing.waited()) {
        Value& metadata = object.at("metadata");
        if (kind.namespaced) {
            metadata.set("namespace", writing.ns());
        } else {
            metadata.erase("namespace");
        }
        if (kind.has_status && !keeps_first_status(kind)) object.erase("status");
    }
    fill_new_identity(writing.context, kind, object);
    reset_status(kind, object);
    if (kind.defaulting != nullptr) kind.defaulting(object);  // Some need the uid.
}

/// What webhooks may not have changed of an object that was there.
void settle_present(Writing& writing) {
    if (!writing.reviewed->waited) return;
    carry_metadata(writing.kind, writing.old(), writing.newest.revision, Given::by_patch,
                   writing.object());
    keep_guarded_parts(writing.kind, writing.subresource, writing.old(), writing.object());
    keep_namespace_spec(writing.kind, writing.subresource, writing.old(), writing.object());
    if (writing.kind.defaulting != nullptr) writing.kind.defaulting(writing.object());
}

/// Others were served while webhooks were asked: is it still the write that they were asked about?
bool is_outdated(const Writing& writing) {
    if (!writing.waited()) return false;
    const api::Kind& kind = writing.kind;
    Context& context = writing.context;
    if (context.kinds.find(kind.group, kind.plural) == nullptr) throw no_such_resource();
    if (is_past(context, kind, writing.subresource, writing.object(), writing.old())) return true;
    if (writing.creates()) {
        if (kind.namespaced)
            check_namespace(context, *writing.exchange, writing.ns(), writing.name());
        check_not_ending(context, kind, writing.name());
        return false;
    }
    return newest_of(context, kind, writing.old()["metadata"]["namespace"].text_or(""),
                     writing.old()["metadata"]["name"].text_or(""))
               .revision != writing.newest.revision;
}

void write_anew(const WritingPtr& writing) {
    if (++writing->exchange->repeats > repeats_max)
        throw modified(writing->kind.resource(), writing->name());
    guarded(writing->exchange, writing->again);
}

bool is_service(const api::Kind& kind) {
    return kind.group.empty() && kind.plural == "services";
}

void store_new(Writing& writing) {
    const Newest there = newest_of(writing.context, writing.kind, writing.ns(), writing.name());
    if (!there.object.is_null()) {
        throw there.object["metadata"]["deletionTimestamp"].is_null()
            ? already_exists(writing.kind.resource(), writing.name())
            : still_being_deleted(writing.kind.resource(), writing.name());
    }
    warn_of_host_name(*writing.exchange, writing.kind, writing.name());
    warn_of_finalizers(*writing.exchange, writing.kind, writing.object(), Value());
    if (is_service(writing.kind)) warn_of_service(*writing.exchange, writing.object());
    if (writing.exchange->is_dry_run()) {
        send_object(writing.context, *writing.exchange, 201, writing.object(), nullptr);
        return;
    }
    check_room(writing.context, Purpose::write);
    check_namespace_room(writing.context, *writing.exchange, writing.kind, writing.object(),
                         nullptr);
    commit_put(writing.context, writing.kind, std::move(writing.object()), 0,
               std::move(writing.answer));
}

void store_changed(Writing& writing) {
    const api::Kind& kind = writing.kind;
    Context& context = writing.context;
    const Newest& newest = writing.newest;
    Value& object = writing.object();
    count_generation(kind, writing.subresource, newest.object, object);
    if (writing.subresource.empty()) {
        warn_of_finalizers(*writing.exchange, kind, object, newest.object);
        if (is_service(kind)) warn_of_service(*writing.exchange, object);
    }
    if (writing.exchange->is_dry_run() || same_but_version(newest.object, object)) {
        Committed committed;
        const bool same = !writing.exchange->is_dry_run();
        committed.object = std::make_shared<const Value>(same ? newest.object : std::move(object));
        committed.bytes = same ? newest.bytes : nullptr;
        committed.revision = newest.revision;
        when_durable(context, newest.revision,
                     [committed, then = std::move(writing.answer)] { then(committed); });
        return;
    }
    check_room(context, purpose_of(object));
    check_namespace_room(context, *writing.exchange, kind, object, newest.bytes);
    if (is_released(kind, object)) {
        Committed last;
        last.object = std::make_shared<const Value>(object);
        commit_remove(context, kind, object["metadata"]["namespace"].text_or(""),
                      object["metadata"]["name"].text_or(""), newest.revision,
                      [last, then = std::move(writing.answer)](store::Revision) { then(last); });
        return;
    }
    commit_put(context, kind, std::move(object), newest.revision, std::move(writing.answer));
}

/// After the mutating webhooks: the object is completed and checked, and validating ones are asked.
void check_and_store(const WritingPtr& writing) {
    Writing& here = *writing;
    if (!here.settled) {
        if (here.creates()) {
            settle_new(here);
        } else {
            settle_present(here);
        }
        allot(here.context, here.kind, here.subresource, here.object(), here.old());
        here.settled = true;
        here.reviewed->name = here.reviewed->name.empty() ? here.name() : here.reviewed->name;
    }
    check_valid(here.context, *here.exchange, here.kind, here.subresource, here.object(),
                here.old(), here.denied);
    const auto store = [writing] {
        if (is_outdated(*writing)) {
            write_anew(writing);
        } else if (writing->creates()) {
            store_new(*writing);
        } else {
            store_changed(*writing);
        }
    };
    ask_validating(here.context, here.exchange, here.reviewed, {store, nullptr});
}

/// The second half of every write: our own admission, the webhooks, the store.
void admit_and_store(const WritingPtr& writing) {
    admit_own(*writing);
    writing->reviewed->repeat_own_steps = [weak = std::weak_ptr(writing)] {
        if (const auto here = weak.lock()) admit_own(*here);
    };
    ask_mutating(writing->context, writing->exchange, writing->reviewed,
                 {[writing] { check_and_store(writing); }, nullptr});
}

/// `object` is what the client wants of one that is there, in stored form.
void finish_update(Writing writing, Value object, Tracking tracking) {
    const api::Kind& kind = writing.kind;
    const Value& old = writing.newest.object;
    Exchange& exchange = *writing.exchange;
    carry_metadata(kind, old, writing.newest.revision,
                   exchange.route.verb == "patch" ? Given::by_patch : Given::as_whole, object);
    keep_guarded_parts(kind, writing.subresource, old, object);
    if (kind.defaulting != nullptr) kind.defaulting(object);
    // Before admission: what it adds belongs to nobody, so that no apply takes it away.
    if (tracking == Tracking::record) {
        object =
            tracked(writing.context, exchange, kind, writing.subresource, old, std::move(object));
    }
    keep_namespace_spec(kind, writing.subresource, old, object);
    writing.reviewed = review_of_write(writing.context, writing.exchange, kind, writing.subresource,
                                       std::move(object), old);
    if (!writing.asks) writing.reviewed->show = nullptr;
    admit_and_store(std::make_shared<Writing>(std::move(writing)));
}

/// `object` is typed, in the version of the exchange.
void finish_create(Context& context, const ExchangePtr& exchange, Value object, Tracking tracking,
                   std::function<void()> again) {
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
        exchange->chosen_name.clear();
        fill_new_name(context, *exchange, object);
    }
    const std::string name = object["metadata"]["name"].text();
    if (kind.namespaced) check_namespace(context, *exchange, ns, name);
    check_not_ending(context, kind, name);
    if (kind.has_status && !keeps_first_status(kind)) object.erase("status");
    if (kind.by_webhook && tracking == Tracking::record) {
        object = tracked(context, *exchange, kind, "", {}, std::move(object));
        tracking = Tracking::already_done;
    }
    object = stored_form(context, *exchange, kind, std::move(object));
    if (kind.defaulting != nullptr) kind.defaulting(object);
    // Before the server's own additions: they belong to nobody, so that no apply takes them away.
    if (tracking == Tracking::record) {
        object = tracked(context, *exchange, kind, "", {}, std::move(object));
    }
    Writing writing{context, exchange,        kind, "", {}, nullptr, std::nullopt,
                    nullptr, std::move(again)};
    writing.answer = [&context, exchange](const Committed& committed) {
        answer_object(context, exchange, 201, committed);
    };
    writing.reviewed = review_of_write(context, exchange, kind, "", std::move(object), {});
    admit_and_store(std::make_shared<Writing>(std::move(writing)));
}

/// The newest state, in the version that is stored now.
Newest newest_in_form(Context& context, Exchange& exchange, const api::Kind& kind,
                      std::string_view ns, std::string_view name) {
    Newest newest = newest_of(context, kind, ns, name);
    if (kind.by_webhook && !newest.object.is_null())
        newest.object = stored_form(context, exchange, kind, std::move(newest.object));
    return newest;
}

Newest present(Context& context, Exchange& exchange) {
    const Route& route = exchange.route;
    Newest newest = newest_in_form(context, exchange, *exchange.kind, route.ns, route.name);
    if (newest.object.is_null()) throw not_found(exchange.kind->resource(), route.name);
    return newest;
}

/// A write over what is there; the answer is the object.
Writing changing(Context& context, const ExchangePtr& exchange, Newest newest,
                 std::function<void()> again) {
    Writing writing{context,           exchange, *exchange->kind, exchange->route.subresource,
                    std::move(newest), nullptr,  std::nullopt,    nullptr,
                    std::move(again)};
    writing.answer = [&context, exchange](const Committed& committed) {
        answer_object(context, exchange, 200, committed);
    };
    return writing;
}

/// What a client wants of an object, in stored form.
Value stored_update(Context& context, Exchange& exchange, const Newest& newest, Value object,
                    Tracking& tracking) {
    const api::Kind& kind = *exchange.kind;
    if (kind.by_webhook && tracking == Tracking::record) {
        const std::string& subresource = exchange.route.subresource;
        const Value old = shown_in(context, exchange, kind, newest.object, exchange.version->name);
        keep_guarded_parts(kind, subresource, old, object);
        object = tracked(context, exchange, kind, subresource, old, std::move(object));
        tracking = Tracking::already_done;
    }
    // It stays as it was, so nobody has checked what is given here: it is not converted either.
    if (kind.convert != nullptr && kind.has_status && exchange.route.subresource.empty())
        object.erase("status");
    return stored_form(context, exchange, kind, std::move(object));
}

}  // namespace

std::string field_manager(const net::Request& request) {
    std::string_view rest = request.query_value("fieldManager");
    if (rest.empty()) {
        rest = request.headers.get("User-Agent");
        rest = rest.substr(0, rest.find('/'));
    }
    // Whole letters only, since it is stored.
    std::string manager;
    while (!rest.empty()) {
        const std::size_t length = utf8_length(rest);
        const std::string_view letter =
            length > 0 ? rest.substr(0, length) : std::string_view("\uFFFD");
        const bool shows = length > 1 || length == 0 || (rest[0] >= ' ' && rest[0] != '\x7f');
        if (shows && manager.size() + letter.size() > manager_max) break;
        if (shows) manager += letter;
        rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return manager.empty() ? "unknown" : manager;
}

void serve_create(Context& context, const ExchangePtr& exchange) {
    Value object = typed_object(*exchange, decode_body(exchange->request));
    finish_create(context, exchange, std::move(object), Tracking::record,
                  [&context, exchange] { serve_create(context, exchange); });
}

void serve_update(Context& context, const ExchangePtr& exchange) {
    Value object = typed_object(*exchange, decode_body(exchange->request));
    check_place(*exchange, object);
    Newest newest = present(context, *exchange);
    Tracking tracking = Tracking::record;
    object = stored_update(context, *exchange, newest, std::move(object), tracking);
    finish_update(changing(context, exchange, std::move(newest),
                           [&context, exchange] { serve_update(context, exchange); }),
                  std::move(object), tracking);
}

void serve_patch(Context& context, const ExchangePtr& exchange) {
    const api::Kind& kind = *exchange->kind;
    const Route& route = exchange->route;
    const BodyType type = patch_type(*exchange);
    const bool apply = type == BodyType::apply_patch;
    Newest newest = newest_in_form(context, *exchange, kind, route.ns, route.name);
    const bool creates = newest.object.is_null() && apply && route.subresource.empty();
    if (newest.object.is_null() && !creates) throw not_found(kind.resource(), route.name);
    if (creates) authorize_as(context, *exchange, "create");
    const PatchBody patch = read_patch(*exchange, type);
    Value before = creates
                       ? Value()
                       : shown_in(context, *exchange, kind, newest.object, exchange->version->name);
    Decoded result;
    result.value = patched(context, *exchange, patch, std::move(before));
    result.duplicates = patch.duplicates;
    Value object = typed_object(*exchange, std::move(result));
    if (creates) check_no_uid(*exchange, object);
    check_place(*exchange, object);
    Tracking tracking = apply ? Tracking::already_done : Tracking::record;
    const auto again = [&context, exchange] { serve_patch(context, exchange); };
    if (creates) {
        finish_create(context, exchange, std::move(object), tracking, again);
        return;
    }
    object = stored_update(context, *exchange, newest, std::move(object), tracking);
    finish_update(changing(context, exchange, std::move(newest), again), std::move(object),
                  tracking);
}

void edit_object(Context& context, const ExchangePtr& exchange, const Edit& edit) {
    const Route& route = exchange->route;
    const api::Kind& kind = *exchange->kind;
    Newest newest = newest_in_form(context, *exchange, kind, route.ns, route.name);
    if (newest.object.is_null()) throw not_found(kind.resource(), route.name);
    Value object = newest.object;
    edit.change(object);
    Writing writing = changing(context, exchange, std::move(newest), [&context, exchange, edit] {
        edit_object(context, exchange, edit);
    });
    writing.subresource = edit.subresource;
    writing.answer = edit.answer;
    writing.asks = edit.asked == Edit::Asked::now;
    finish_update(std::move(writing), std::move(object),
                  edit.owned == Edit::Owned::already ? Tracking::already_done : Tracking::record);
}

}  // namespace muster::apiserver
