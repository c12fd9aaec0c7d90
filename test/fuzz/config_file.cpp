// test/fuzz/config_file.cpp - The file of --config.
#include "apps/up/config.h"
#include "base/error.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    try {
        up::parse_config("config.yaml", std::string(input));
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

}  // namespace

Target config_file_target() {
    return {"config_file",
            {R"(apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
waitForPodsReady: {enable: false}
integrations: {frameworks: [batch/job]}
)",
             R"(apiVersion: muster.dev/v1alpha1
kind: Configuration
appWrappers: {capacity: Aggregate, order: FIFO}
images: [{pattern: "ray*", environment: /opt/ray, variables: {A: b}}]
)"},
            take};
}

}  // namespace muster::fuzz
