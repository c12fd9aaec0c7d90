// apps/up/shared_users_test.cpp - who may run pods where all run as Muster's own user.
#include "apps/up/shared_users.h"

#include <doctest/doctest.h>

#include "api/kind.h"

namespace muster::up {

namespace {

bool is_refused(const std::pair<std::string, std::string>& resource, const std::string& group,
                api::AdmissionRequest::Operation operation, const std::string& subresource = "") {
    api::Kind kind;
    kind.group = resource.first;
    kind.plural = resource.second;
    api::AdmissionRequest request;
    request.kind = &kind;
    request.groups = {group, "system:authenticated"};
    request.operation = operation;
    request.subresource = subresource;
    return refuse_pods_of_others()(request).denied.has_value();
}

}  // namespace

TEST_CASE("where pods are Muster's own user, others make none, in no way") {
    using Operation = api::AdmissionRequest::Operation;
    const std::string team = "system:serviceaccounts:team";
    for (const std::pair<std::string, std::string>& resource :
         std::vector<std::pair<std::string, std::string>>{
             {"", "pods"},
             {"batch", "jobs"},
             {"apps", "deployments"},
             {"ray.io", "rayclusters"},
             {"workload.codeflare.dev", "appwrappers"}}) {
        CHECK(is_refused(resource, team, Operation::create));
        CHECK(is_refused(resource, team, Operation::update));
        CHECK_FALSE(is_refused(resource, "system:masters", Operation::create));
        CHECK_FALSE(is_refused(resource, team, Operation::remove));
        CHECK_FALSE(is_refused(resource, team, Operation::update, "status"));
    }
    CHECK_FALSE(is_refused({"", "configmaps"}, team, Operation::create));
    CHECK(is_refused({"apps", "deployments"}, team, Operation::update, "scale"));
}

TEST_CASE("where pods are Muster's own user, others run no commands in them") {
    CHECK(refuse_connections_of_others({"system:masters", "system:authenticated"}) == "");
    const std::string why = refuse_connections_of_others({"team", "system:authenticated"});
    CHECK(why.find("--allow-shared-uid") != std::string::npos);
}

}  // namespace muster::up
