// apiserver/verdicts_test.cpp - what a real API server with the CRDs of Kueue and KubeRay said of
// objects at their rules (test/kubernetes/crds/changes.py), beside what this one says.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "api/parsed_text.h"
#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::string_view recorded =
#include "apiserver/verdicts.inc"
    ;

/// `body` as an object of the row, beside what the server added to the one that is there.
Value object_of(const Value& row, const Value& body, const Value& there) {
    Value made =
        there.is_null() ? Value::object({{"metadata", Value::object({{"name", "row"}})}}) : there;
    std::string version = row["path"].text().substr(6);  // Behind "/apis/".
    version = version.substr(0, version.find('/', version.find('/') + 1));
    made.set("apiVersion", version);
    made.set("kind", row["kind"]);
    for (const Value::Member& member : body.members())
        made.set(member.key, member.value);
    return made;
}

/// "field: text" of each cause, sorted.
std::vector<std::string> lines_of(const Value& causes) {
    std::vector<std::string> lines;
    for (const Value& cause : causes.items()) {
        lines.push_back(cause["field"].text() + ": " + cause["message"].text());
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

ReplyPtr answer_to(TestServer& server, const Value& row) {
    const std::string path = row["path"].text();
    const Value& before = row["before"];
    if (before.is_null()) return server.post(path, to_json(object_of(row, row["after"], {})));
    ReplyPtr made = server.post(path, to_json(object_of(row, before, {})));
    REQUIRE_MESSAGE(made->status == 201, made->text);
    if (!before["status"].empty()) {
        Value with = made->json();
        // The recorded server had no webhook: here a cluster must have been nominated before.
        if (const Value& cluster = before["status"]["clusterName"]; !cluster.is_null()) {
            with.set("status", Value::object({{"nominatedClusterNames", Value::array({cluster})}}));
            made = server.put(path + "/row/status", to_json(with));
            REQUIRE_MESSAGE(made->status == 200, made->text);
            with = made->json();
        }
        with.set("status", before["status"]);
        made = server.put(path + "/row/status", to_json(with));
        REQUIRE_MESSAGE(made->status == 200, made->text);
    }
    const bool of_status = !(before["status"] == row["after"]["status"]);
    return server.put(path + (of_status ? "/row/status" : "/row"),
                      to_json(object_of(row, row["after"], made->json())));
}

TEST_CASE("objects at the rules of Kueue's and Ray's kinds are judged as by a real API server") {
    int count = 0;
    const Value rows = api::parsed(recorded);
    for (const Value& row : rows.items()) {
        const std::string text = to_json(row);
        CAPTURE(text);
        TestServer server;
        const ReplyPtr reply = answer_to(server, row);
        const bool refused = row["status"].integer_or(0) >= 300;
        CHECK_MESSAGE((reply->status >= 300) == refused, reply->text);
        if (refused) CHECK(lines_of(reply->json()["details"]["causes"]) == lines_of(row["causes"]));
        ++count;
    }
    CHECK(count > 150);
}

}  // namespace
}  // namespace muster::apiserver
