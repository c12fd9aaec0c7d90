// apps/operator/presence.h - whether a server has the kinds that the controllers need, in words.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/request.h"
#include "kube/transport.h"

namespace muster::on_cluster {

/// What a server says about one kind.
struct Answer {
    kube::Target target;
    int status = 0;       // 200: it is there, 404: it is not, 0: the server could not be reached.
    std::string message;  // The server's own words when it refuses.
};

/// Asks for one object of each kind; `done` gets as many answers, in the same order, later.
void ask_for_kinds(kube::Transport& transport, const std::vector<kube::Target>& targets,
                   std::function<void(std::vector<Answer>)> done);

/// What is to be done before the controllers can start, and what goes on without.
struct Presence {
    std::vector<std::string> missing;   // Lines for people: what must be there and is not.
    std::vector<std::string> optional;  // "rayclusters.ray.io/v1": not there, and not needed.
    bool can_start() const { return missing.empty(); }
};

/// Kueue's kinds and those of every cluster must be there; the others may come later.
Presence judge(const std::vector<Answer>& answers);

/// Asks whether the server has AppWrappers of the version that nobody here manages, and tells so in
/// words for people: they have the group and the plural of those that are.
void look_for_unmanaged(kube::Transport& transport, std::function<void(std::string)> tell);

}  // namespace muster::on_cluster
