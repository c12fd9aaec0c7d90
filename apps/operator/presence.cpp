// apps/operator/presence.cpp - asks for each kind and sorts the answers.
#include "apps/operator/presence.h"

#include <set>
#include <utility>

#include "control/queue/names.h"

namespace muster::on_cluster {
namespace {

std::string text_of(const kube::Target& target) {
    const std::string& group = target.resource.group;
    return target.resource.plural + (group.empty() ? "" : "." + group) + "/" + target.version;
}

std::string message_of(const net::Response& response) {
    if (!response.body) return "";
    const api::Value body = kube::body_of(response);
    return body["message"].is_string() ? body["message"].text() : *response.body;
}

bool is_needed(const kube::Target& target) {
    const std::string& group = target.resource.group;
    if (api::find_kind(group, target.resource.plural) == nullptr) return false;  // A guest.
    // A group with a dot of its own is somebody's CRDs; k8s.io's come with the server.
    const bool built_in = group.find('.') == std::string::npos || group.ends_with(".k8s.io");
    return group == control::queue::workloads.group || built_in;
}

}  // namespace

void ask_for_kinds(kube::Transport& transport, const std::vector<kube::Target>& targets,
                   std::function<void(std::vector<Answer>)> done) {
    struct Round {
        std::vector<Answer> answers;
        std::size_t left = 0;
        std::function<void(std::vector<Answer>)> done;
    };
    const auto round = std::make_shared<Round>();
    round->left = targets.size();
    round->done = std::move(done);
    for (const kube::Target& target : targets)
        round->answers.push_back({target, 0, {}});
    for (std::size_t i = 0; i < targets.size(); ++i) {
        net::Request request = kube::list(targets[i], "");
        request.query.emplace_back("limit", "1");
        transport.send(std::move(request), [round, i](const net::Response& response) {
            round->answers[i].status = response.status;
            if (response.status != 200) round->answers[i].message = message_of(response);
            if (--round->left == 0) round->done(std::move(round->answers));
        });
    }
}

void look_for_unmanaged(kube::Transport& transport, std::function<void(std::string)> tell) {
    const kube::Target newer{{"workload.codeflare.dev", "appwrappers"}, "v1beta2"};
    net::Request request = kube::list(newer, "");
    request.query.emplace_back("limit", "1");
    transport.send(std::move(request), [tell = std::move(tell)](const net::Response& response) {
        if (response.status != 200) return;
        tell(
            "the server has AppWrappers of workload.codeflare.dev/v1beta2, which are not managed: "
            "Muster knows those of v1beta1. They are left to the operator that brought them, and "
            "none of Muster's queues admits them");
    });
}

Presence judge(const std::vector<Answer>& answers) {
    Presence presence;
    std::set<std::string> said;  // A server that is not there is named once.
    for (const Answer& answer : answers) {
        if (answer.status == 200) continue;
        const std::string name = text_of(answer.target);
        if (answer.status == 404 && !is_needed(answer.target)) {
            presence.optional.push_back(name);
        } else if (answer.status == 404) {
            presence.missing.push_back("the server does not have " + name);
        } else if (answer.status == 403) {
            presence.missing.push_back("not allowed to list " + name + ": " + answer.message);
        } else if (said.insert(answer.message).second) {
            presence.missing.push_back("the server does not answer for " + name + ": " +
                                       answer.message);
        }
    }
    return presence;
}

}  // namespace muster::on_cluster
