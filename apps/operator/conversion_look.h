// apps/operator/conversion_look.h - for an operator without webhooks: whether anybody converts
// between the versions of Kueue's kinds, when their definitions say that somebody does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/kind.h"
#include "api/value.h"
#include "kube/transport.h"

namespace muster::on_cluster {

/// The Service that a CustomResourceDefinition has its versions converted by. Absent: no Service.
std::optional<api::Key> converter_of(const api::Value& definition);

/// Asks once. `tell` gets a sentence for each Service that is named and is not there: then one
/// version of the kinds cannot be read, and the API server lists all of them again and again for
/// it. Calls nothing when `transport` gives no answers.
void look_for_converters(kube::Transport& transport, std::function<void(std::string)> tell);

}  // namespace muster::on_cluster
