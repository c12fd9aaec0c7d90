// base/metrics_test.cpp - what is counted, from many threads, and how it reads.
#include "base/metrics.h"

#include <thread>

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("families read as Prometheus' text format, in the order of names and labels") {
    Metrics metrics;
    auto& asked = metrics.counters({"asked_total", "How often.", {"verb", "code"}});
    asked.with({"GET", "404"}).add();
    asked.with({"GET", "200"}).add(2);
    metrics.gauges({"a_level", "Now.", {}}).with().set(-1.5);
    auto& took = metrics.histograms({"took_seconds", "How long.", {"verb"}}, {0.1, 1});
    for (const double value : {0.05, 0.1, 0.5, 7.0})
        took.with({"GET"}).observe(value);
    CHECK(metrics.text() ==
          "# HELP a_level Now.\n"
          "# TYPE a_level gauge\n"
          "a_level -1.5\n"
          "# HELP asked_total How often.\n"
          "# TYPE asked_total counter\n"
          "asked_total{verb=\"GET\",code=\"200\"} 2\n"
          "asked_total{verb=\"GET\",code=\"404\"} 1\n"
          "# HELP took_seconds How long.\n"
          "# TYPE took_seconds histogram\n"
          "took_seconds_bucket{verb=\"GET\",le=\"0.1\"} 2\n"
          "took_seconds_bucket{verb=\"GET\",le=\"1\"} 3\n"
          "took_seconds_bucket{verb=\"GET\",le=\"+Inf\"} 4\n"
          "took_seconds_sum{verb=\"GET\"} 7.65\n"
          "took_seconds_count{verb=\"GET\"} 4\n");
}

TEST_CASE("what would break the format is escaped") {
    Metrics metrics;
    metrics.gauges({"odd", "a\\b\nc \"d\"", {"x"}}).with({"q\"\\\n}"}).set(1e21);
    CHECK(metrics.text() ==
          "# HELP odd a\\\\b\\nc \"d\"\n# TYPE odd gauge\nodd{x=\"q\\\"\\\\\\n}\"} 1e+21\n");
}

TEST_CASE("members go when they are removed, and numbers are refreshed when asked for") {
    Metrics metrics;
    auto& queues = metrics.gauges({"queues", "", {"name"}});
    queues.with({"a"}).set(1);
    queues.with({"b"}).set(2);
    queues.remove({"a"});
    int asked = 0;
    metrics.before_text([&] { queues.with({"b"}).set(++asked); });
    CHECK(metrics.text() == "# HELP queues \n# TYPE queues gauge\nqueues{name=\"b\"} 1\n");
    CHECK(metrics.text().find("{name=\"b\"} 2\n") != std::string::npos);
    queues.clear();
    CHECK(metrics.text().find("{name=\"a\"}") == std::string::npos);
}

TEST_CASE("many threads count together and nothing is lost") {
    Metrics metrics;
    auto& family = metrics.counters({"n_total", "", {"who"}});
    auto& times = metrics.histograms({"t", "", {}}, {1, 2});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 10'000; ++k) {
                family.with({std::to_string(k % 3)}).add();
                times.with().observe(i);
                if (k % 1000 == 0) CHECK(!metrics.text().empty());
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    double all = 0;
    family.each([&](const auto&, const Counter& counter) { all += counter.value(); });
    CHECK(all == 40'000);
    CHECK(times.with().count() == 40'000);
    CHECK(times.with().sum() == 60'000);
}

}  // namespace
}  // namespace muster
