// test/fuzz/targets.cpp - the list of all parsers under fuzzing.
#include <cstdio>
#include <cstdlib>

#include "test/fuzz/target.h"

namespace muster::fuzz {

void demand(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

std::vector<Target> all_targets() {
    return {
        apply_target(),
        base64_target(),
        cel_target(),
        crd_schema_target(),
        config_file_target(),
        duration_target(),
        exec_answer_target(),
        http1_target(),
        http2_target(),
        json_target(),
        json_path_target(),
        jwt_target(),
        kubeconfig_target(),
        node_flag_target(),
        patch_target(),
        pod_paths_target(),
        protobuf_target(),
        quantity_target(),
        queues_target(),
        review_target(),
        scenario_target(),
        selector_target(),
        timestamp_target(),
        webhook_answer_target(),
        webhook_configuration_target(),
        websocket_target(),
        yaml_target(),
    };
}

}  // namespace muster::fuzz
