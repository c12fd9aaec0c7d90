// api/field_error.cpp - what the API server says about a wrong field, in its words.
#include "api/field_error.h"

#include <algorithm>
#include <utility>

#include "api/json.h"

namespace muster::api {
namespace {

constexpr std::size_t shown_max = 500;

FieldError error(const char* reason, const Path& path, std::string text) {
    return {reason, path.text(), std::move(text)};
}

/// The beginning of a long text, which does not end within a letter.
std::string cut(std::string text) {
    if (text.size() <= shown_max) return text;
    std::size_t end = shown_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;
    return text.substr(0, end) + "...";
}

/// Members by name: a server may have them in any order, and says the same of each.
Value in_order(Value value) {
    if (value.is_array()) {
        for (Value& item : value.mutable_items())
            item = in_order(std::move(item));
    } else if (value.is_object()) {
        for (Value::Member& member : value.mutable_members())
            member.value = in_order(std::move(member.value));
        std::sort(value.mutable_members().begin(), value.mutable_members().end(),
                  [](const auto& a, const auto& b) { return a.key < b.key; });
    }
    return value;
}

}  // namespace

std::string shown(const Value& value) {
    // Of a text the beginning is enough: each of many errors may show the same long one.
    if (value.is_string()) return cut(to_json(Value(value.as_string().substr(0, shown_max + 1))));
    return cut(to_json(in_order(value)));
}

FieldError required(const Path& path, std::string_view detail) {
    std::string text = "Required value";
    if (!detail.empty()) text.append(": ").append(detail);
    return error("FieldValueRequired", path, std::move(text));
}

FieldError invalid(const Path& path, const Value& value, std::string_view detail) {
    return error("FieldValueInvalid", path,
                 "Invalid value: " + shown(value) + ": " + std::string(detail));
}

void add_invalid(std::vector<FieldError>& errors, const Path& path, const Value& value,
                 const std::vector<std::string>& faults) {
    for (const std::string& fault : faults)
        errors.push_back(invalid(path, value, fault));
}

FieldError forbidden(const Path& path, std::string_view detail) {
    return error("FieldValueForbidden", path, "Forbidden: " + std::string(detail));
}

FieldError duplicate(const Path& path, const Value& value) {
    return error("FieldValueDuplicate", path, "Duplicate value: " + shown(value));
}

FieldError not_supported(const Path& path, const Value& value,
                         const std::vector<std::string>& allowed) {
    std::string text = "Unsupported value: " + shown(value) + ": supported values: ";
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        if (i > 0) text += ", ";
        text += '"' + allowed[i] + '"';
    }
    return error("FieldValueNotSupported", path, std::move(text));
}

FieldError not_found(const Path& path, const Value& value) {
    return error("FieldValueNotFound", path, "Not found: " + shown(value));
}

FieldError wrong_type(const Path& path, const Value& value, std::string_view wanted) {
    static constexpr const char* words[] = {"null",   "boolean", "integer", "number",
                                            "string", "array",   "object"};
    const std::string actual = words[static_cast<std::size_t>(value.type())];
    return error("FieldValueTypeInvalid", path,
                 "Invalid value: \"" + actual + "\": " + path.text() + " in body must be of type " +
                     std::string(wanted) + ": \"" + actual + "\"");
}

FieldError too_long(const Path& path, std::int64_t bytes_max) {
    return error("FieldValueTooLong", path,
                 "Too long: may not be more than " + std::to_string(bytes_max) + " bytes");
}

FieldError too_many(const Path& path, std::size_t actual, std::int64_t items_max) {
    return error("FieldValueTooMany", path,
                 "Too many: " + std::to_string(actual) + ": must have at most " +
                     std::to_string(items_max) + " items");
}

}  // namespace muster::api
