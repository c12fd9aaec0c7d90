// apiserver/stored_problem_test.cpp - what is no object of the server's is told from what is, and a
// start names it.
#include "apiserver/stored_problem.h"

#include <doctest/doctest.h>

#include "apiserver/test_server.h"
#include "base/error.h"

namespace muster::apiserver {
namespace {

TEST_CASE("a key that does not fit its object is a problem, and a sound object is none") {
    const std::string map =
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}})";
    CHECK(stored_problem("/core/configmaps/n/a", map).empty());
    CHECK(stored_problem(form_key, R"({"emptyValues":"dropped"})").empty());
    CHECK(stored_problem("/example.com/things//t", R"({"metadata":{"name":"t"}})").empty());
    for (const char* key :
         {"", "/", "a", "/core", "/core/configmaps/n", "/core/configmaps/n/a/b",
          "core/configmaps/n/a", "//configmaps/n/a", "/core//n/a", "/core/configmaps/n/"})
        CHECK(stored_problem(key, map).starts_with("it is no key of an object"));
    CHECK(stored_problem("/core/configmaps/n/b", map) ==
          R"(metadata.name is "a", but the key says "b")");
    CHECK(stored_problem("/core/configmaps/m/a", map) ==
          R"(metadata.namespace is "n", but the key says "m")");
    CHECK(stored_problem("/core/secrets/n/a", map) ==
          R"(kind is "ConfigMap", but the key says "Secret")");
    CHECK(stored_problem("/core/nodes/n/a", map) == "Node has no namespace, and the key has one");
    CHECK(stored_problem("/core/configmaps//a",
                         R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})") ==
          "ConfigMap has a namespace, and the key has none");
    CHECK(stored_problem(
              "/batch/jobs/n/a",
              R"({"apiVersion":"v1","kind":"Job","metadata":{"name":"a","namespace":"n"}})") ==
          R"(apiVersion is "v1", but the key says "batch/v1")");
}

TEST_CASE("what is no object, or has fields of other types, is a problem") {
    const std::string key = "/rbac.authorization.k8s.io/clusterroles//r";
    CHECK(stored_problem(key, "x").starts_with("the value is not JSON: "));
    CHECK(stored_problem(key, "").starts_with("the value is not JSON: "));
    for (const char* value : {"1", "[]", "null", "\"x\""})
        CHECK(stored_problem(key, value) == "the value is not an object");
    CHECK(stored_problem(key, "{}") == "the value has no metadata");
    CHECK(stored_problem(key, R"({"metadata":{"name":1}})") ==
          R"(metadata.name is 1, but the key says "r")");
    const std::string head =
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"},)";
    CHECK(stored_problem(key, head + R"("rules":[]})").empty());
    CHECK(stored_problem(key, head + R"("rules":"x"})").starts_with("rules: "));
    CHECK(stored_problem(key, head + R"("rules":[{"verbs":{"a":1}}]})").starts_with("rules[0]."));
}

TEST_CASE("a start names the object that cannot be served, and ends in words") {
    for (const char* key :
         {"/core/namespaces//n", "/rbac.authorization.k8s.io/roles/n/r", "/core/events/n/e",
          "/core/services/n/s", "/apiextensions.k8s.io/customresourcedefinitions//x.y",
          "/core/events/"}) {
        for (const char* value : {"", "[1]", "{}", R"({"metadata":{"name":"x"}})"}) {
            CAPTURE(key);
            CAPTURE(value);
            const auto disk = std::make_shared<store::MemoryDisk>();
            disk->records[key] = {key, make_bytes(value), 1};
            disk->revision = 1;
            CHECK_THROWS_WITH_AS(TestServer({}, disk),
                                 doctest::Contains(("under the key \"" + std::string(key)).c_str()),
                                 Error);
        }
    }
}

}  // namespace
}  // namespace muster::apiserver
