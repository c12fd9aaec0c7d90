// apiserver/media.h - which form of an answer a client asks for, and in which form a body came.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace muster::apiserver {

/// The form of an answer. Two requests with equal forms share encoded bytes.
struct Form {
    enum class Shape { object, table, metadata };
    /// What a table's rows carry of their objects.
    enum class Include { none, metadata, object };
    Shape shape = Shape::object;
    Include include = Include::metadata;
    std::string meta_version = "v1";  // Of meta.k8s.io, for tables and metadata.
    bool list = false;                // as=PartialObjectMetadataList was asked for.
    bool yaml = false;
    bool pretty = false;
    friend auto operator<=>(const Form&, const Form&) = default;
};

/// The first form in Accept that can be answered. Absent: none can (406).
std::optional<Form> negotiate(const net::Request& request);

/// How a body is written.
enum class BodyType { json, yaml, protobuf, merge_patch, json_patch, strategic_patch, apply_patch };

/// By Content-Type; none means JSON. Absent: not one that is read (415).
std::optional<BodyType> body_type(const net::Request& request);

/// Value of a media type parameter: parameter("a/b;as=Table;v=v1", "as") is "Table".
std::string_view parameter(std::string_view media, std::string_view name);

}  // namespace muster::apiserver
