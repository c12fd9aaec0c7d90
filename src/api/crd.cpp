// api/crd.cpp - a kind as a CustomResourceDefinition: names, versions, columns, subresources,
// conversion.
#include "api/crd.h"

#include "api/structural_schema.h"
#include "base/text.h"
#include "base/verify.h"

namespace muster::api {
namespace {

Value columns_document(const Version& version) {
    Value columns = Value::array();
    for (const Column& column : version.columns) {
        Value made = Value::object(
            {{"name", column.name}, {"type", column.type}, {"jsonPath", column.path}});
        if (column.priority != 0) made.set("priority", column.priority);
        if (!column.description.empty()) made.set("description", column.description);
        if (!column.format.empty()) made.set("format", column.format);
        columns.push(std::move(made));
    }
    return columns;
}

Value subresources_of(const Kind& kind) {
    Value made = Value::object();
    if (kind.has_status) made.set("status", Value::object());
    if (!kind.scale_spec_path.empty()) {
        Value scale = Value::object({{"specReplicasPath", kind.scale_spec_path},
                                     {"statusReplicasPath", kind.scale_status_path}});
        if (!kind.scale_selector_path.empty()) {
            scale.set("labelSelectorPath", kind.scale_selector_path);
        }
        made.set("scale", std::move(scale));
    }
    return made;
}

enum class Served { yes, no };

/// What a definition says of its objects.
enum class Schemas { whole, open };

Value schema_document(const Version& version, Schemas schemas) {
    if (schemas == Schemas::whole) return structural_schema(*version.schema);
    return Value::object(
        {{"description", "Served by Muster itself; its fields are in /openapi/v3."},
         {"type", "object"},
         {"x-kubernetes-preserve-unknown-fields", true}});
}

Value version_document(const Kind& kind, const Version& version, Served served, Schemas schemas) {
    const bool stored = version.name == kind.storage;
    Value made = Value::object(
        {{"name", version.name},
         {"served", served == Served::yes},
         {"storage", stored},
         {"schema", Value::object({{"openAPIV3Schema", schema_document(version, schemas)}})}});
    if (version.deprecated) {
        made.set("deprecated", true);
        made.set("deprecationWarning", deprecation_warning(kind, version));
    }
    if (!version.columns.empty()) made.set("additionalPrinterColumns", columns_document(version));
    Value subresources = subresources_of(kind);
    if (!subresources.empty()) made.set("subresources", std::move(subresources));
    // Only where the path is in the schema may it be named; it is in that of the stored version.
    if (!kind.selectable_fields.empty() && stored && schemas == Schemas::whole) {
        Value fields = Value::array();
        for (const std::string& field : kind.selectable_fields) {
            fields.push(Value::object({{"jsonPath", "." + field}}));
        }
        made.set("selectableFields", std::move(fields));
    }
    return made;
}

Value texts(const std::vector<std::string>& list) {
    Value array = Value::array();
    for (const std::string& text : list)
        array.push(text);
    return array;
}

Value names_of(const Kind& kind) {
    Value names = Value::object({{"kind", kind.kind},
                                 {"listKind", kind.kind + "List"},
                                 {"plural", kind.plural},
                                 {"singular", kind.singular}});
    if (!kind.short_names.empty()) names.set("shortNames", texts(kind.short_names));
    if (!kind.categories.empty()) names.set("categories", texts(kind.categories));
    return names;
}

Value conversion_document(const Conversion& conversion) {
    Value client =
        Value::object({{"service", Value::object({{"namespace", conversion.service_namespace},
                                                  {"name", conversion.service_name},
                                                  {"path", "/convert"}})}});
    if (!conversion.ca_bundle.empty()) client.set("caBundle", to_base64(conversion.ca_bundle));
    return Value::object(
        {{"strategy", "Webhook"},
         {"webhook", Value::object({{"clientConfig", std::move(client)},
                                    {"conversionReviewVersions", Value::array({"v1"})}})}});
}

/// The embedded server knows this version only to refuse it in words; a cluster would keep it.
bool is_refused_whole(const Kind& kind, const Version& version) {
    return kind.group == "workload.codeflare.dev" && version.name == "v1beta2";
}

Value document_of(const Kind& kind, Value versions) {
    Value spec = Value::object({{"group", kind.group},
                                {"names", names_of(kind)},
                                {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                                {"versions", std::move(versions)}});
    return Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                          {"kind", "CustomResourceDefinition"},
                          {"metadata", Value::object({{"name", kind.plural + "." + kind.group}})},
                          {"spec", std::move(spec)}});
}

}  // namespace

std::string deprecation_warning(const Kind& kind, const Version& version) {
    if (!version.deprecation_warning.empty()) return version.deprecation_warning;
    return "This version is deprecated. Use " + kind.storage + " instead.";
}

Value crd_of(const Kind& kind, const Conversion& conversion) {
    VERIFY(kind.custom);
    const bool converts = kind.convert != nullptr && !conversion.service_namespace.empty();
    Value versions = Value::array();
    for (const Version& version : kind.versions) {
        if (is_refused_whole(kind, version)) continue;
        const bool served = converts || kind.convert == nullptr || version.name == kind.storage;
        versions.push(
            version_document(kind, version, served ? Served::yes : Served::no, Schemas::whole));
    }
    Value crd = document_of(kind, std::move(versions));
    crd.at("metadata").at("labels").set(crd_label, crd_label_value);
    if (converts) crd.at("spec").set("conversion", conversion_document(conversion));
    return crd;
}

Value listed_crd_of(const Kind& kind) {
    VERIFY(kind.custom);
    Value versions = Value::array();
    for (const Version& version : kind.versions)
        versions.push(version_document(kind, version, Served::yes, Schemas::open));
    return document_of(kind, std::move(versions));
}

}  // namespace muster::api
