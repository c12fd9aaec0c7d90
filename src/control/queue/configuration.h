// control/queue/configuration.h - the file given with --config: Kueue's Configuration, and Muster's
// own for what Kueue has no word for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/queue/settings.h"

namespace muster::control::queue {

/// What is wrong with a configuration, in words for the administrator.
struct WrongConfiguration {
    struct Fault {
        std::size_t line = 0;  // Counted from 1; 0: of no line.
        std::string field;     // "resources.transformations[0].strategy"; empty: of no field.
        std::string text;      // In Kueue's words where it has some.
    };
    std::vector<Fault> faults;  // All there are, by line; never empty.

    /// A line each: "line 7: resources.quotaCheckStrategy: Unsupported value: ...".
    std::string text() const;
};

/// Reads a YAML stream of
/// - `config.kueue.x-k8s.io/v1beta1` or `v1beta2`, kind Configuration: unknown fields, wrong types
///   and values are faults. What Muster does not obey is among the warnings of the settings;
/// - `muster.dev/v1alpha1`, kind Configuration: `appWrappers: {capacity: PerNode | Aggregate,
///   order: Priority | FIFO}`; `images`, `hostPaths`,
///   `objects`, `podPidsLimit` and `podSecurity` are of no interest here (apps/up/config.h).
///
/// `gates` are those of the command line ("A=true,B=false"); giving some there and in the file is a
/// fault.
std::variant<Settings, WrongConfiguration> read_configuration(std::string_view yaml,
                                                              std::string_view gates = {});

}  // namespace muster::control::queue
