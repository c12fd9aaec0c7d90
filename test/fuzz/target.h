// test/fuzz/target.h - one parser under fuzzing: its name, inputs to begin with, and what takes an
// input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::fuzz {

/// `take` returns for every input; what must hold of it, it verifies.
struct Target {
    std::string name;
    std::vector<std::string> seeds;
    void (*take)(std::string_view input);
};

/// Ends the program with what does not hold of an input.
void demand(bool holds, const char* what);

// A file each.
Target json_target();
Target yaml_target();
Target protobuf_target();
Target quantity_target();
Target duration_target();
Target timestamp_target();
Target selector_target();
Target patch_target();
Target apply_target();
Target http1_target();
Target http2_target();
Target websocket_target();
Target exec_answer_target();
Target kubeconfig_target();
Target node_flag_target();
Target config_file_target();
Target pod_paths_target();
Target scenario_target();
Target queues_target();
Target jwt_target();
Target base64_target();
Target json_path_target();
Target cel_target();
Target review_target();
Target crd_schema_target();
Target webhook_answer_target();
Target webhook_configuration_target();

/// All of them, by name.
std::vector<Target> all_targets();

}  // namespace muster::fuzz
