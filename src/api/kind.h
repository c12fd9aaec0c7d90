// api/kind.h - the registry: every kind that Muster serves, with its versions, names, schema and
// columns.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// "apps/v1" split; the core group is "".
struct GroupVersion {
    std::string group;
    std::string version;
    friend auto operator<=>(const GroupVersion&, const GroupVersion&) = default;
};

GroupVersion parse_group_version(std::string_view api_version);
std::string to_api_version(const GroupVersion& group_version);  // "v1", "batch/v1"

/// A resource in any version: what keys, rights and caches are named by.
struct GroupResource {
    Symbol group;
    Symbol plural;
    friend auto operator<=>(const GroupResource&, const GroupResource&) = default;
};

/// One object. `ns` is empty for cluster-scoped kinds.
struct Key {
    GroupResource resource;
    Symbol ns;
    std::string name;
    friend auto operator<=>(const Key&, const Key&) = default;
};
std::string to_text(const Key& key);  // "pods/default/web-0", "clusterqueues.kueue.x-k8s.io/team-a"

/// For tables by key; where order matters there are the ordered ones.
struct KeyHash {
    // Not noexcept: so the standard library's tables remember each hash and walk without asking.
    std::size_t operator()(const Key& key) const {
        const std::size_t name = std::hash<std::string>()(key.name);
        return (name * 31 + key.ns.hash()) * 31 + key.resource.plural.hash();
    }
};

/// A column of `kubectl get`; `path` is a JSONPath as in a CRD (".status.state"). Built-in kinds
/// whose columns need code (pods' READY) have a function in api/columns.h instead.
struct Column {
    std::string name;
    std::string type;  // string, integer, number, boolean, date
    std::string path;
    std::string description;
    int priority = 0;  // Above 0: only with -o wide.
    std::string format;
};

/// One served version of a kind.
struct Version {
    std::string name;             // "v1beta1"
    LazySchema schema;            // `*version.schema`, `version.schema->fields`.
    std::vector<Column> columns;  // Custom kinds only, without NAME; see api/columns.h.
    bool deprecated = false;
    std::string deprecation_warning;  // Empty: the usual words.
    /// As a CustomResourceDefinition has it, for OpenAPI; null: made from the schema.
    std::shared_ptr<const Value> document;
};

/// A kind, named once. The stored form is the `storage` version; `convert` turns one served version
/// into another (identity but for apiVersion when null).
struct Kind {
    std::string group;
    std::string kind;
    std::string plural;
    std::string singular;
    std::vector<std::string> short_names;
    std::vector<std::string> categories;
    bool namespaced = true;
    bool has_status =
        false;  // A /status subresource: main writes keep status, status writes keep the rest.
    bool custom = false;            // A CRD kind: no strategic merge (415), merge patch by clients.
    std::string scale_spec_path;    // ".spec.replicas"; empty: no /scale.
    std::string scale_status_path;  // ".status.replicas"
    std::string scale_selector_path;  // ".status.selector"; a label selector object for built-ins.
    std::vector<Version> versions;    // The preferred first.
    std::string storage;              // Name of the stored version.
    // Of kinds that came with a CustomResourceDefinition only:
    std::string list_kind;                        // Empty: the kind and "List".
    std::shared_ptr<const Schema> stored_schema;  // Of the stored version, which may not be served.
    bool by_webhook = false;                      // Versions are made of each other by a webhook:
    std::shared_ptr<const Value> conversion;      // this one; as the definition has it.
    bool reread = false;    // Stored bytes may be of an older definition: not sent as they are.
    std::string stored_as;  // Plural in the core group under which it is kept; empty: its own. Only
                            // events.k8s.io has it; its `convert` then goes from and to core/v1,
                            // `to_version` being an apiVersion ("v1", "events.k8s.io/v1").
    std::vector<std::string>
        selectable_fields;  // Field selectors beside metadata.name and metadata.namespace.
    std::string caveat;     // Sent as a Warning on create: what this version does not do with it.
    Value (*convert)(Value object, std::string_view to_version) = nullptr;
    std::vector<FieldError> (*validate)(const Value& object,
                                        const Value* old) = nullptr;  // Beyond the schema.
    void (*defaulting)(Value& object) = nullptr;                      // Beyond the schema.

    const Version* find_version(std::string_view version) const;
    /// That of the stored version.
    const Schema& storage_schema() const;
    GroupResource resource() const { return {group, plural}; }
    std::string list_name() const { return list_kind.empty() ? kind + "List" : list_kind; }
};

/// Every kind, in discovery order. Made once; lives as long as the program.
const std::vector<Kind>& all_kinds();

/// Kinds that can be created and are answered, but never kept: TokenReview, the access reviews,
/// Binding. For discovery and reading; find_kind does not know them.
const std::vector<Kind>& review_kinds();

/// The schema of anything a client may send: kinds, reviews, and what goes to subresources
/// (DeleteOptions, Eviction, Scale, TokenRequest). Null when unknown.
const Schema* find_schema(std::string_view api_version, std::string_view kind);

/// Of the tables; null when they do not have it.
const Kind* find_kind(std::string_view group, std::string_view plural);
const Kind* find_kind_named(std::string_view group, std::string_view kind);

/// The kinds that a server serves, or that a client knows: those of the tables and those that users
/// added. A value; copies share the kinds.
class Kinds {
public:
    /// Null when there is none. Valid while the set is not changed.
    const Kind* find(std::string_view group, std::string_view plural) const;
    const Kind* find_named(std::string_view group, std::string_view kind) const;
    /// The same, for who needs it longer: it outlives its replacement and removal.
    std::shared_ptr<const Kind> find_shared(std::string_view group, std::string_view plural) const;

    /// In discovery order: those of the tables, then the added ones by name.
    std::vector<const Kind*> all() const;
    std::vector<std::shared_ptr<const Kind>> added() const;

    /// In the place of the added one of that name, if there is one. Requires: the tables have none.
    void add(Kind kind);
    void remove(const GroupResource& resource);

private:
    std::map<GroupResource, std::shared_ptr<const Kind>> added_;
};

}  // namespace muster::api
