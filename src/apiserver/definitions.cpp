// apiserver/definitions.cpp - the life of definitions that users bring.
#include "apiserver/definitions.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "api/apiextensions/added_kind.h"
#include "api/apiextensions/crd_approval.h"
#include "api/json.h"
#include "apiserver/commit.h"
#include "apiserver/remove.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "apiserver/watch.h"
#include "base/hash.h"
#include "base/log.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr const char* group_name = "apiextensions.k8s.io";
constexpr const char* plural_name = "customresourcedefinitions";
constexpr const char* cleanup_finalizer = "customresourcecleanup.apiextensions.k8s.io";
constexpr std::size_t everything = 1u << 30;

const api::Kind& definition_kind() {
    return *api::find_kind(group_name, plural_name);
}

std::string name_of(const api::GroupResource& resource) {
    return resource.plural + "." + resource.group;
}

/// Kinds of the tables are served as they are, whatever a definition says of them.
bool is_own(const api::GroupResource& resource) {
    return api::find_kind(resource.group, resource.plural) != nullptr;
}

/// Names that others of the group have.
struct Taken {
    std::set<std::string> resources;
    std::set<std::string> kinds;
};

Taken taken_by_others(const Context& context, const api::GroupResource& self) {
    Taken taken;
    for (const api::Kind* kind : context.kinds.all()) {
        if (kind->group != self.group || kind->resource() == self) continue;
        taken.resources.insert({kind->plural, kind->singular});
        taken.resources.insert(kind->short_names.begin(), kind->short_names.end());
        taken.kinds.insert({kind->kind, kind->list_name()});
    }
    return taken;
}

struct Condition {
    const char* type;
    const char* status;
    std::string reason;
    std::string message;
};

void set_condition(Context& context, Value& crd, const Condition& wanted) {
    Value& conditions = crd.at("status").at("conditions");
    if (!conditions.is_array()) conditions = Value::array();
    Value made = Value::object({{"lastTransitionTime", to_rfc3339(context.loop.now())},
                                {"message", wanted.message},
                                {"reason", wanted.reason},
                                {"status", wanted.status},
                                {"type", wanted.type}});
    for (Value& present : conditions.mutable_items()) {
        if (present["type"].text_or("") != wanted.type) continue;
        if (present["status"] == made["status"])
            made.set("lastTransitionTime", present["lastTransitionTime"]);
        present = std::move(made);
        return;
    }
    conditions.push(std::move(made));
}

/// Takes each name that nobody else has; the condition says which was the last that could not be.
Condition accept_names(const Context& context, const Value& crd, Value& accepted) {
    const api::GroupResource resource = api::resource_of_crd(crd);
    const Taken taken = is_own(resource) ? Taken{} : taken_by_others(context, resource);
    const Value& wanted = crd["spec"]["names"];
    if (!accepted.is_object()) accepted = Value::object({{"kind", ""}, {"plural", ""}});
    Condition condition{"NamesAccepted", "True", "NoConflicts", "no conflicts found"};
    const auto take = [&](const char* field, const char* reason,
                          const std::set<std::string>& others) {
        const std::string name = wanted[field].text();
        if (!others.contains(name)) {
            accepted.set(field, name);
            return;
        }
        condition = {"NamesAccepted", "False", reason, "\"" + name + "\" is already in use"};
    };
    take("plural", "PluralConflict", taken.resources);
    take("singular", "SingularConflict", taken.resources);
    const auto& shorts = wanted["shortNames"].items();
    const auto conflict = std::find_if(shorts.begin(), shorts.end(), [&](const Value& name) {
        return taken.resources.contains(name.text());
    });
    if (conflict != shorts.end()) {
        condition = {"NamesAccepted", "False", "ShortNamesConflict",
                     "\"" + conflict->text() + "\" is already in use"};
    } else if (!shorts.empty()) {
        accepted.set("shortNames", wanted["shortNames"]);
    } else {
        accepted.erase("shortNames");
    }
    take("kind", "KindConflict", taken.kinds);
    take("listKind", "ListKindConflict", taken.kinds);
    if (wanted["categories"].empty()) accepted.erase("categories");
    if (!wanted["categories"].empty()) accepted.set("categories", wanted["categories"]);
    return condition;
}

void add_stored_version(Value& crd) {
    std::string storage;
    for (const Value& version : crd["spec"]["versions"].items()) {
        if (version["storage"].boolean_or(false)) storage = version["name"].text();
    }
    Value& stored = crd.at("status").at("storedVersions");
    if (!stored.is_array()) stored = Value::array();
    const auto& items = stored.items();
    if (!storage.empty() && std::find(items.begin(), items.end(), Value(storage)) == items.end())
        stored.push(storage);
}

/// What a change of the definition would change of its kind.
std::string print_of(const Value& crd) {
    return std::to_string(stable_hash(api::to_json(crd["spec"]))) +
           api::to_json(crd["status"]["acceptedNames"]) +
           api::to_json(crd["status"]["storedVersions"]);
}

void end_watches(Context& context, const api::GroupResource& resource) {
    for (const auto& watch : std::set(context.watches)) {
        if (watch->resource() == resource) watch->end();
    }
}

/// Documents about the group are made anew.
void forget_documents(Context& context, const std::string& group) {
    std::erase_if(context.open_api, [&](const auto& document) {
        return document.first.starts_with("apis/" + group + "/");
    });
}

/// Who had to wait for a name may have it now.
void judge_names_again(Context& context) {
    for (const store::Entry& entry :
         context.store.range(key_prefix(definition_kind()), "", everything)) {
        Newest newest = newest_of(context, definition_kind(), "", place_of(entry.key).name);
        if (api::condition_of(newest.object, "NamesAccepted") != "False") continue;
        Value crd = newest.object;
        set_definition_status(context, crd);
        if (!(crd["status"] == newest.object["status"]))
            commit_put(context, definition_kind(), std::move(crd), newest.revision, nullptr);
    }
}

/// Takes no answer: what the server does of itself.
struct Nobody : net::Responder {
    void respond(net::Response) override {}
    void begin(net::Response) override {}
    void write(Bytes) override {}
    void finish() override {}
    std::size_t buffered() const override { return 0; }
    void on_closed(std::function<void()>) override {}
    net::Backlog backlog() const override { return nullptr; }
    std::shared_ptr<net::Channel> upgrade_websocket(std::string) override { return nullptr; }
    std::shared_ptr<net::Channel> upgrade_raw(net::Response) override { return nullptr; }
};

/// The definition is free of what held it, and so it is removed.
void remove_definition(Context& context, const std::string& name) {
    const Newest newest = newest_of(context, definition_kind(), "", name);
    if (newest.object["metadata"]["deletionTimestamp"].is_null()) return;
    Value rest = Value::array();
    for (const Value& finalizer : newest.object["metadata"]["finalizers"].items()) {
        if (finalizer.text_or("") != cleanup_finalizer) rest.push(finalizer);
    }
    if (rest.empty()) {
        commit_remove(context, definition_kind(), "", name, newest.revision, nullptr);
        return;
    }
    if (rest == newest.object["metadata"]["finalizers"]) return;
    Value crd = newest.object;
    crd.at("metadata").set("finalizers", std::move(rest));
    commit_put(context, definition_kind(), std::move(crd), newest.revision, nullptr);
}

/// Deletes all objects of a definition that is being deleted; it goes when the last of them has.
void empty_definition(Context& context, const api::GroupResource& resource) {
    const auto kind = context.kinds.find_shared(resource.group, resource.plural);
    if (kind == nullptr) {
        remove_definition(context, name_of(resource));
        return;
    }
    const auto exchange = std::make_shared<Exchange>();
    exchange->request.method = "DELETE";
    exchange->request.peer.trusted = true;
    exchange->responder = std::make_shared<Nobody>();
    exchange->user.name = "system:apiserver";
    exchange->user.groups = {"system:masters"};
    exchange->kind = kind.get();
    exchange->held = kind;
    for (const store::Entry& entry : context.store.range(key_prefix(*kind), "", everything)) {
        const auto [ns, name] = place_of(entry.key);
        Removing removing;
        removing.ns = ns;
        removing.name = name;
        removing.asked = Removing::Asked::already;
        removing.done = [](const Removal&) {};
        guarded(
            exchange,
            [&context, exchange, removing] { remove_object(context, exchange, removing); },
            [resource](const StatusError& error) {
                // One that went meanwhile is what was wanted.
                if (error.reason() != Reason::not_found)
                    log_warning("apiserver", "of " + name_of(resource) + ": " + error.what());
            });
    }
    after_removal(context, resource);
}

}  // namespace

bool is_definition(const api::Kind& kind) {
    return kind.plural == plural_name && kind.group == group_name;
}

bool is_own_definition(std::string_view name) {
    const std::size_t dot = name.find('.');
    return dot != std::string_view::npos &&
           api::find_kind(name.substr(dot + 1), name.substr(0, dot)) != nullptr;
}

void set_definition_status(Context& context, Value& crd) {
    if (!crd["status"].is_object()) crd.set("status", Value::object());
    const Condition names = accept_names(context, crd, crd.at("status").at("acceptedNames"));
    const bool good = names.status == std::string_view("True");
    if (const auto approval = api::approval_of_crd(crd)) {
        set_condition(context, crd,
                      {"KubernetesAPIApprovalPolicyConformant", approval->status, approval->reason,
                       approval->message});
    }
    set_condition(context, crd, names);
    if (good) {
        set_condition(context, crd,
                      {"Established", "True", "InitialNamesAccepted",
                       "the initial names have been accepted"});
    } else if (!api::is_established(crd)) {
        set_condition(context, crd,
                      {"Established", "False", "NotAccepted", "not all names are accepted"});
    }
    add_stored_version(crd);
}

bool has_other_names(const Context& context, const Value& crd, const Value& old) {
    Value accepted = old["status"]["acceptedNames"];
    const Condition names = accept_names(context, crd, accepted);
    return !(accepted == crd["status"]["acceptedNames"]) ||
           names.status != api::condition_of(crd, "NamesAccepted");
}

void begin_definition_removal(Context& context, Value& crd) {
    if (is_own(api::resource_of_crd(crd))) return;
    // Once its objects are gone nobody would take the finalizer away a second time.
    if (api::condition_of(crd, "Terminating") == "True") return;
    Value& finalizers = crd.at("metadata").at("finalizers");
    if (!finalizers.is_array()) finalizers = Value::array();
    const auto& items = finalizers.items();
    if (std::find(items.begin(), items.end(), Value(cleanup_finalizer)) != items.end()) return;
    finalizers.push(cleanup_finalizer);
    set_condition(context, crd,
                  {"Terminating", "True", "InstanceDeletionInProgress",
                   "CustomResource deletion is in progress"});
}

void put_definition(Context& context, std::string_view name, const Value& crd,
                    store::Revision revision) {
    const auto present = context.definitions.find(name);
    if (crd.is_null()) {
        if (present == context.definitions.end()) return;
        const api::GroupResource resource = present->second.resource;
        context.definitions.erase(present);
        context.kinds.remove(resource);
        forget_documents(context, resource.group);
        // In their own time: the removals of its objects are told first.
        when_durable(context, revision, [&context, resource] {
            end_watches(context, resource);
            judge_names_again(context);
        });
        return;
    }
    const api::GroupResource resource = api::resource_of_crd(crd);
    if (is_own(resource)) return;
    Context::Definition& definition = context.definitions[std::string(name)];
    definition.resource = resource;
    const bool was_ending = definition.ending;
    definition.ending = !crd["metadata"]["deletionTimestamp"].is_null();
    if (std::string print = print_of(crd); api::is_established(crd) && print != definition.print) {
        context.kinds.add(api::added_kind(crd));
        forget_documents(context, resource.group);
        if (!definition.print.empty()) end_watches(context, resource);
        definition.print = std::move(print);
    }
    if (definition.ending && !was_ending) {
        when_durable(context, revision, [&context, resource, alive = std::weak_ptr(context.alive)] {
            context.loop.post([&context, resource, alive] {
                if (!alive.expired()) empty_definition(context, resource);
            });
        });
    }
}

void after_removal(Context& context, const api::GroupResource& resource) {
    const auto found = context.definitions.find(name_of(resource));
    if (found == context.definitions.end() || !found->second.ending) return;
    const api::Kind* kind = context.kinds.find(resource.group, resource.plural);
    if (kind != nullptr && !context.store.range(key_prefix(*kind), "", 1).empty()) return;
    remove_definition(context, name_of(resource));
}

void check_not_ending(const Context& context, const api::Kind& kind, std::string_view name) {
    if (kind.stored_schema == nullptr) return;
    const auto found = context.definitions.find(name_of(kind.resource()));
    if (found == context.definitions.end() || !found->second.ending) return;
    throw StatusError(Reason::method_not_allowed,
                      resource_text(kind.resource()) + " \"" + std::string(name) +
                          "\": create not allowed while custom resource definition is terminating");
}

}  // namespace muster::apiserver
