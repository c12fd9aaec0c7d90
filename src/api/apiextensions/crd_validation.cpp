// api/apiextensions/crd_validation.cpp - what a CustomResourceDefinition has to say of its names,
// versions, subresources, columns and conversion.
#include "api/apiextensions/crd_validation.h"

#include <algorithm>
#include <set>
#include <string>

#include "api/apiextensions/added_kind.h"
#include "api/apiextensions/crd_approval.h"
#include "api/apiextensions/crd_schema.h"
#include "api/field_error.h"
#include "api/webhook_client.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

void add_faults(Errors& errors, const Path& path, const Value& value,
                const std::vector<std::string>& faults, const char* before = "") {
    if (!faults.empty()) errors.push_back(invalid(path, value, before + join(faults, ",")));
}

/// A name that must be there, in small letters or, for kinds, in any.
void check_name(const Value& names, const char* field, const Path& path, Errors& errors) {
    const Path at = path.child(field);
    const std::string_view name = names[field].text_or("");
    if (name.empty()) {
        errors.push_back(required(at));
        return;
    }
    const std::string_view wanted(field);
    if (wanted == "kind" || wanted == "listKind") {
        add_faults(errors, at, names[field], dns1035_label_faults(to_lower(name)),
                   "may have mixed case, but should otherwise match: ");
    } else {
        add_faults(errors, at, names[field], dns1035_label_faults(name));
    }
}

void check_names(const Value& names, const Path& path, Errors& errors) {
    for (const char* field : {"plural", "singular", "kind", "listKind"})
        check_name(names, field, path, errors);
    if (names["kind"] == names["listKind"] && !names["kind"].is_null()) {
        errors.push_back(invalid(path.child("listKind"), names["listKind"],
                                 "kind and listKind may not be the same"));
    }
    for (const char* field : {"shortNames", "categories"}) {
        const Path at = path.child(field);
        for (std::size_t i = 0; i < names[field].size(); ++i)
            add_faults(errors, at.item(i), names[field][i],
                       dns1035_label_faults(names[field][i].text_or("")));
    }
}

void check_group(const Value& crd, Errors& errors) {
    const Path spec = Path().child("spec");
    const Path at = spec.child("group");
    const Value& group = crd["spec"]["group"];
    const std::string text = group.text();
    if (text.empty()) {
        errors.push_back(required(at));
        return;
    }
    const std::vector<std::string> faults = dns1123_subdomain_faults(text);
    add_faults(errors, at, group, faults);
    if (faults.empty() && text.find('.') == std::string::npos)
        errors.push_back(invalid(at, group, "should be a domain with at least one dot"));
    const std::optional<CrdApproval> approval = approval_of_crd(crd);
    if (approval && crd["metadata"]["annotations"][approval_annotation].text().empty()) {
        const Path metadata = Path().child("metadata");
        errors.push_back(
            required(metadata.child("annotations").key(approval_annotation), approval->message));
    }
}

/// A path such as .spec.replicas, without indexes.
bool is_simple_path(std::string_view path) {
    if (!path.starts_with('.') || path.size() < 2) return false;
    return path.find_first_of("[]*?") == std::string_view::npos && !path.ends_with('.') &&
           path.find("..") == std::string_view::npos;
}

void check_scale_path(const Value& scale, const char* field, const char* below, const Path& path,
                      Errors& errors) {
    const Path at = path.child(field);
    const std::string text = scale[field].text();
    if (text.empty()) {
        errors.push_back(required(at));
    } else if (!is_simple_path(text)) {
        errors.push_back(invalid(at, scale[field],
                                 "should be a json path that begins with a dot, "
                                 "without array notation"));
    } else if (!text.starts_with(below)) {
        errors.push_back(invalid(at, scale[field],
                                 "should be a json path under " +
                                     std::string(below, 0, std::string_view(below).size() - 1)));
    }
}

void check_subresources(const Value& version, const Path& path, Errors& errors) {
    const Value& scale = version["subresources"]["scale"];
    if (!scale.is_object()) return;
    const Path subresources = path.child("subresources");
    const Path at = subresources.child("scale");
    check_scale_path(scale, "specReplicasPath", ".spec.", at, errors);
    check_scale_path(scale, "statusReplicasPath", ".status.", at, errors);
    const std::string selector = scale["labelSelectorPath"].text();
    if (selector.empty()) return;
    if (!is_simple_path(selector) ||
        (!selector.starts_with(".spec.") && !selector.starts_with(".status."))) {
        errors.push_back(invalid(at.child("labelSelectorPath"), scale["labelSelectorPath"],
                                 "should be a json path under either .spec or .status"));
    }
}

void check_columns(const Value& version, const Path& path, Errors& errors) {
    static const std::vector<std::string> types{"boolean", "date", "integer", "number", "string"};
    static const std::vector<std::string> formats{"byte",  "date",  "date-time", "double",
                                                  "float", "int32", "int64",     "password"};
    const Path list = path.child("additionalPrinterColumns");
    for (std::size_t i = 0; i < version["additionalPrinterColumns"].size(); ++i) {
        const Value& column = version["additionalPrinterColumns"][i];
        const Path at = list.item(i);
        for (const char* field : {"name", "type", "jsonPath"}) {
            if (column[field].text_or("").empty()) errors.push_back(required(at.child(field)));
        }
        const std::string type = column["type"].text();
        if (!type.empty() && std::find(types.begin(), types.end(), type) == types.end())
            errors.push_back(not_supported(at.child("type"), column["type"], types));
        const std::string format = column["format"].text();
        if (!format.empty() && std::find(formats.begin(), formats.end(), format) == formats.end())
            errors.push_back(not_supported(at.child("format"), column["format"], formats));
        const std::string json_path = column["jsonPath"].text();
        if (!json_path.empty() && json_path.front() != '.' && json_path.front() != '[') {
            errors.push_back(invalid(at.child("jsonPath"), column["jsonPath"],
                                     "is an invalid column: it must begin with a dot"));
        }
    }
}

/// The schema at a simple path; null when the document has none there.
const Value& schema_at(const Value& document, std::string_view path) {
    const Value* at = &document;
    for (const std::string_view step : split(path.substr(1), '.'))
        at = &(*at)["properties"][step];
    return *at;
}

void check_selectable(const Value& version, const Path& path, Errors& errors) {
    const Path list = path.child("selectableFields");
    const Value& fields = version["selectableFields"];
    constexpr std::size_t most = 8;
    if (fields.size() > most) errors.push_back(too_many(list, fields.size(), most));
    std::set<std::string> seen;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Value& given = fields[i]["jsonPath"];
        const std::string text = given.text();
        const Path item = list.item(i);
        const Path at = item.child("jsonPath");
        if (text.empty()) {
            errors.push_back(required(at));
            continue;
        }
        if (!is_simple_path(text)) {
            errors.push_back(invalid(at, given, "is an invalid path: must be a simple path"));
            continue;
        }
        if (text.starts_with(".metadata."))
            errors.push_back(invalid(at, given, "must not point to fields in metadata"));
        const std::string_view type =
            schema_at(version["schema"]["openAPIV3Schema"], text)["type"].text_or("");
        if (type != "string" && type != "boolean" && type != "integer") {
            errors.push_back(invalid(at, given,
                                     "must point to a field of type string, boolean or integer. "
                                     "Enum string fields and strings with formats are allowed."));
        }
        if (!seen.insert(text).second) errors.push_back(duplicate(at, given));
    }
}

void check_version(const Value& version, const Path& path, Errors& errors) {
    add_faults(errors, path.child("name"), version["name"],
               dns1035_label_faults(version["name"].text_or("")));
    const Path schema = path.child("schema");
    for (FieldError& error :
         crd_schema_faults(version["schema"]["openAPIV3Schema"], schema.child("openAPIV3Schema"))) {
        errors.push_back(std::move(error));
    }
    check_subresources(version, path, errors);
    check_columns(version, path, errors);
    check_selectable(version, path, errors);
    const std::string warning = version["deprecationWarning"].text();
    if (!warning.empty() && !version["deprecated"].boolean_or(false)) {
        errors.push_back(invalid(path.child("deprecationWarning"), version["deprecationWarning"],
                                 "can only be set for deprecated versions"));
    }
    constexpr std::size_t longest = 256;
    if (warning.size() > longest)
        errors.push_back(too_long(path.child("deprecationWarning"), longest));
}

void check_versions(const Value& spec, const Path& path, Errors& errors) {
    const Path at = path.child("versions");
    const Value& versions = spec["versions"];
    std::set<std::string> names;
    int stored = 0;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        check_version(versions[i], at.item(i), errors);
        names.insert(versions[i]["name"].text());
        stored += versions[i]["storage"].boolean_or(false) ? 1 : 0;
    }
    if (names.size() != versions.size())
        errors.push_back(invalid(at, versions, "must contain unique version names"));
    if (stored != 1) {
        errors.push_back(
            invalid(at, versions, "must have exactly one version marked as storage version"));
    }
}

void check_webhook(const Value& webhook, const Path& path, Errors& errors) {
    if (!webhook.is_object()) {
        errors.push_back(required(path, "required when spec.conversion.strategy is \"Webhook\""));
        return;
    }
    const Value& client = webhook["clientConfig"];
    const Path config = path.child("clientConfig");
    check_webhook_client(client, config, errors);
    const Value& reviews = webhook["conversionReviewVersions"];
    const Path at = path.child("conversionReviewVersions");
    const auto is_known = [](const Value& version) {
        return version.text_or("") == "v1" || version.text_or("") == "v1beta1";
    };
    if (reviews.empty()) {
        errors.push_back(required(at));
    } else if (std::none_of(reviews.items().begin(), reviews.items().end(), is_known)) {
        errors.push_back(invalid(at, reviews, "must include at least one of v1, v1beta1"));
    }
}

void check_conversion(const Value& spec, const Path& path, Errors& errors) {
    const Value& conversion = spec["conversion"];
    if (!conversion.is_object()) return;
    const Path at = path.child("conversion");
    const std::string strategy = conversion["strategy"].text();
    if (strategy.empty()) {
        errors.push_back(required(at.child("strategy")));
    } else if (strategy != "None" && strategy != "Webhook") {
        errors.push_back(
            not_supported(at.child("strategy"), conversion["strategy"], {"None", "Webhook"}));
    } else if (strategy == "Webhook") {
        check_webhook(conversion["webhook"], at.child("webhook"), errors);
    } else if (!conversion["webhook"].is_null()) {
        errors.push_back(forbidden(at.child("webhook"),
                                   "should not be set when strategy is not set to Webhook"));
    }
}

void check_unchanged(const Value& crd, const Value& old, Errors& errors) {
    if (!is_established(old)) return;
    const Path spec = Path().child("spec");
    const auto check = [&](const Path& path, const Value& now, const Value& before) {
        if (!(now == before)) errors.push_back(invalid(path, now, "field is immutable"));
    };
    check(spec.child("scope"), crd["spec"]["scope"], old["spec"]["scope"]);
    check(spec.child("group"), crd["spec"]["group"], old["spec"]["group"]);
    const Path names = spec.child("names");
    for (const char* name : {"kind", "plural"})
        check(names.child(name), crd["spec"]["names"][name], old["spec"]["names"][name]);
}

/// Every version in which objects are stored has to be known, the one that is stored now as well.
void check_stored_versions(const Value& crd, Errors& errors) {
    const Path status = Path().child("status");
    const Path at = status.child("storedVersions");
    const Value& stored = crd["status"]["storedVersions"];
    bool has_storage = stored.empty();
    for (std::size_t i = 0; i < stored.size(); ++i) {
        bool known = false;
        for (const Value& version : crd["spec"]["versions"].items()) {
            const bool same = version["name"] == stored[i];
            known = known || same;
            has_storage = has_storage || (same && version["storage"].boolean_or(false));
        }
        if (!known)
            errors.push_back(invalid(at.item(i), stored[i],
                                     "missing from spec.versions; " + stored[i].text() +
                                         " was previously a storage version, and must remain in "
                                         "spec.versions until a storage migration ensures no data "
                                         "remains persisted in it and removes it from "
                                         "status.storedVersions"));
    }
    if (!has_storage)
        errors.push_back(invalid(at, stored, "must have the storage version of spec.versions"));
}

}  // namespace

void default_crd(Value& crd) {
    Value* spec = crd.find("spec");
    if (spec == nullptr || !spec->is_object()) return;
    if ((*spec)["names"].is_object()) {
        Value& names = spec->at("names");
        const std::string kind = names["kind"].text();
        if (names["singular"].text_or("").empty() && !kind.empty())
            names.set("singular", to_lower(kind));
        if (names["listKind"].text_or("").empty() && !kind.empty())
            names.set("listKind", kind + "List");
    }
    if ((*spec)["conversion"].is_null())
        spec->set("conversion", Value::object({{"strategy", "None"}}));
    Value* conversion = spec->find("conversion");
    if (!conversion->is_object() ||
        !(*conversion)["webhook"]["clientConfig"]["service"].is_object())
        return;
    Value& service = conversion->at("webhook").at("clientConfig").at("service");
    if (service["port"].is_null()) service.set("port", 443);
}

std::vector<FieldError> validate_crd(const Value& crd, const Value* old) {
    Errors errors;
    const Value& spec = crd["spec"];
    const Path path = Path().child("spec");
    const std::string name = spec["names"]["plural"].text() + "." + spec["group"].text();
    if (crd["metadata"]["name"].text_or("") != name) {
        const Path metadata = Path().child("metadata");
        errors.push_back(invalid(metadata.child("name"), crd["metadata"]["name"],
                                 "must be spec.names.plural+\".\"+spec.group"));
    }
    check_group(crd, errors);
    const std::string scope = spec["scope"].text();
    if (scope.empty()) {
        errors.push_back(required(path.child("scope")));
    } else if (scope != "Cluster" && scope != "Namespaced") {
        errors.push_back(
            not_supported(path.child("scope"), spec["scope"], {"Cluster", "Namespaced"}));
    }
    if (spec["preserveUnknownFields"].boolean_or(false)) {
        errors.push_back(invalid(path.child("preserveUnknownFields"), Value(true),
                                 "cannot set to true, set x-kubernetes-preserve-unknown-fields to "
                                 "true in spec.versions[*].schema instead"));
    }
    check_versions(spec, path, errors);
    check_names(spec["names"], path.child("names"), errors);
    check_conversion(spec, path, errors);
    if (old != nullptr) check_unchanged(crd, *old, errors);
    check_stored_versions(crd, errors);
    return errors;
}

}  // namespace muster::api
