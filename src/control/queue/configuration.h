// control/queue/configuration.h - the file given with --config: Kueue's Configuration, and Muster's
// own for what Kueue has no word for.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "decide/change.h"

namespace muster::control::queue {

/// What is wrong with a configuration, in words for the administrator.
struct WrongConfiguration {
    std::string text;
};

/// Reads a YAML stream of
/// - `config.kueue.x-k8s.io/v1beta1` or `v1beta2`, kind Configuration: what concerns only how Kueue
///   is run (ports, leader election, certificates, clients) is accepted and has no effect; what
///   would change a decision and is not obeyed yet is refused unless it holds its default;
/// - `muster.dev/v1alpha1`, kind Configuration: `appWrappers: {capacity: PerNode | Aggregate,
///   order: Priority | FIFO}`.
std::variant<decide::Options, WrongConfiguration> read_configuration(std::string_view yaml);

}  // namespace muster::control::queue
