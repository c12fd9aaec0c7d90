// apps/up/shared_users.cpp - see shared_users.h.
#include "apps/up/shared_users.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::up {
namespace {

/// Groups all of whose kinds become pods here; controllers of other groups run in pods themselves.
constexpr std::array<std::string_view, 5> groups_of_pods = {
    "apps", "batch", "ray.io", "workload.codeflare.dev", "mcad.ibm.com"};

bool becomes_pods(const api::Kind& kind) {
    if (kind.group.empty()) return kind.plural == "pods" || kind.plural == "replicationcontrollers";
    return std::find(groups_of_pods.begin(), groups_of_pods.end(), kind.group) !=
           groups_of_pods.end();
}

bool is_owner(const std::vector<std::string>& groups) {
    return std::find(groups.begin(), groups.end(), "system:masters") != groups.end();
}

constexpr const char* remedy =
    "; give pods users of their own (`muster nodes` says how), or start muster up with "
    "--allow-shared-uid";

}  // namespace

api::AdmissionHook refuse_pods_of_others() {
    return [](const api::AdmissionRequest& request) -> api::Admission {
        const bool removes = request.operation == api::AdmissionRequest::Operation::remove;
        const bool of_status = request.subresource == "status";
        if (removes || of_status || is_owner(request.groups) || !becomes_pods(*request.kind))
            return {};
        api::Admission refusal;
        refusal.denied = api::Admission::Denial{
            .text =
                std::string("pods would run as the user who started Muster, so only that user may "
                            "make them") +
                remedy,
            .causes = {}};
        return refusal;
    };
}

std::string refuse_connections_of_others(const std::vector<std::string>& groups) {
    if (is_owner(groups)) return "";
    return std::string(
               "pods run as the user who started Muster, so only that user may act in "
               "them") +
           remedy;
}

}  // namespace muster::up
