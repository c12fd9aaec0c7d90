// apiserver/remove.cpp - the ways an object goes.
#include "apiserver/remove.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apiserver/admit.h"
#include "apiserver/answer.h"
#include "apiserver/decode.h"
#include "apiserver/definitions.h"
#include "apiserver/metadata.h"
#include "apiserver/read.h"
#include "apiserver/request_options.h"
#include "apiserver/review_of_write.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "base/text.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr int repeats_max = 10;
constexpr std::size_t asked_at_once = 16;  // Of a collection about which webhooks are asked.

bool is_core(const api::Kind& kind, std::string_view plural) {
    return kind.group.empty() && kind.plural == plural;
}

/// What the query says, for a request without a body.
Value options_of_query(const net::Request& request) {
    Value options = Value::object();
    if (const auto grace = query_number(request, "gracePeriodSeconds"))
        options.set("gracePeriodSeconds", *grace);
    if (request.has_query("propagationPolicy"))
        options.set("propagationPolicy", request.query_value("propagationPolicy"));
    if (request.has_query("orphanDependents"))
        options.set("orphanDependents", net::query_flag(request, "orphanDependents"));
    if (request.has_query("dryRun"))
        options.set("dryRun", Value::array({std::string(request.query_value("dryRun"))}));
    return options;
}

/// Dependents of the oldest kinds survive them unless asked for otherwise.
bool orphans_by_default(const Exchange& exchange, const api::Kind& kind) {
    const bool of_old =
        (kind.group == "batch" && kind.plural == "jobs") || is_core(kind, "replicationcontrollers");
    return of_old && !exchange.request.peer.trusted;
}

/// Said once, whatever comes of the request.
void warn_of_orphans(Exchange& exchange, const Value& options) {
    if (!options["propagationPolicy"].is_null() || !options["orphanDependents"].is_null() ||
        exchange.kind->group != "batch" || !orphans_by_default(exchange, *exchange.kind)) {
        return;
    }
    exchange.warnings.emplace_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to "
        "suppress this warning");
}

/// DeleteOptions: those of the body, or, without one, of the query.
Value options_of(Exchange& exchange) {
    const bool in_body = !exchange.request.body->empty();
    Value options = in_body ? typed_body(exchange, "v1", "DeleteOptions", Strictness::none)
                            : options_of_query(exchange.request);
    check_delete_options(options);
    // Once there is a body, nobody looks at the query.
    if (in_body) {
        std::erase_if(exchange.request.query,
                      [](const auto& each) { return each.first == "dryRun"; });
    }
    heed_dry_run(exchange, options);
    return options;
}

void check_preconditions(const api::Kind& kind, std::string_view name, const Newest& newest,
                         const Value& preconditions) {
    const api::GroupResource named{kind.group, kind.kind};  // As the original has it here.
    const std::string uid = preconditions["uid"].text();
    const std::string have = newest.object["metadata"]["uid"].text();
    if (!uid.empty() && uid != have) {
        throw conflict(named, name,
                       "the UID in the precondition (" + uid +
                           ") does not match the UID in record (" + have +
                           "). The object might have been deleted and then recreated");
    }
    const std::string version = preconditions["resourceVersion"].text();
    if (!version.empty() && version != std::to_string(newest.revision)) {
        throw conflict(named, name,
                       "the ResourceVersion in the precondition (" + version +
                           ") does not match the ResourceVersion in record (" +
                           std::to_string(newest.revision) +
                           "). The object might have been modified");
    }
}

/// Finalizers that tell the garbage collector how to treat dependents.
void set_propagation(Exchange& exchange, const api::Kind& kind, const Value& options,
                     Value& object) {
    // Nothing is collected with an event; a namespace that is on its way is asked once.
    const bool ends = !object["metadata"]["deletionTimestamp"].is_null();
    const bool defines = kind.group == "apiextensions.k8s.io";  // What it defines goes with it.
    if (kind.plural == "events" || (is_core(kind, "namespaces") && ends) || (defines && !ends))
        return;
    std::string policy = options["propagationPolicy"].text();
    if (policy.empty() && options["orphanDependents"].is_boolean()) {
        const char* collected = is_core(kind, "namespaces") ? "Foreground" : "Background";
        policy = options["orphanDependents"].as_boolean() ? "Orphan" : collected;
    }
    if (policy.empty()) {
        if (!orphans_by_default(exchange, kind)) return;
        policy = "Orphan";
    }
    Value kept = Value::array();
    for (const Value& finalizer : object["metadata"]["finalizers"].items()) {
        const std::string_view text = finalizer.text_or("");
        if (text != "orphan" && text != "foregroundDeletion") kept.push(finalizer);
    }
    if (policy == "Orphan") kept.push("orphan");
    if (policy == "Foreground") kept.push("foregroundDeletion");
    if (kept.empty()) {
        object.at("metadata").erase("finalizers");
    } else {
        object.at("metadata").set("finalizers", std::move(kept));
    }
}

/// Seconds a pod gets to end; other kinds go at once.
std::int64_t grace_of(const api::Kind& kind, const Value& object, const Value& options) {
    if (!is_core(kind, "pods")) return 0;
    const std::string phase = object["status"]["phase"].text();
    const bool ended = phase == "Succeeded" || phase == "Failed";
    if (ended || object["spec"]["nodeName"].text_or("").empty()) return 0;
    const std::int64_t usual = object["spec"]["terminationGracePeriodSeconds"].integer_or(30);
    return std::max<std::int64_t>(0, options["gracePeriodSeconds"].integer_or(usual));
}

/// Sets or shortens the time by which the object is to be gone. False: nothing to change.
bool mark(Context& context, const api::Kind& kind, Value& object, std::int64_t grace) {
    Value& metadata = object.at("metadata");
    if (is_core(kind, "namespaces")) {
        // They know no grace: they are gone once they are empty.
        if (!metadata["deletionTimestamp"].is_null()) return false;
        metadata.set("deletionTimestamp", to_rfc3339(context.loop.now()));
        return true;
    }
    if (!metadata["deletionTimestamp"].is_null()) {
        const std::int64_t before = metadata["deletionGracePeriodSeconds"].integer_or(0);
        if (grace >= before) return false;
    } else if (metadata["generation"].is_integer()) {
        metadata.set("generation", metadata["generation"].as_integer() + 1);
    }
    metadata.set("deletionTimestamp", to_rfc3339(context.loop.now() + seconds(grace)));
    metadata.set("deletionGracePeriodSeconds", grace);
    return true;
}

/// Kinds whose removal answers with the object instead of a Status.
bool answers_with_object(const api::Kind& kind) {
    static constexpr std::string_view kinds[] = {
        "pods",          "services",          "serviceaccounts",
        "podtemplates",  "persistentvolumes", "persistentvolumeclaims",
        "resourcequotas"};
    if (kind.group == "storage.k8s.io") return true;
    return kind.group.empty() &&
           std::find(std::begin(kinds), std::end(kinds), kind.plural) != std::end(kinds);
}

/// The object at the revision that it came to.
std::shared_ptr<const Value> with_version(const Committed& committed) {
    Value object = *committed.object;
    object.at("metadata").set("resourceVersion", std::to_string(committed.revision));
    return std::make_shared<const Value>(std::move(object));
}

/// What is left to do once everybody agrees. Requires: `newest` is the newest state.
void remove_now(Context& context, const ExchangePtr& exchange, const Removing& removing,
                const Newest& newest) {
    const api::Kind& kind = *exchange->kind;
    Value object = newest.object;
    set_propagation(*exchange, kind, removing.options, object);
    const std::int64_t grace = grace_of(kind, object, removing.options);
    bool changed = !(object == newest.object);
    if (mark(context, kind, object, grace)) changed = true;
    if (is_core(kind, "namespaces")) object.at("status").set("phase", "Terminating");
    if (is_definition(kind)) begin_definition_removal(context, object);
    Removal removal;
    removal.gone = is_released(kind, object);
    // A namespace is marked first, whatever it waits for; the next removal finds it so.
    if (is_core(kind, "namespaces") && newest.object["metadata"]["deletionTimestamp"].is_null())
        removal.gone = false;
    // Pods are marked even when they go at once, the others are not.
    const bool as_marked = !removal.gone || is_core(kind, "pods");
    removal.last.object = std::make_shared<const Value>(as_marked ? object : newest.object);
    removal.last.revision = newest.revision;
    if (exchange->is_dry_run() || (!removal.gone && !changed)) {
        when_durable(context, newest.revision, [removal, then = removing.done] { then(removal); });
        return;
    }
    check_room(context, Purpose::removal);
    if (removal.gone) {
        commit_remove(context, kind, removing.ns, removing.name, newest.revision,
                      [removal, then = removing.done](store::Revision revision) mutable {
                          removal.last.revision = revision;
                          removal.last.object = with_version(removal.last);
                          then(removal);
                      });
        return;
    }
    commit_put(context, kind, std::move(object), newest.revision,
               [then = removing.done](const Committed& committed) {
                   then(Removal{false, committed});
               });
}

/// A deletecollection on its way: how many removals are not yet durable, and what came of them.
struct Round {
    Value options;
    Page page;  // What was there, which is the answer.
    std::size_t next = 0;
    std::size_t left = 0;
    bool in_turn = false;  // A few at once: webhooks are asked about each.
    std::optional<StatusError> refused;
};

Value list_of(Context& context, Exchange& exchange, const Page& page) {
    const api::Kind& kind = *exchange.kind;
    Value list =
        Value::object({{"kind", kind.list_name()},
                       {"apiVersion", api::to_api_version({kind.group, exchange.version->name})},
                       {"metadata", list_meta(kind, page)},
                       {"items", Value::array()}});
    for_shown_items(context, exchange, page, [&](Value item) {
        if (!kind.custom) {
            item.erase("kind");
            item.erase("apiVersion");
        }
        list.at("items").push(std::move(item));
    });
    return list;
}

}  // namespace

void remove_object(Context& context, const ExchangePtr& exchange, const Removing& removing) {
    const api::Kind& kind = *exchange->kind;
    Newest newest = newest_of(context, kind, removing.ns, removing.name);
    if (newest.object.is_null()) throw not_found(kind.resource(), removing.name);
    check_preconditions(kind, removing.name, newest, removing.options["preconditions"]);
    Value none;
    const auto denied = admit(context, *exchange, kind, api::AdmissionRequest::Operation::remove,
                              "", none, newest.object);
    if (denied) throw refused_by_webhook(*denied);
    if (removing.asked == Removing::Asked::already || context.webhooks.empty()) {
        remove_now(context, exchange, removing, newest);
        return;
    }
    const auto reviewed =
        review_of_removal(context, exchange, kind, newest.object, removing.options);
    reviewed->repeat_own_steps = [] {};
    const auto remove = [&context, exchange, removing, newest, reviewed] {
        const store::Revision now =
            newest_of(context, *exchange->kind, removing.ns, removing.name).revision;
        if (now == newest.revision) {
            remove_now(context, exchange, removing, newest);
        } else if (removing.repeats == repeats_max) {
            throw modified(exchange->kind->resource(), removing.name);
        } else {
            Removing again = removing;
            ++again.repeats;
            remove_object(context, exchange, again);
        }
    };
    const auto validate = [&context, exchange, reviewed, remove, refuse = removing.refuse] {
        ask_validating(context, exchange, reviewed, {remove, refuse});
    };
    ask_mutating(context, exchange, reviewed, {validate, removing.refuse});
}

void serve_delete(Context& context, const ExchangePtr& exchange) {
    Removing removing;
    removing.options = options_of(*exchange);
    warn_of_orphans(*exchange, removing.options);
    removing.ns = exchange->route.ns;
    removing.name = exchange->route.name;
    // Only who says so in these words hears that it is not over.
    const bool waits = !removing.options["orphanDependents"].boolean_or(true);
    removing.done = [&context, exchange, waits](const Removal& removal) {
        guarded(exchange, [&context, exchange, waits, removal] {
            const api::Kind& kind = *exchange->kind;
            if (!removal.gone || answers_with_object(kind)) {
                const int code = waits && !removal.gone ? 202 : 200;
                send_object(context, *exchange, code, *removal.last.object, removal.last.bytes);
                return;
            }
            Value details = Value::object({{"name", exchange->route.name}});
            if (!kind.group.empty()) details.set("group", kind.group);
            details.set("kind", kind.plural);
            details.set("uid", (*removal.last.object)["metadata"]["uid"]);
            send_value(*exchange, 200, success_status(details));
        });
    };
    remove_object(context, exchange, removing);
}

namespace {

void remove_next(Context& context, const ExchangePtr& exchange,
                 const std::shared_ptr<Round>& round);

/// The last of them answers for all.
void count_down(Context& context, const ExchangePtr& exchange,
                const std::shared_ptr<Round>& round) {
    if (--round->left > 0) return;
    guarded(exchange, [&context, exchange, round] {
        if (round->refused) throw StatusError(*round->refused);
        send_value(*exchange, 200, list_of(context, *exchange, round->page));
    });
}

/// One is gone or refused.
void one_done(Context& context, const ExchangePtr& exchange, const std::shared_ptr<Round>& round) {
    if (round->in_turn && round->next < round->page.entries.size()) {
        context.loop.post([&context, exchange, round, alive = std::weak_ptr(context.alive)] {
            if (!alive.expired()) remove_next(context, exchange, round);
        });
    }
    count_down(context, exchange, round);
}

void remove_next(Context& context, const ExchangePtr& exchange,
                 const std::shared_ptr<Round>& round) {
    if (round->next == round->page.entries.size()) return;
    const auto [ns, name] = place_of(round->page.entries[round->next++].key);
    Removing one;
    one.ns = ns;
    one.name = name;
    one.options = round->options;
    one.done = [&context, exchange, round](const Removal&) { one_done(context, exchange, round); };
    one.refuse = [&context, exchange, round](const StatusError& error) {
        // One that went meanwhile is what was asked for. A refusal does not spare the others; it is
        // the answer in the end.
        if (error.reason() != Reason::not_found && !round->refused) round->refused = error;
        one_done(context, exchange, round);
    };
    guarded(
        exchange, [&context, exchange, one] { remove_object(context, exchange, one); }, one.refuse);
}

}  // namespace

void heed_dry_run(Exchange& exchange, const Value& options) {
    if (options["dryRun"][0].text_or("") == "All" && !exchange.is_dry_run())
        exchange.request.query.emplace_back("dryRun", "All");
}

void serve_delete_collection(Context& context, const ExchangePtr& exchange) {
    const auto round = std::make_shared<Round>();
    round->options = options_of(*exchange);
    const Selection selection = Selection::of(*exchange);
    check_list_options(exchange->request);
    warn_of_orphans(*exchange, round->options);
    // What is there now, staged creations not included: they come after this request.
    round->page = page_of(context, *exchange, selection);
    const std::size_t count = round->page.entries.size();
    round->left = count + 1;
    round->in_turn = !context.webhooks.empty();
    const std::size_t at_once = round->in_turn ? std::min(asked_at_once, count) : count;
    for (std::size_t i = 0; i < at_once; ++i)
        remove_next(context, exchange, round);
    count_down(context, exchange, round);
}

}  // namespace muster::apiserver
