// apiserver/stored_problem.cpp - compares a key with what its object says of itself.
#include "apiserver/stored_problem.h"

#include <variant>
#include <vector>

#include "api/json.h"
#include "api/kind.h"
#include "api/schema.h"
#include "apiserver/stored.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr const char* key_form = "it is no key of an object (/GROUP/RESOURCE/NAMESPACE/NAME)";

/// The parts of "/core/pods/default/web-0"; empty when the key has another form.
std::vector<std::string_view> parts_of(std::string_view key) {
    std::vector<std::string_view> parts = split(key, '/');
    const bool is_key = parts.size() == 5 && parts[0].empty() && !parts[1].empty() &&
                        !parts[2].empty() && !parts[4].empty();
    if (!is_key) parts.clear();
    return parts;
}

/// Null for a kind that is not built in.
const api::Kind* kind_of(const std::vector<std::string_view>& parts) {
    return api::find_kind(parts[1] == "core" ? std::string_view() : parts[1], parts[2]);
}

std::string differs(const char* field, const Value& given, std::string_view wanted) {
    return std::string(field) + " is " + api::to_json(given) + ", but the key says \"" +
           std::string(wanted) + "\"";
}

std::string kind_problem(const api::Kind& kind, const Value& object, std::string_view ns) {
    if (kind.namespaced == ns.empty())
        return kind.kind + (kind.namespaced ? " has a namespace, and the key has none"
                                            : " has no namespace, and the key has one");
    if (object["kind"].text_or("") != kind.kind) return differs("kind", object["kind"], kind.kind);
    const Value& version = object["apiVersion"];
    if (!version.is_string() || api::parse_group_version(version.text()).group != kind.group)
        return differs("apiVersion", version, stored_api_version(kind));
    return "";
}

}  // namespace

std::string identity_problem(std::string_view key, const Value& object) {
    if (key == form_key) return "";
    const auto parts = parts_of(key);
    if (parts.empty()) return key_form;
    if (!object.is_object()) return "the value is not an object";
    const Value& metadata = object["metadata"];
    if (!metadata.is_object()) return "the value has no metadata";
    if (!metadata["name"].is_string() || metadata["name"].text() != parts[4])
        return differs("metadata.name", metadata["name"], parts[4]);
    const Value& ns = metadata["namespace"];
    const bool has_none = ns.is_null() && parts[3].empty();
    if (!has_none && (!ns.is_string() || ns.text() != parts[3]))
        return differs("metadata.namespace", ns, parts[3]);
    const api::Kind* kind = kind_of(parts);
    return kind == nullptr ? "" : kind_problem(*kind, object, parts[3]);
}

std::string stored_problem(std::string_view key, const std::string& bytes) {
    auto parsed = api::parse_json(bytes);
    if (const auto* fault = std::get_if<api::ParseError>(&parsed))
        return "the value is not JSON: " + fault->text;
    const Value& object = std::get<api::Parsed>(parsed).value;
    if (!object.is_object()) return "the value is not an object";
    std::string problem = identity_problem(key, object);
    if (!problem.empty() || key == form_key) return problem;
    const api::Kind* kind = kind_of(parts_of(key));
    if (kind == nullptr) return "";
    for (const api::FieldError& error : api::validate(kind->storage_schema(), object)) {
        if (error.reason == "FieldValueTypeInvalid") return error.field + ": " + error.text;
    }
    return "";
}

void check_stored(const store::Entry& entry) {
    const std::string problem = stored_problem(entry.key, *entry.value);
    if (!problem.empty()) refuse_stored(entry.key, problem);
}

void refuse_stored(std::string_view key, const std::string& problem) {
    throw Error(Reason::internal_error,
                "the store has an object that cannot be served, under the key " +
                    api::to_json(Value(std::string(key))) + ": " + problem +
                    "; restore a backup, or import an export without that line");
}

}  // namespace muster::apiserver
