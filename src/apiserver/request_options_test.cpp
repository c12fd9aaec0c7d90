// apiserver/request_options_test.cpp - options beside an object that are wrong, and the words for
// it.
#include <string>

#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

constexpr const char* maps = "/api/v1/namespaces/default/configmaps";

std::string said(const ReplyPtr& reply) {
    return std::to_string(reply->status) + " " + reply->message();
}

}  // namespace

TEST_CASE("options of a write that are wrong are named, as the kind that they are") {
    TestServer server;
    const std::string body = R"({"metadata":{"name":"a"}})";
    const ReplyPtr validation = server.post(std::string(maps) + "?fieldValidation=Nothing", body);
    CHECK(said(validation) ==
          "422 CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: "
          "\"Nothing\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
    CHECK(validation->json()["details"]["causes"][0]["field"].text() == "fieldValidation");
    CHECK(said(server.post(std::string(maps) + "?dryRun=Some", body)) ==
          "422 CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: "
          "supported values: \"All\"");
    const std::string long_name(129, 'a');
    CHECK(said(server.post(std::string(maps) + "?fieldManager=" + long_name, body)) ==
          "422 CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more "
          "than 128 bytes");
}

TEST_CASE("force is for apply") {
    TestServer server;
    server.post(maps, R"({"metadata":{"name":"a"}})");
    CHECK(said(server.merge(std::string(maps) + "/a?force=true", "{}")) ==
          "422 PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified "
          "for non-apply patch");
}

TEST_CASE("selectors that are none are refused in the words of the reference") {
    TestServer server;
    const auto list = [&](const std::string& selector) {
        return said(server.get(std::string(maps) + "?labelSelector=" + selector));
    };
    CHECK(list("a,") == "400 found '', expected: identifier after ','");
    CHECK(list("=") == "400 found '=', expected: !, identifier, or 'end of string'");
    CHECK(list("a%20in%20b") == "400 unable to parse requirement: found 'b' expected: '('");
    CHECK(list("a%3Ex") ==
          "400 unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
          "operators, the value must be an integer");
    CHECK(said(server.get(std::string(maps) + "?limit=many")) ==
          "400 strconv.ParseInt: parsing \"many\": invalid syntax");
}

}  // namespace muster::apiserver
