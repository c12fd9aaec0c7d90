// api/columns_test.cpp - rows as kubectl shows them, of built-in and custom kinds.
#include "api/columns.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json_path.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

/// The cells of a row as one text, wide ones only when asked for.
enum class Width { narrow, wide };
std::string row(const char* group, const char* plural, std::string_view object,
                Width width = Width::narrow) {
    const Kind* kind = find_kind(group, plural);
    REQUIRE(kind != nullptr);
    const std::string& version = kind->versions[0].name;
    const Time now = *parse_rfc3339("2026-01-01T01:00:00Z");
    const std::vector<Column> columns = columns_of(*kind, version);
    const std::vector<Value> cells = row_of(*kind, version, parsed(object), now);
    REQUIRE(columns.size() == cells.size());
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (columns[i].priority > 0 && width == Width::narrow) continue;
        if (!text.empty()) text += " | ";
        text += cells[i].is_string() ? cells[i].text()
                : cells[i].is_null() ? ""
                                     : to_json(cells[i]);
    }
    return text;
}

TEST_CASE("a pod's status is what its containers say") {
    const char* created = R"("creationTimestamp":"2026-01-01T00:00:00Z")";
    const auto pod = [&](const std::string& metadata, const std::string& rest) {
        return "{\"metadata\":{\"name\":\"p\"," + metadata + created + "}," + rest + "}";
    };
    CHECK(row("", "pods",
              pod("", R"("spec":{"containers":[{"name":"a"}]},"status":{"phase":"Pending"})")) ==
          "p | 0/1 | Pending | 0 | 60m");
    const std::string running =
        R"("spec":{"containers":[{},{}],"nodeName":"n1"},"status":{"phase":"Running",
        "podIP":"10.1.0.2","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}},
        "lastState":{"terminated":{"finishedAt":"2026-01-01T00:55:00Z"}}},
        {"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})";
    CHECK(row("", "pods", pod("", running)) == "p | 1/2 | CrashLoopBackOff | 2 (5m ago) | 60m");
    CHECK(row("", "pods", pod(R"("deletionTimestamp":"2026-01-01T00:59:00Z",)", running),
              Width::wide) ==
          "p | 1/2 | Terminating | 2 (5m ago) | 60m | 10.1.0.2 | n1 | <none> | <none>");
    CHECK(row("", "pods", pod("", R"("spec":{"containers":[{}],"initContainers":[{},{}]},"status":{
        "phase":"Pending","initContainerStatuses":[{"state":{"running":{}}},{"state":{"waiting":
        {"reason":"PodInitializing"}}}]})")) == "p | 0/1 | Init:0/2 | 0 | 60m");
    CHECK(row("", "pods", pod("", R"("spec":{"containers":[{}]},"status":{"phase":"Failed",
        "containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})")) ==
          "p | 0/1 | ExitCode:3 | 0 | 60m");
}

TEST_CASE("jobs, nodes, services and events have the columns of the originals") {
    CHECK(
        row("batch", "jobs", R"({"metadata":{"name":"j","creationTimestamp":"2026-01-01T00:59:00Z"},
        "spec":{"completions":3,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
        "status":{"succeeded":1,"startTime":"2026-01-01T00:59:30Z"}})") ==
        "j | Running | 1/3 | 30s | 60s");
    CHECK(
        row("", "nodes", R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/worker":""},
        "creationTimestamp":"2026-01-01T00:59:00Z"},"spec":{"unschedulable":true},"status":{"conditions":[
        {"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1.36.0"}}})") ==
        "n | Ready,SchedulingDisabled | worker | 60s | v1.36.0");
    CHECK(row("", "services",
              R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","clusterIP":"10.0.0.1",
        "ports":[{"port":80,"nodePort":30080,"protocol":"TCP"}]}})") ==
          "s | NodePort | 10.0.0.1 | <none> | 80:30080/TCP | <unknown>");
    CHECK(row("", "events", R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},
        "type":"Normal","reason":"Started","message":"ok ","lastTimestamp":"2026-01-01T00:58:00Z"})") ==
          "2m | Normal | Started | pod/p | ok");
}

TEST_CASE("local queues show what the documents show; an absent value is an empty cell") {
    CHECK(row("kueue.x-k8s.io", "localqueues", R"({"metadata":{"name":"local-queue-test"},
        "spec":{"clusterQueue":"cluster-queue"},"status":{"pendingWorkloads":0,"admittedWorkloads":0}})") ==
          "local-queue-test | cluster-queue | 0 | 0");
    CHECK(row("kueue.x-k8s.io", "workloads", R"({"metadata":{"name":"w","creationTimestamp":
        "2026-01-01T00:00:00Z"},"spec":{"queueName":"q"},"status":{"conditions":[
        {"type":"QuotaReserved","status":"False"},{"type":"Admitted","status":"True"}]}})") ==
          "w | q |  | True |  | 60m");
    CHECK(row("ray.io", "rayclusters",
              R"({"metadata":{"name":"r"},"status":{"desiredWorkerReplicas":1,
        "desiredCPU":"3","desiredGPU":"0","state":"ready"}})") == "r | 1 |  | 3 |  | 0 | ready | ");
    const Kind& wrappers = *find_kind("workload.codeflare.dev", "appwrappers");
    CHECK(columns_of(wrappers, "v1beta1").size() == 2);
}

TEST_CASE("JSONPath finds members, indexes, all items and filtered items") {
    const Value value = parsed(R"({"a":{"b.c":1,"d":[{"t":"x","v":1},{"t":"y","v":2}]}})");
    const auto first = [&](const char* path) {
        const auto found = find_by_json_path(value, path);
        return found.empty() ? std::string("-") : to_json(*found[0]);
    };
    CHECK(first(".a.b\\.c") == "1");
    CHECK(first(".a['b.c']") == "1");
    CHECK(first("{.a.d[1].v}") == "2");
    CHECK(first(".a.d[-1].t") == "\"y\"");
    CHECK(first(".a.d[?(@.t==\"y\")].v") == "2");
    CHECK(first(".a.d[?(@.t!='x')].v") == "2");
    CHECK(find_by_json_path(value, ".a.d[*].v").size() == 2);
    CHECK(first(".a.d[") == "-");
    CHECK(first(".a.d[?(@.t=='z')].v") == "-");
    CHECK(first(".x.y.z") == "-");
}

TEST_CASE("JSONPath finds slices of lists, and nothing when their bounds do not fit") {
    const Value value = parsed(R"({"l":[0,1,2,3],"none":[],"o":{"x":1}})");
    const auto all = [&](const char* path) {
        std::string text;
        for (const Value* found : find_by_json_path(value, path))
            text += to_json(*found);
        return text;
    };
    CHECK(all(".l[-1:]") == "3");
    CHECK(all(".l[1:3]") == "12");
    CHECK(all(".l[:-1]") == "012");
    CHECK(all(".l[:]") == "0123");
    CHECK(all(".l[::2]") == "02");
    CHECK(all(".l[1::2]") == "13");
    CHECK(all(".l[2:2]").empty());
    CHECK(all(".l[3:1]").empty());
    CHECK(all(".l[-5:]").empty());
    CHECK(all(".l[0:5]").empty());
    CHECK(all(".l[::0]").empty());
    CHECK(all(".none[-1:]").empty());
    CHECK(all(".l[a:]").empty());
    CHECK(all(".l[1:2:3:4]").empty());
    CHECK(all(".o[-1:]").empty());
    CHECK(all(".absent[-1:].type").empty());
}

}  // namespace
}  // namespace muster::api
