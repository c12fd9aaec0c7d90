// api/field_set.h - sets of field paths, as metadata.managedFields holds them (FieldsV1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// A set of paths as a tree. A step is written as in FieldsV1: "f:spec", `k:{"name":"a"}` (an item
/// by its keys), `v:"a"` (an item of a set), "i:0". No node without a member at or below it.
struct FieldSet {
    struct Child;
    bool member = false;          // The path that ends here is in the set.
    std::vector<Child> children;  // By step, in order.

    bool empty() const { return !member && children.empty(); }
    const FieldSet* find(std::string_view step) const;
    FieldSet& at(std::string_view step);  // Made when absent; the caller puts a member into it.
    /// After children were appended in another order, with no step twice. Each of very many by `at`
    /// would move all behind it.
    void order_children();
};

struct FieldSet::Child {
    std::string step;
    FieldSet set;
};

bool operator==(const FieldSet& a, const FieldSet& b);

/// Path by path: what is in either, in both, in `a` alone.
FieldSet field_union(const FieldSet& a, const FieldSet& b);
FieldSet field_union(std::vector<FieldSet> sets);  // What is in any.
FieldSet field_intersection(const FieldSet& a, const FieldSet& b);
FieldSet field_difference(const FieldSet& a, const FieldSet& b);

/// FieldsV1, as a JSON object. Absent when it is none.
std::optional<FieldSet> parse_fields_v1(const Value& fields);
Value to_fields_v1(const FieldSet& set);

/// Every path in the set, as people read it: `.spec.containers[name="a"].image`.
std::vector<std::string> path_texts(const FieldSet& set);

}  // namespace muster::api
