// control/queue/configuration_rules.h - what a document of Kueue's Configuration must not say.
#pragma once

#include <string_view>
#include <vector>

#include "api/schema.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::control::queue {

enum class ConfigurationVersion { v1beta1, v1beta2 };

/// Every fault beyond names and types of fields, in Kueue's words. Requires: names and types are
/// right.
std::vector<api::FieldError> configuration_faults(const api::Value& document,
                                                  ConfigurationVersion version);

/// Kueue's names of kinds of jobs, by name.
const std::vector<std::string>& framework_names();

/// A duration as it stands in the file; what is none counts as 0.
Duration duration_of(const api::Value& text);

/// Of the whole document: what is given and turned off is as good as absent.
bool waits_for_pods(const api::Value& document, ConfigurationVersion version);
bool shares_fairly(const api::Value& document, ConfigurationVersion version);

}  // namespace muster::control::queue
