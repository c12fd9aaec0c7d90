// control/queue/process_settings.h - what the file of --config says of the process: where it
// serves, who of several works.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::control::queue {

/// Empty: not said.
struct ProcessSettings {
    std::vector<std::string> given{};  // What the file says of the process: "webhook", ...
    std::string health_address{};      // "ADDRESS:PORT"; "0": nowhere.
    std::string readiness_name{};
    std::string liveness_name{};
    std::string metrics_address{};
    std::string profile_address{};
    struct Election {
        enum class Wanted { no, yes };
        Wanted wanted = Wanted::yes;
        std::string ns{};
        std::string name{};
        std::optional<Duration> lease{};
        std::optional<Duration> renew_within{};
        std::optional<Duration> retry{};
    };
    std::optional<Election> election{};
    struct Tls {
        bool only_1_3 = false;
        std::vector<std::string> cipher_suites{};
        std::vector<std::string> curves{};
    };
    Tls tls{};  // Of the servers of webhooks and metrics.
};

/// Requires: `read_configuration` has taken this text.
ProcessSettings read_process_settings(std::string_view yaml);

}  // namespace muster::control::queue
