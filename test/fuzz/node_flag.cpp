// test/fuzz/node_flag.cpp - The flag --node.
#include "agent/agent.h"
#include "base/error.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    try {
        const auto node = agent::parse_node_declaration(std::string(input));
        demand(!node.name.empty(), "a node has a name");
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

}  // namespace

Target node_flag_target() {
    return {"node_flag",
            {"laptop:cpu=8,memory=8Gi,pods=110",
             "n:cpu=500m,memory=1e9,nvidia.com/gpu=4,label.zone=a", "n:"},
            take};
}

}  // namespace muster::fuzz
