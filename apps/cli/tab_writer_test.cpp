// apps/cli/tab_writer_test.cpp - columns as Go's tabwriter makes them, descriptions as kubectl's.
#include "apps/cli/tab_writer.h"

#include <variant>

#include <doctest/doctest.h>

#include "api/yaml.h"
#include "apps/cli/describe.h"
#include "apps/cli/json_path.h"

namespace muster::cli {

TEST_CASE("a column lasts as long as consecutive lines have it") {
    CHECK(align("a\tb\nccc\td\n\ne\tf\n", describe_style) == "a    b\nccc  d\n\ne  f\n");
    CHECK(align("NAME\tREADY\nx\t1/1\n", table_style) == "NAME   READY\nx      1/1\n");
}

TEST_CASE("an AppWrapper is described as document 004 shows it") {
    const auto parsed = api::parse_yaml(R"(
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: raycluster-complete, namespace: default, managedFields: [{manager: x}]}
status:
  canrun: true
  conditions:
  - lastTransitionMicroTime: "2023-08-29T02:50:18.829462Z"
    lastUpdateMicroTime: "2023-08-29T02:50:18.829462Z"
    status: "True"
    type: Init
  controllerfirsttimestamp: "2023-08-29T02:50:18.829462Z"
  filterignore: true
  queuejobstate: Dispatched
  sender: before manageQueueJob - afterEtcdDispatching
  state: Running
)");
    const auto& object = std::get<std::vector<api::Parsed>>(parsed)[0].value;
    CHECK(describe_generic(object, {}, {}) == R"(Name:         raycluster-complete
Namespace:    default
Labels:       <none>
Annotations:  <none>
API Version:  workload.codeflare.dev/v1beta1
Kind:         AppWrapper
Metadata:
Status:
  Canrun:  true
  Conditions:
    Last Transition Micro Time:  2023-08-29T02:50:18.829462Z
    Last Update Micro Time:      2023-08-29T02:50:18.829462Z
    Status:                      True
    Type:                        Init
  Controllerfirsttimestamp:      2023-08-29T02:50:18.829462Z
  Filterignore:                  true
  Queuejobstate:                 Dispatched
  Sender:                        before manageQueueJob - afterEtcdDispatching
  State:                         Running
Events:                          <none>
)");
}

TEST_CASE("field names are spelled out as kubectl does") {
    CHECK(spelled_out("apiVersion") == "API Version");
    CHECK(spelled_out("dashboardURL") == "Dashboard URL");
    CHECK(spelled_out("podIPs") == "Pod I Ps");
    CHECK(spelled_out("nvidia.com/gpu") == "nvidia.com/gpu");
    CHECK(spelled_out("uid") == "UID");
}

TEST_CASE("JSONPath templates find, filter, repeat and print") {
    const auto parsed = api::parse_yaml(
        "items:\n- {name: a, num: 1, tags: [p, q]}\n- {name: b, num: 2}\n"
        "status: {conditions: [{type: Ready, status: 'True'}], phase: Run}\n");
    const auto& value = std::get<std::vector<api::Parsed>>(parsed)[0].value;
    CHECK(fill_template("{.status.phase}", value) == "Run");
    CHECK(fill_template(".status.phase", value) == "Run");
    CHECK(fill_template("{.items[*].name}", value) == "a b");
    CHECK(fill_template("{.items[-1].name}{.items[0:1].num}", value) == "b1");
    CHECK(fill_template("{range .items[*]}{.name}{\"\\t\"}{.num}{\"\\n\"}{end}", value) ==
          "a\t1\nb\t2\n");
    CHECK(fill_template("{.status.conditions[?(@.type==\"Ready\")].status}", value) == "True");
    CHECK(fill_template("{.items[?(@.num>1)].name}", value) == "b");
    CHECK(fill_template("{.items[?(@.tags)].name}", value) == "a");
    CHECK(fill_template("{..phase}", value) == "Run");
    CHECK(fill_template("{.items[0].tags}", value) == "[\"p\",\"q\"]");
    CHECK(fill_template("{.nothing.here}", value).empty());
}

}  // namespace muster::cli
