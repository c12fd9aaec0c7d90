// api/field_error.h - what the API server says about a wrong field, in its words.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

FieldError required(const Path& path, std::string_view detail = "");
FieldError invalid(const Path& path, const Value& value, std::string_view detail);
/// One error for each fault of a name (base/dns_name.h).
void add_invalid(std::vector<FieldError>& errors, const Path& path, const Value& value,
                 const std::vector<std::string>& faults);
FieldError forbidden(const Path& path, std::string_view detail);
FieldError duplicate(const Path& path, const Value& value);
FieldError not_supported(const Path& path, const Value& value,
                         const std::vector<std::string>& allowed);
FieldError not_found(const Path& path, const Value& value);
FieldError wrong_type(const Path& path, const Value& value, std::string_view wanted);
FieldError too_long(const Path& path, std::int64_t bytes_max);
FieldError too_many(const Path& path, std::size_t actual, std::int64_t items_max);

/// The value as it stands in an error: text quoted, objects as JSON, long ones cut.
std::string shown(const Value& value);

}  // namespace muster::api
