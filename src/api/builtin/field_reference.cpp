// api/builtin/field_reference.cpp - see field_reference.h.
#include "api/builtin/field_reference.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "api/field_error.h"
#include "base/dns_name.h"

namespace muster::api {
namespace {

using Names = std::vector<std::string>;

/// All that a pod's references could ever name, also what neither variables nor files may show.
const Names& labels_of_fields() {
    static const Names names = {"metadata.annotations", "metadata.labels",
                                "metadata.name",        "metadata.namespace",
                                "metadata.uid",         "spec.host",
                                "spec.nodeName",        "spec.restartPolicy",
                                "spec.schedulerName",   "spec.serviceAccountName",
                                "status.hostIP",        "status.hostIPs",
                                "status.phase",         "status.podIP",
                                "status.podIPs"};
    return names;
}

const Names& shown_in(ShownIn where) {
    static const Names in_variables = {"metadata.name",
                                       "metadata.namespace",
                                       "metadata.uid",
                                       "spec.nodeName",
                                       "spec.serviceAccountName",
                                       "status.hostIP",
                                       "status.hostIPs",
                                       "status.podIP",
                                       "status.podIPs"};
    static const Names in_files = {"metadata.annotations", "metadata.labels", "metadata.name",
                                   "metadata.namespace", "metadata.uid"};
    return where == ShownIn::variable ? in_variables : in_files;
}

bool has(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// "metadata.labels['a']" is the map and its key.
std::optional<std::pair<std::string, std::string>> map_and_key(std::string_view field) {
    if (!field.ends_with("']")) return std::nullopt;
    field.remove_suffix(2);
    const std::size_t begin = field.find("['");
    if (begin == std::string_view::npos || begin == 0) return std::nullopt;
    return std::pair(std::string(field.substr(0, begin)), std::string(field.substr(begin + 2)));
}

std::string in_lower_case(std::string text) {
    for (char& letter : text)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return text;
}

}  // namespace

void check_field_reference(const Value& reference, ShownIn where, const Path& path,
                           FieldErrors& errors) {
    const std::string_view version = reference["apiVersion"].text_or("");
    const Value& field = reference["fieldPath"];
    const Path field_path = path.child("fieldPath");
    const auto refuse = [&](const std::string& why) {
        errors.push_back(invalid(field_path, field, "error converting fieldPath: " + why));
    };
    if (version.empty()) return errors.push_back(required(path.child("apiVersion")));
    if (field.text_or("").empty()) return errors.push_back(required(field_path));
    if (version != "v1") return refuse("unsupported pod version: " + std::string(version));
    if (const auto inside = map_and_key(field.as_string())) {
        const auto& [map, key] = *inside;
        if (map != "metadata.annotations" && map != "metadata.labels")
            return refuse("field label does not support subscript: " + field.text());
        const std::string name = map == "metadata.labels" ? key : in_lower_case(key);
        return add_invalid(errors, path, Value(name), label_key_faults(name));
    }
    if (!has(labels_of_fields(), field.as_string()))
        return refuse("field label not supported: " + field.text());
    // The old name of it.
    const std::string name = field.as_string() == "spec.host" ? "spec.nodeName" : field.text();
    if (!has(shown_in(where), name))
        errors.push_back(not_supported(field_path, Value(name), shown_in(where)));
}

}  // namespace muster::api
