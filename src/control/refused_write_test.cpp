// control/refused_write_test.cpp - what is told of a pass whose write the server refuses.
#include <doctest/doctest.h>

#include "control/runner.h"
#include "control/small_server.h"

namespace muster::control {
namespace {

/// Makes a Secret for each ConfigMap, and tells that it tries and that it has done it.
Controller teller() {
    Controller made;
    made.name = "teller";
    made.watches = {watch_self(maps, "v1"),
                    Watch{secrets, "v1", [](const auto&, const auto*, const auto*) {
                              return std::vector<api::Key>{};
                          }}};
    made.reconcile = [](const kube::Cache& seen, const api::Key& key, Time) {
        Reconciled result;
        const api::Key secret{secrets, key.ns, key.name};
        if (seen.find(key) == nullptr || seen.find(secret) != nullptr) return result;
        Value body = config_map(key.name);
        body.set("kind", "Secret");
        result.writes.push_back({Write::Verb::create, secret, "v1", "", body, 0, "", ""});
        result.events.push_back({key, "Warning", "Tried", "tried", ""});
        result.events.back().told = Event::Told::always;
        result.events.push_back({key, "Normal", "Done", "done", ""});
        return result;
    };
    return made;
}

TEST_CASE("why a write is refused is told although it is, and what was done only when it was") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, [](const Call&, const std::function<void(int, std::string)>& done) {
                      done(0, "");
                  }};
    runner.add(teller());
    runner.start();
    loop.advance(milliseconds(20));
    server.refusals_left = 1;
    server.put("configmaps", config_map("a"));
    loop.advance(milliseconds(20));
    CHECK(runner.counts().events == 1);  // That it tried.
    loop.advance(seconds(1));
    CHECK(runner.counts().events == 3);  // That it tried again, and has done it.
}

}  // namespace
}  // namespace muster::control
