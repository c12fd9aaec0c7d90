// api/openapi_test.cpp - the documents that kubectl reads: marks, parameters, merge keys.
#include "api/openapi.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json.h"
#include "api/schema_document.h"

namespace muster::api {
namespace {

/// Every $ref of a document that leads nowhere.
void find_broken(const Value& value, const Value& schemas, std::vector<std::string>& broken) {
    constexpr std::string_view prefix = "#/components/schemas/";
    const std::string target = value["$ref"].text();
    if (!target.empty() && !schemas[target.substr(prefix.size())].is_object()) {
        broken.push_back(target);
    }
    for (const Value& item : value.items())
        find_broken(item, schemas, broken);
    for (const Value::Member& member : value.members())
        find_broken(member.value, schemas, broken);
}

TEST_CASE("every group version has a document whose references hold") {
    CHECK(open_api_group_versions(Kinds()).size() > 15);
    for (const GroupVersion& each : open_api_group_versions(Kinds())) {
        CAPTURE(to_api_version(each));
        const Value document = open_api_document(Kinds(), each);
        const Value& schemas = document["components"]["schemas"];
        std::vector<std::string> broken;
        find_broken(document, schemas, broken);
        CHECK(broken.empty());
        CHECK(!document["paths"].empty());
    }
    CHECK(open_api_document(Kinds(), {"nonsense", "v1"}).is_null());
}

TEST_CASE("kubectl finds the fieldValidation parameter, the kind and the merge keys") {
    const Value document = open_api_document(Kinds(), {"", "v1"});
    const Value& patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
    CHECK(patch["x-kubernetes-group-version-kind"]["kind"].text() == "Pod");
    CHECK(patch["requestBody"]["content"].has("application/strategic-merge-patch+json"));
    bool found = false;
    for (const Value& parameter : patch["parameters"].items()) {
        found = found || parameter["name"].text_or("") == "fieldValidation";
    }
    CHECK(found);
    const Value& schemas = document["components"]["schemas"];
    CHECK(schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"][0]["kind"].text() ==
          "Pod");
    const Value& containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    CHECK(containers["x-kubernetes-patch-merge-key"].text() == "name");
    CHECK(containers["x-kubernetes-list-type"].text() == "map");
}

}  // namespace
}  // namespace muster::api
