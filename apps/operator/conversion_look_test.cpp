// apps/operator/conversion_look_test.cpp - definitions that name a converter that is not there.
#include "apps/operator/conversion_look.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "api/crd.h"
#include "api/json.h"
#include "base/bytes.h"

namespace muster::on_cluster {
namespace {

/// Has definitions with one conversion, and Services or none.
struct SmallCluster : kube::Transport {
    api::Conversion conversion;
    int services = 404;

    void send(net::Request request, OnResponse on_response) override {
        if (request.path.find("/services/") != std::string::npos)
            return on_response({services, {}, make_bytes("{}")});
        const std::string name = request.path.substr(request.path.rfind('/') + 1);
        for (const api::Kind& kind : api::all_kinds()) {
            if (!kind.custom || kind.plural + "." + kind.group != name) continue;
            return on_response({200, {}, make_bytes(api::to_json(crd_of(kind, conversion)))});
        }
        on_response({404, {}, make_bytes("{}")});
    }
    StreamId open(net::Request, Stream) override { return {}; }
    void cancel(StreamId) override {}

    std::vector<std::string> told() {
        std::vector<std::string> lines;
        look_for_converters(*this, [&](std::string line) { lines.push_back(std::move(line)); });
        return lines;
    }
};

TEST_CASE("a converter that is not there is told of once, with what to do") {
    SmallCluster cluster;
    const auto lines = cluster.told();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("workloads.kueue.x-k8s.io") != std::string::npos);
    CHECK(lines[0].find("muster-system/muster-webhook-service") != std::string::npos);
    CHECK(lines[0].find("--no-conversion") != std::string::npos);
}

TEST_CASE("nothing is told when the converter is there, or nobody is asked to convert") {
    SmallCluster cluster;
    cluster.services = 200;
    CHECK(cluster.told().empty());
    cluster.services = 403;  // Not allowed to know.
    CHECK(cluster.told().empty());
    cluster.services = 404;
    cluster.conversion.service_namespace.clear();
    CHECK(cluster.told().empty());
}

}  // namespace
}  // namespace muster::on_cluster
