// apiserver/commit.cpp - staging writes, and the indexes that follow them.
#include "apiserver/commit.h"

#include <utility>

#include "api/json.h"
#include "apiserver/bootstrap.h"
#include "apiserver/definitions.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "base/verify.h"

namespace muster::apiserver {
namespace {

constexpr Duration event_life = hours(1);
constexpr std::string_view mutating_key =
    "/admissionregistration.k8s.io/mutatingwebhookconfigurations/";
constexpr std::string_view validating_key =
    "/admissionregistration.k8s.io/validatingwebhookconfigurations/";

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

bool is_event(std::string_view key) {
    return starts_with(key, "/core/events/");
}

/// A later write of the same Event has its own entry.
bool is_newest(const Context& context, const EventExpiries::Expiry& expiry) {
    return context.store.newest(expiry.key).revision == expiry.revision;
}

/// A null object is gone.
void update_indexes(Context& context, const std::string& key, const api::Value& object,
                    store::Revision revision, Time event_time) {
    const auto [ns, name] = place_of(key);
    if (starts_with(key, "/rbac.authorization.k8s.io/")) {
        const std::string_view after = std::string_view(key).substr(27);
        context.rbac.put(after.substr(0, after.find('/')), ns, name, object);
    } else if (starts_with(key, "/core/namespaces/")) {
        if (object.is_null()) {
            context.namespaces.erase(std::string(name));
            context.pod_security.erase(std::string(name));
        } else {
            context.namespaces[std::string(name)] =
                !object["metadata"]["deletionTimestamp"].is_null();
            context.pod_security[std::string(name)] =
                api::security_of(object["metadata"]["labels"],
                                 context.options.pod_security.defaults)
                    .first;
        }
    } else if (starts_with(key, "/scheduling.k8s.io/priorityclasses/")) {
        if (object["globalDefault"].boolean_or(false)) {
            context.default_priorities.insert(std::string(name));
        } else {
            context.default_priorities.erase(std::string(name));
        }
    } else if (starts_with(key, "/apiextensions.k8s.io/")) {
        put_definition(context, name, object, revision);
    } else if (starts_with(key, mutating_key)) {
        context.webhooks.put(Phase::mutating, std::string(name), object);
    } else if (starts_with(key, validating_key)) {
        context.webhooks.put(Phase::validating, std::string(name), object);
    } else if (starts_with(key, "/core/services/")) {
        context.addresses.put(key, object);
    } else if (is_event(key) && !object.is_null()) {
        context.event_expiries.add({event_time + event_life, key, revision},
                                   context.event_totals.events,
                                   [&](const auto& expiry) { return is_newest(context, expiry); });
    }
}

/// The oldest go, as those do that are too old: watchers see it. Writers do not wait for it.
void trim_events(Context& context) {
    const api::Kind* events = api::find_kind("", "events");
    const EventBounds& bounds = context.options.event_bounds;
    std::size_t removed = 0;
    while (are_too_many(context.event_totals, bounds) && !context.event_expiries.empty() &&
           removed < event_removals_at_once && context.store.room() != store::Room::none) {
        const EventExpiries::Expiry expiry = context.event_expiries.take_first();
        if (!is_newest(context, expiry)) continue;
        const auto [ns, name] = place_of(expiry.key);
        commit_remove(context, *events, ns, name, expiry.revision, nullptr);
        ++removed;
    }
}

void count_event(Context& context, const Bytes& before, const Bytes& after) {
    EventTotals& totals = context.event_totals;
    totals.events += std::size_t{after ? 1U : 0U};
    totals.events -= std::size_t{before ? 1U : 0U};
    totals.bytes += (after ? after->size() : 0) - (before ? before->size() : 0);
    if (context.trims_events || !are_too_many(totals, context.options.event_bounds)) return;
    context.trims_events = true;
    context.loop.after(seconds(1), [&context, alive = std::weak_ptr<int>(context.alive)] {
        if (alive.expired() || context.stopping) return;
        context.trims_events = false;
        trim_events(context);
    });
}

/// Null bytes: it is not there.
void count(Context& context, std::string_view key, const Bytes& before, const Bytes& after) {
    if (is_event(key)) return count_event(context, before, after);
    context.totals.count(place_of(key).ns, before, after);
}

/// What comes back when somebody removes it with all the others: by one pods find the API server,
/// by the others clients find the kinds that are served anyway.
bool is_always_there(const api::Kind& kind, std::string_view ns, std::string_view name) {
    if (is_definition(kind)) return is_own_definition(name);
    const bool service = kind.group.empty() && kind.plural == "services";
    const bool slice = kind.group == "discovery.k8s.io" && kind.plural == "endpointslices";
    return (service || slice) && ns == "default" && name == "kubernetes";
}

void run_waiting(Context& context) {
    const store::Revision durable = context.store.revision();
    while (!context.waiting.empty() && context.waiting.begin()->first <= durable) {
        const auto then = std::move(context.waiting.begin()->second);
        context.waiting.erase(context.waiting.begin());
        then();
    }
}

}  // namespace

Newest newest_of(Context& context, const api::Kind& kind, std::string_view ns,
                 std::string_view name) {
    const store::Entry entry = context.store.newest(key_of(kind, ns, name));
    Newest newest;
    if (entry.value == nullptr) return newest;
    newest.bytes = entry.value;
    newest.revision = entry.revision;
    const auto fresh = context.fresh_trees.find(entry.revision);
    if (fresh != context.fresh_trees.end()) {
        newest.object = *fresh->second;
    } else {
        newest.object = read_stored(*entry.value);
        newest.object.seal();  // A write makes several copies, and changes little of them.
    }
    return newest;
}

void check_room(const Context& context, Purpose purpose) {
    const store::Room room = context.store.room();
    if (room == store::Room::plenty) return;
    if (room == store::Room::removals_only && purpose == Purpose::removal) return;
    const bool takes_removals = room == store::Room::removals_only;
    throw unavailable(std::string("the disk of the server's data folder is full: ") +
                      (takes_removals ? "only deletes are taken" : "no writes are taken") +
                      " until there is room again; free some space on that disk");
}

Purpose purpose_of(const api::Value& object) {
    return object["metadata"]["deletionTimestamp"].is_null() ? Purpose::write : Purpose::removal;
}

void commit_put(Context& context, const api::Kind& kind, api::Value object,
                store::Revision expected, std::function<void(const Committed&)> done) {
    const store::Revision revision = context.store.next_revision();
    object.at("metadata").set("resourceVersion", std::to_string(revision));
    std::string key = key_of(kind, object["metadata"]["namespace"].text_or(""),
                             object["metadata"]["name"].text_or(""));
    Committed committed;
    std::string text = api::to_json(object);
    text.shrink_to_fit();  // It stays: growing has left up to as much again.
    committed.bytes = make_bytes(std::move(text));
    object.seal();
    committed.object = std::make_shared<const api::Value>(std::move(object));
    committed.revision = revision;
    context.fresh_trees[revision] = committed.object;
    update_indexes(context, key, *committed.object, revision, context.loop.now());
    count(context, key, expected == 0 ? nullptr : context.store.newest(key).value, committed.bytes);
    const store::Staged staged = context.store.stage(
        std::move(key), committed.bytes, expected,
        [&context, alive = std::weak_ptr<int>(context.alive), committed, then = std::move(done)] {
            if (alive.expired()) return;
            context.fresh_trees.erase(committed.revision);
            if (then) then(committed);
            run_waiting(context);
        });
    VERIFY(staged == store::Staged::accepted);
}

void commit_remove(Context& context, const api::Kind& kind, std::string_view ns,
                   std::string_view name, store::Revision expected,
                   std::function<void(store::Revision)> done) {
    const store::Revision revision = context.store.next_revision();
    std::string key = key_of(kind, ns, name);
    update_indexes(context, key, {}, revision, context.loop.now());
    count(context, key, context.store.newest(key).value, nullptr);
    const store::Staged staged = context.store.stage(
        std::move(key), nullptr, expected,
        [&context, alive = std::weak_ptr<int>(context.alive), revision, then = std::move(done),
         own = is_always_there(kind, ns, name), resource = kind.resource(), custom = kind.custom] {
            if (alive.expired()) return;
            if (then) then(revision);
            if (custom) after_removal(context, resource);
            if (own) create_what_every_cluster_has(context, nullptr);
            run_waiting(context);
        });
    VERIFY(staged == store::Staged::accepted);
}

void when_durable(Context& context, store::Revision revision, std::function<void()> then) {
    if (revision <= context.store.revision()) {
        then();
        return;
    }
    context.waiting.emplace(revision, std::move(then));
}

void index_object(Context& context, const std::string& key, const api::Value& object,
                  store::Revision revision) {
    Time event_time = context.loop.now();
    for (const char* field : {"lastTimestamp", "eventTime"}) {
        const auto parsed = parse_rfc3339(object[field].text_or(""));
        if (parsed && *parsed < event_time) event_time = *parsed;
    }
    update_indexes(context, key, object, revision, event_time);
    if (is_event(key)) count_event(context, nullptr, context.store.newest(key).value);
}

void count_stored(Context& context) {
    for (const store::Entry& entry : context.store.range("", "", std::size_t{1} << 30))
        if (!is_event(entry.key)) count(context, entry.key, nullptr, entry.value);
}

void order_events(Context& context) {
    context.event_expiries.sort();
}

void expire_events(Context& context) {
    const api::Kind* events = api::find_kind("", "events");
    const Time now = context.loop.now();
    while (!context.event_expiries.empty() && context.event_expiries.first().when <= now &&
           context.store.room() != store::Room::none) {
        const EventExpiries::Expiry expiry = context.event_expiries.take_first();
        if (!is_newest(context, expiry)) continue;
        const auto [ns, name] = place_of(expiry.key);
        commit_remove(context, *events, ns, name, expiry.revision, nullptr);
    }
    context.loop.after(minutes(1), [&context, alive = std::weak_ptr<int>(context.alive)] {
        if (!alive.expired() && !context.stopping) expire_events(context);
    });
}

}  // namespace muster::apiserver
