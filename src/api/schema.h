// api/schema.h - the shape of a kind: one tree that drives strict checking, pruning, defaults,
// validation, merge keys, server-side apply, protobuf reading, OpenAPI and the CRDs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// One thing wrong with a field; becomes a cause in `Status.details`.
struct FieldError {
    std::string reason;  // "FieldValueInvalid", "FieldValueRequired", "FieldValueNotSupported", ...
    std::string field;   // "spec.resourceGroups[0].flavors"
    std::string
        text;  // What is wrong, the allowed values, and the fix; as the API server words it.
};

/// How lists merge in strategic merge patch and server-side apply.
enum class ListKind : std::uint8_t { atomic, set, map };

struct Checks;

/// A node of a schema. Shared and immutable once built.
struct Schema {
    enum class Type : std::uint8_t {
        any,  // x-kubernetes-preserve-unknown-fields: RawExtension, JSON
        boolean,
        integer,
        number,
        string,
        object,    // has `fields`
        map,       // string -> `element`
        list,      // of `element`
        quantity,  // string or number in, string kept
        int_or_string,
        time,
        micro_time,
        bytes,  // base64 text
    };
    struct Field {
        std::string name;
        std::shared_ptr<const Schema> schema;
        bool required = false;
        bool shown_required =
            false;               // In OpenAPI only: built-in kinds check it in their own words.
        int tag = 0;             // Protobuf field number; 0: not in protobuf.
        int via = 0;             // Protobuf number of the inlined struct that holds it; 0: none.
        bool keep_zero = false;  // "", 0, false, [] and {} mean that it was set.
        std::optional<Value> default_value;
        std::string_view description;  // In the tables, which live as long as the program.
    };

    Type type = Type::any;
    std::vector<Field> fields;
    std::shared_ptr<const Schema> element;
    ListKind list_kind = ListKind::atomic;
    std::vector<std::string> list_keys;  // Keys of a `map` list for server-side apply.
    std::string patch_merge_key;         // Strategic merge patch; empty: replace.
    bool patch_merge =
        false;  // Lists: merge by key or as a set; structs: always merge unless below.
    bool patch_replace = false;  // Strategy "replace" on a struct.
    bool patch_retain_keys = false;
    bool atomic_map = false;       // x-kubernetes-map-type: atomic
    bool embedded_object = false;  // x-kubernetes-embedded-resource
    bool nullable = false;
    bool unique_keys = false;  // Lists: a key that stands twice is an error (the custom kinds).
    std::string format;        // int32, int64, double, items (protobuf: a list in a message), ...
    std::string pattern;       // RE2
    std::vector<std::string> enum_values;
    std::optional<std::int64_t> minimum, maximum, min_length, max_length, min_items, max_items,
        max_properties;
    bool keeps_unknown = false;  // Objects: x-kubernetes-preserve-unknown-fields.
    /// Not null in a schema that came with a CustomResourceDefinition: its limits stand there and
    /// not in this node, and a null item of a list is a value of the wrong type.
    std::shared_ptr<const Checks> checks;
    std::string name;  // OpenAPI definition name ("io.k8s.api.core.v1.PodSpec"); may be empty.

    const Field* find_field(std::string_view field_name) const;
};

/// The schema of a definition ("core.v1.PodSpec") of the tables; parsed when first asked, kept for
/// the program's life. Requires: it is defined. Loop thread only.
std::shared_ptr<const Schema> schema_of(std::string_view definition);

/// A schema that is looked up when first used, so that a kind that nobody asks for costs nothing.
/// Loop thread only.
class LazySchema {
public:
    LazySchema() = default;
    explicit LazySchema(std::string definition) : definition_(std::move(definition)) {}
    explicit LazySchema(std::shared_ptr<const Schema> schema) : schema_(std::move(schema)) {}
    const Schema& operator*() const;
    const Schema* operator->() const { return &**this; }
    /// False: nobody has said one, and it must not be asked for.
    bool is_known() const { return schema_ != nullptr || !definition_.empty(); }

private:
    std::string definition_;
    mutable std::shared_ptr<const Schema> schema_;
};

/// Unknown fields, as "spec.foo", in document order.
std::vector<std::string> unknown_fields(const Schema& schema, const Value& value);
/// Removes unknown fields, and nulls where none may stand (they mean "not given").
void prune(const Schema& schema, Value& value);
/// For built-in kinds, as a typed server keeps them: quantities (1 and "1000m" as "1") and times
/// (in UTC) in one form; "", 0, false, [] and {} go where they mean nothing. What is neither stays.
void canonicalize(const Schema& schema, Value& value);
/// Fills what is absent and has a default.
void apply_defaults(const Schema& schema, Value& value);
/// Types, required fields, enums, patterns, sizes; list keys unique. Empty: valid. A wrong type has
/// the reason "FieldValueTypeInvalid": for a built-in kind that is a 400 (it cannot be decoded).
std::vector<FieldError> validate(const Schema& schema, const Value& value);

}  // namespace muster::api
