// api/definition.h - the tables of kinds as text: one line a field, parsed into schemas when first
// asked.
//
//   @core.v1.Container               a definition; `atomic` behind the name: set as a whole
//   include core.v1.Common           the fields and rules of another definition
//   name 1*! string                  NAME [NUMBER[/OUTER][*][!]] TYPE ATTRIBUTES... [--
//   description] ports 6 [core.v1.ContainerPort] map=containerPort,protocol merge=containerPort
//   rule: self.a <= self.b -- a is too large
//                                    a CEL rule and its message; what is only rules is for `rules=`
//   @kueue.ObjectName string max_length=253
//                                    a named type: a type and its attributes, no fields
//
// NUMBER is the protobuf number, OUTER that of the inlined struct that holds the field; * keeps a
// zero that stands in protobuf; ! is shown as required (built-in kinds check it in code). Types:
// string bool int32 int64 integer (of no format) float32 float64 number quantity int_or_string time
// micro_time bytes any, [T] list, {T} map, (T) list wrapped in a protobuf message, or a definition.
// Attributes: required default=JSON enum=a|b pattern=RE min= max= min_length= max_length=
// min_items= max_items= max_properties= set map=KEYS merge[=KEY] replace retain_keys atomic
// nullable embedded rules=DEFINITION off_cluster (only the embedded server knows it)
// shown_required (as !). `include`
// lines, rules and descriptions are for the custom kinds; so is the check that keys of a list stand
// once.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace muster::api {

/// A table and whether it is of custom kinds.
struct DefinitionTable {
    std::string_view text;
    bool custom = false;
};

/// All tables of the program.
std::span<const DefinitionTable> definition_tables();

bool is_defined(std::string_view definition);

/// Names of all definitions, sorted.
std::vector<std::string_view> all_definitions();

}  // namespace muster::api
