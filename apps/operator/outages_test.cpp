// apps/operator/outages_test.cpp - when a watch that is down is told of.
#include "apps/operator/outages.h"

#include <doctest/doctest.h>

namespace muster::on_cluster {
namespace {

const control::Trouble queues{{"kueue.x-k8s.io", "localqueues"}, "answered 403"};
const control::Trouble pods{{"", "pods"}, "answered 403"};
const control::Trouble clusters{{"ray.io", "rayclusters"}, "answered 404"};

}  // namespace

TEST_CASE("a watch that is down for half a minute is told, with the others of its reason") {
    Outages outages;
    outages.take({queues}, seconds(100));
    CHECK(outages.told(seconds(129)) == "");
    CHECK(outages.told(seconds(130)) ==
          "nothing is heard of localqueues.kueue.x-k8s.io for 30 s: answered 403");
    outages.take({queues, pods, clusters}, seconds(135));
    CHECK(outages.told(seconds(136)) ==
          "nothing is heard of localqueues.kueue.x-k8s.io for 36 s: answered 403");
    CHECK(outages.told(seconds(170)) ==
          "nothing is heard of pods, localqueues.kueue.x-k8s.io for 70 s: answered 403; "
          "nothing is heard of rayclusters.ray.io for 35 s: answered 404");
}

TEST_CASE("one that was back in between counts anew, one whose reason changes does not") {
    Outages outages;
    outages.take({queues}, seconds(100));
    outages.take({}, seconds(120));
    outages.take({queues}, seconds(121));
    CHECK(outages.told(seconds(140)) == "");
    outages.take({{queues.resource, "answered 0: refused"}}, seconds(145));
    CHECK(outages.told(seconds(151)) ==
          "nothing is heard of localqueues.kueue.x-k8s.io for 30 s: answered 0: refused");
    outages.take({}, seconds(152));
    CHECK(outages.told(seconds(200)) == "");
}

TEST_CASE("only those that are down are measured") {
    Metrics metrics;
    MetricFamily<Gauge>& down = metrics.gauges({"down", "How long.", {"group", "resource"}});
    Outages outages;
    outages.take({queues, pods}, seconds(100));
    outages.measure(down, seconds(103));
    CHECK(down.with({"kueue.x-k8s.io", "localqueues"}).value() == 3);
    CHECK(down.with({"", "pods"}).value() == 3);
    outages.take({}, seconds(104));
    outages.measure(down, seconds(104));
    CHECK(metrics.text().find("localqueues") == std::string::npos);
}

}  // namespace muster::on_cluster
