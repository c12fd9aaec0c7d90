// api/openapi.cpp - OpenAPI v3 documents, a group version each: components, and paths with what
// clients look for in them.
#include "api/openapi.h"

#include <algorithm>
#include <string>

#include "api/schema_document.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr const char* patch_name = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

Value reference_to(const std::string& name) {
    return Value::object({{"$ref", "#/components/schemas/" + name}});
}

Value kind_mark(const Kind& kind, const std::string& version) {
    return Value::object({{"group", kind.group}, {"kind", kind.kind}, {"version", version}});
}

Value query(const char* name, const char* type, const char* description) {
    return Value::object({{"name", name},
                          {"in", "query"},
                          {"description", description},
                          {"schema", Value::object({{"type", type}, {"uniqueItems", true}})}});
}

Value write_queries() {
    return Value::array({
        query("dryRun", "string", "All: everything but storing."),
        query("fieldManager", "string", "Who makes the change; at most 128 characters."),
        query("fieldValidation", "string",
              "Ignore, Warn or Strict: about unknown and duplicate fields."),
    });
}

Value list_queries() {
    return Value::array({
        query("labelSelector", "string", "Only objects whose labels match."),
        query("fieldSelector", "string", "Only objects whose fields match."),
        query("limit", "integer", "The most objects in one answer."),
        query("continue", "string", "The token of the answer before."),
        query("resourceVersion", "string", "How new the answer must be."),
        query("resourceVersionMatch", "string", "Exact or NotOlderThan."),
        query("watch", "boolean", "Stream the changes instead."),
        query("allowWatchBookmarks", "boolean", "Send bookmarks between the changes."),
        query("sendInitialEvents", "boolean", "Start a watch with what is there."),
        query("timeoutSeconds", "integer", "How long a watch may take."),
    });
}

Value path_parameter(const char* name, const char* description) {
    return Value::object({{"name", name},
                          {"in", "path"},
                          {"description", description},
                          {"required", true},
                          {"schema", Value::object({{"type", "string"}, {"uniqueItems", true}})}});
}

Value content(const Value& schema, const std::vector<const char*>& media_types) {
    Value made = Value::object();
    for (const char* type : media_types)
        made.set(type, Value::object({{"schema", schema}}));
    return made;
}

/// One operation on a resource.
struct Operation {
    const char* method;
    const char* action;
    Value parameters;
    Value body;  // Null when it has none.
    int status = 200;
};

Value operation_document(const Kind& kind, const std::string& version, const Operation& operation,
                         const Value& schema) {
    Value made = Value::object();
    made.set("parameters", operation.parameters);
    if (!operation.body.is_null()) {
        made.set("requestBody", Value::object({{"content", operation.body}, {"required", true}}));
    }
    Value answer =
        Value::object({{"description", "OK"},
                       {"content", content(schema, {"application/json", "application/yaml"})}});
    made.set("responses", Value::object({{std::to_string(operation.status), std::move(answer)}}));
    made.set("x-kubernetes-action", operation.action);
    made.set("x-kubernetes-group-version-kind", kind_mark(kind, version));
    return made;
}

Value patch_body(const Kind& kind) {
    std::vector<const char*> types = {"application/json-patch+json", "application/merge-patch+json",
                                      "application/apply-patch+yaml"};
    if (!kind.custom) types.push_back("application/strategic-merge-patch+json");
    return content(reference_to(patch_name), types);
}

enum class Reach { collection, object, subresource };

Value path_document(const Kind& kind, const std::string& version, Reach reach, const Value& schema,
                    Value parameters) {
    const Value body = content(schema, {"*/*"});
    std::vector<Operation> operations;
    if (reach == Reach::collection) {
        operations.push_back({"get", "list", list_queries(), Value(), 200});
        operations.push_back({"post", "post", write_queries(), body, 201});
        operations.push_back({"delete", "deletecollection", list_queries(), Value(), 200});
    } else {
        Value patch_queries = write_queries();
        patch_queries.push(query("force", "boolean", "Apply also what others own."));
        operations.push_back({"get", "get", Value::array(), Value(), 200});
        operations.push_back({"put", "put", write_queries(), body, 200});
        operations.push_back({"patch", "patch", std::move(patch_queries), patch_body(kind), 200});
        if (reach == Reach::object) {
            operations.push_back({"delete", "delete", write_queries(), Value(), 200});
        }
    }
    Value made = Value::object();
    for (const Operation& operation : operations) {
        made.set(operation.method, operation_document(kind, version, operation, schema));
    }
    made.set("parameters", std::move(parameters));
    return made;
}

void add_paths(const Kind& kind, const std::string& version, const Value& schema, Value& paths) {
    std::string base = kind.group.empty() ? "/api/" : "/apis/" + kind.group + "/";
    base += version;
    Value of_collection = Value::array();
    if (kind.namespaced) {
        base += "/namespaces/{namespace}";
        of_collection.push(path_parameter("namespace", "The namespace of the objects."));
    }
    base += "/" + kind.plural;
    Value of_object = of_collection;
    of_object.push(path_parameter("name", "The name of the object."));
    paths.set(base, path_document(kind, version, Reach::collection, schema, of_collection));
    const std::string object = base + "/{name}";
    paths.set(object, path_document(kind, version, Reach::object, schema, of_object));
    if (kind.has_status) {
        paths.set(object + "/status",
                  path_document(kind, version, Reach::subresource, schema, of_object));
    }
}

void add_review_path(const Kind& kind, const std::string& version, const Value& schema,
                     Value& paths) {
    std::string path = kind.group.empty() ? "/api/" : "/apis/" + kind.group + "/";
    path += version;
    Value parameters = Value::array();
    if (kind.namespaced) {
        path += "/namespaces/{namespace}";
        parameters.push(path_parameter("namespace", "The namespace of the objects."));
    }
    const Operation post{"post", "post", write_queries(), content(schema, {"*/*"}), 201};
    Value made = Value::object({{"post", operation_document(kind, version, post, schema)}});
    made.set("parameters", std::move(parameters));
    paths.set(path + "/" + kind.plural, std::move(made));
}

/// "com.example.stable.v1.CronTab" for a kind of stable.example.com that was added.
std::string component_name(const Kind& kind, const Version& version) {
    if (version.document == nullptr) return version.schema->name;
    std::vector<std::string_view> parts = split(kind.group, '.');
    std::reverse(parts.begin(), parts.end());
    return join(parts, ".") + "." + version.name + "." + kind.kind;
}

}  // namespace

std::vector<GroupVersion> open_api_group_versions(const Kinds& kinds) {
    std::vector<GroupVersion> all;
    const auto add = [&all](const Kind& kind) {
        for (const Version& version : kind.versions) {
            GroupVersion each{kind.group, version.name};
            if (std::find(all.begin(), all.end(), each) == all.end()) {
                all.push_back(std::move(each));
            }
        }
    };
    for (const Kind* kind : kinds.all())
        add(*kind);
    for (const Kind& kind : review_kinds())
        add(kind);
    return all;
}

Value open_api_document(const Kinds& kinds, const GroupVersion& group_version) {
    ComponentWriter writer;
    Value paths = Value::object();
    const auto add = [&](const Kind& kind, auto add_its_paths) {
        const Version* version = kind.find_version(group_version.version);
        if (kind.group != group_version.group || version == nullptr) return;
        const std::string name = component_name(kind, *version);
        if (version->document != nullptr) {
            writer.add(name, *version->document);
            writer.reference(*schema_of("meta.v1.ObjectMeta"));
        } else {
            writer.reference(*version->schema);
        }
        // Kinds that share a definition share its component; each leaves its mark there.
        writer.component(name)
            ->at("x-kubernetes-group-version-kind")
            .push(kind_mark(kind, version->name));
        const Value schema = reference_to(name);
        add_its_paths(kind, version->name, schema, paths);
    };
    for (const Kind* kind : kinds.all())
        add(*kind, add_paths);
    for (const Kind& kind : review_kinds())
        add(kind, add_review_path);
    if (paths.empty()) return Value();
    Value components = writer.take_components();
    components.set(patch_name, Value::object({{"type", "object"}}));
    return Value::object(
        {{"openapi", "3.0.0"},
         {"info", Value::object({{"title", "Kubernetes"}, {"version", "unversioned"}})},
         {"paths", std::move(paths)},
         {"components", Value::object({{"schemas", std::move(components)}})}});
}

}  // namespace muster::api
