// api/builtin/field_reference.cpp - see field_reference.h.
#include "api/builtin/field_reference.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "api/field_error.h"
#include "api/quantity_fields.h"
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

const Names& resources() {
    static const Names names = {"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
    return names;
}

bool is_huge_pages(std::string_view resource) {
    return resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
}

/// What an amount may be counted in: nothing, or what the resource has units for.
void check_divisor(std::string_view resource, const Value& divisor, const Path& path,
                   FieldErrors& errors) {
    static const Names of_bytes = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                   "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
    static const std::string byte_words =
        "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are "
        "supported with the ";
    const std::optional<Quantity> quantity = quantity_of(divisor);
    if (!quantity || *quantity == Quantity()) return;
    const std::string text = quantity->text();
    const auto refuse = [&](const std::string& why) {
        errors.push_back(invalid(path, Value(resource), why));
    };
    const std::string_view what = resource.substr(std::min(resource.find('.'), resource.size()));
    if (what == ".cpu") {
        if (text != "1m" && text != "1")
            refuse("only divisor's values 1m and 1 are supported with the cpu resource");
    } else if (has(of_bytes, text)) {
        return;
    } else if (what == ".memory") {
        refuse(byte_words + "memory resource");
    } else if (what == ".ephemeral-storage") {
        refuse(byte_words + "local ephemeral storage resource");
    } else if (is_huge_pages(resource)) {
        refuse(byte_words + "hugepages resource");
    }
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

void check_resource_reference(const Value& reference, ShownIn where, const Path& path,
                              FieldErrors& errors) {
    const std::string_view resource = reference["resource"].text_or("");
    if (where == ShownIn::file && reference["containerName"].text_or("").empty()) {
        errors.push_back(required(path.child("containerName")));
    } else if (resource.empty()) {
        errors.push_back(required(path.child("resource")));
    } else if (!has(resources(), resource) && !is_huge_pages(resource)) {
        errors.push_back(not_supported(path.child("resource"), reference["resource"], resources()));
    }
    check_divisor(resource, reference["divisor"], path.child("divisor"), errors);
}

}  // namespace muster::api
