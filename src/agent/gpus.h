// agent/gpus.h - which of this machine's GPUs each pod may use.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "api/value.h"

namespace muster::agent {

/// How many GPUs a container asks for, and its pod at once: its containers together, or the
/// greediest of its init containers.
int gpus_of(const api::Value& container);
int gpus_of_pod(const api::Value& pod);

/// True for a container that asks for a GPU or another extended resource ("amd.com/gpu",
/// "rdma/hca"): it sees the machine's accelerators.
bool asks_for_accelerators(const api::Value& container);

/// Which of the pod's GPUs are the container's; containers share none, an init container takes from
/// all.
std::vector<int> share_of(const api::Value& pod, const std::string& container,
                          const std::vector<int>& gpus);

/// "0,2": how CUDA takes it.
std::string visible(const std::vector<int>& gpus);

/// The GPUs of the declared nodes, numbered through. Lives on the agent's loop.
class GpuTable {
public:
    explicit GpuTable(const std::vector<NodeDeclaration>& nodes);

    /// True when a node has any: then pods that ask for none see none.
    bool any() const { return any_; }

    /// Free ones of the node for the pod, or those it has; absent when too few are free.
    std::optional<std::vector<int>> take(const std::string& node, const std::string& uid,
                                         int count);
    /// What a pod of an earlier life has.
    void adopt(const std::string& uid, const std::vector<int>& gpus);
    void free(const std::string& uid);

private:
    struct Range {
        int first = 0;
        int count = 0;
    };
    std::map<std::string, Range> nodes_;
    std::map<std::string, std::vector<int>> held_;  // By the pod's uid.
    std::set<int> used_;
    bool any_ = false;
};

}  // namespace muster::agent
