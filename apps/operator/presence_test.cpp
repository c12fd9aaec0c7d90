// apps/operator/presence_test.cpp - which kinds an operator waits for.
#include "apps/operator/presence.h"

#include <doctest/doctest.h>

namespace muster::on_cluster {
namespace {

TEST_CASE("kinds of others are not waited for, whatever their group is called") {
    const Presence presence =
        judge({{{{"batch", "jobs"}, "v1"}, 404, ""},
               {{{"kueue.x-k8s.io", "workloads"}, "v1beta2"}, 404, ""},
               {{{"ray.io", "rayjobs"}, "v1"}, 404, ""},
               {{{"sparkoperator.k8s.io", "sparkapplications"}, "v1beta2"}, 404, ""}});
    CHECK(presence.missing ==
          std::vector<std::string>{"the server does not have jobs.batch/v1",
                                   "the server does not have workloads.kueue.x-k8s.io/v1beta2"});
    CHECK(presence.optional ==
          std::vector<std::string>{"rayjobs.ray.io/v1",
                                   "sparkapplications.sparkoperator.k8s.io/v1beta2"});
}

}  // namespace
}  // namespace muster::on_cluster
