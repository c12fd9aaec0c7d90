// api/apiextensions/added_kind.cpp - names, versions and schemas of a definition become a Kind.
#include "api/apiextensions/added_kind.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "api/apiextensions/crd_schema.h"
#include "base/text.h"

namespace muster::api {
namespace {

std::vector<std::string> texts_of(const Value& list) {
    std::vector<std::string> texts;
    for (const Value& text : list.items())
        texts.push_back(text.text());
    return texts;
}

std::vector<Column> columns_of(const Value& version) {
    std::vector<Column> columns;
    for (const Value& given : version["additionalPrinterColumns"].items()) {
        Column column;
        column.name = given["name"].text();
        column.type = given["type"].text();
        column.path = given["jsonPath"].text();
        column.description = given["description"].text();
        if (column.description.empty())
            column.description =
                "Custom resource definition column (in JSONPath format): " + column.path;
        column.format = given["format"].text();
        column.priority = static_cast<int>(given["priority"].integer_or(0));
        columns.push_back(std::move(column));
    }
    return columns;
}

/// What clients are shown: the definition's own words, with the metadata that every object has.
Value document_of(const Value& schema) {
    Value document = schema;
    Value& properties = document.at("properties");
    const auto add = [&](const char* name, Value property) {
        if (!properties.has(name)) properties.set(name, std::move(property));
    };
    add("apiVersion", Value::object({{"type", "string"}}));
    add("kind", Value::object({{"type", "string"}}));
    properties.set(
        "metadata",
        Value::object({{"allOf", Value::array({Value::object(
                                     {{"$ref",
                                       "#/components/schemas/"
                                       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}})})}}));
    return document;
}

/// What who asks for a deprecated version is told: also which one to use.
std::string warning_of(const Kind& kind, const Value& version, const Value& versions) {
    if (!version["deprecated"].boolean_or(false)) return "";
    const std::string own = version["deprecationWarning"].text();
    if (!own.empty()) return own;
    const std::string name = version["name"].text();
    std::string better;
    for (const Value& other : versions.items()) {
        const std::string candidate = other["name"].text();
        if (!other["served"].boolean_or(false) || other["deprecated"].boolean_or(false)) continue;
        if (!is_preferred_version(candidate, name)) continue;
        if (better.empty() || is_preferred_version(candidate, better)) better = candidate;
    }
    const auto called = [&](const std::string& of) {
        return kind.group + "/" + of + " " + kind.kind;
    };
    return called(name) + " is deprecated" + (better.empty() ? "" : "; use " + called(better));
}

Version version_of(Kind& kind, const Value& given, const Value& versions) {
    Version version;
    version.name = given["name"].text();
    const Value& schema = given["schema"]["openAPIV3Schema"];
    const auto parsed = parse_crd_schema(schema);
    if (version.name == kind.storage) kind.stored_schema = parsed;
    version.schema = LazySchema(parsed);
    version.document = std::make_shared<const Value>(document_of(schema));
    version.columns = columns_of(given);
    version.deprecated = given["deprecated"].boolean_or(false);
    version.deprecation_warning = warning_of(kind, given, versions);
    return version;
}

void set_subresources(Kind& kind, const Value& version) {
    const Value& subresources = version["subresources"];
    kind.has_status = subresources["status"].is_object();
    const Value& scale = subresources["scale"];
    kind.scale_spec_path = scale["specReplicasPath"].text();
    kind.scale_status_path = scale["statusReplicasPath"].text();
    kind.scale_selector_path = scale["labelSelectorPath"].text();
}

/// "v2beta1" as (stage, 2, 1): stable 2, beta 1, alpha 0. Absent: any other name.
std::optional<std::tuple<int, std::int64_t, std::int64_t>> rank_of(std::string_view version) {
    if (!version.starts_with('v')) return std::nullopt;
    version.remove_prefix(1);
    const std::size_t end = std::min(version.find_first_not_of("0123456789"), version.size());
    const auto major = parse_integer(version.substr(0, end));
    if (!major) return std::nullopt;
    version.remove_prefix(end);
    if (version.empty()) return std::tuple{2, *major, std::int64_t{0}};
    const bool beta = version.starts_with("beta");
    if (!beta && !version.starts_with("alpha")) return std::nullopt;
    const auto minor = parse_integer(version.substr(beta ? 4 : 5));
    if (!minor) return std::nullopt;
    return std::tuple{beta ? 1 : 0, *major, *minor};
}

}  // namespace

std::string_view condition_of(const Value& crd, std::string_view type) {
    for (const Value& condition : crd["status"]["conditions"].items()) {
        if (condition["type"].text_or("") == type) return condition["status"].text_or("");
    }
    return "";
}

bool is_established(const Value& crd) {
    return condition_of(crd, "Established") == "True";
}

bool is_preferred_version(std::string_view a, std::string_view b) {
    const auto left = rank_of(a), right = rank_of(b);
    if (left && right) return *left > *right;
    if (left.has_value() != right.has_value()) return left.has_value();
    return a < b;
}

GroupResource resource_of_crd(const Value& crd) {
    return {crd["spec"]["group"].text(), crd["spec"]["names"]["plural"].text()};
}

Kind names_of_added(const Value& crd) {
    const Value& spec = crd["spec"];
    const Value& names = spec["names"];
    Kind kind;
    kind.custom = true;
    kind.group = spec["group"].text();
    kind.kind = names["kind"].text();
    kind.list_kind = names["listKind"].text();
    kind.plural = names["plural"].text();
    kind.singular = names["singular"].text();
    kind.short_names = texts_of(crd["status"]["acceptedNames"]["shortNames"]);
    kind.categories = texts_of(names["categories"]);
    kind.namespaced = spec["scope"].text_or("") == "Namespaced";
    kind.by_webhook = spec["conversion"]["strategy"].text_or("") == "Webhook";
    if (kind.by_webhook)
        kind.conversion = std::make_shared<const Value>(spec["conversion"]["webhook"]);
    for (const Value& given : spec["versions"].items()) {
        const bool stored = given["storage"].boolean_or(false);
        if (stored) kind.storage = given["name"].text();
        if (!given["served"].boolean_or(false)) continue;
        Version version;
        version.name = given["name"].text();
        kind.versions.push_back(std::move(version));
    }
    std::stable_sort(
        kind.versions.begin(), kind.versions.end(),
        [](const Version& a, const Version& b) { return is_preferred_version(a.name, b.name); });
    return kind;
}

Kind added_kind(const Value& crd) {
    Kind kind = names_of_added(crd);
    for (const Value& given : crd["spec"]["versions"].items()) {
        for (const Value& field : given["selectableFields"].items()) {
            const std::string path = field["jsonPath"].text().substr(1);
            auto& fields = kind.selectable_fields;
            if (std::find(fields.begin(), fields.end(), path) == fields.end())
                fields.push_back(path);
        }
        for (Version& version : kind.versions) {
            if (version.name == given["name"].text_or(""))
                version = version_of(kind, given, crd["spec"]["versions"]);
        }
        if (!given["storage"].boolean_or(false)) continue;
        set_subresources(kind, given);
        if (kind.stored_schema == nullptr)  // Not served.
            kind.stored_schema = parse_crd_schema(given["schema"]["openAPIV3Schema"]);
    }
    // What was stored by an older definition is read as this one has it.
    kind.reread = crd["metadata"]["generation"].integer_or(1) > 1 ||
                  crd["status"]["storedVersions"].size() > 1;
    return kind;
}

}  // namespace muster::api
