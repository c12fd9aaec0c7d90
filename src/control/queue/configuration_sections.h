// control/queue/configuration_sections.h - a valid document of Kueue's Configuration becomes
// settings, and a warning for each part that is not obeyed.
#pragma once

#include "api/value.h"
#include "control/queue/configuration_rules.h"
#include "control/queue/feature_gates.h"
#include "control/queue/settings.h"

namespace muster::control::queue {

/// Requires: the document has no faults.
void read_sections(Settings& settings, const api::Value& document, ConfigurationVersion version);

/// Turns on and off what gates decide; after everything else was read.
void obey_gates(Settings& settings, const Gates& gates);

}  // namespace muster::control::queue
