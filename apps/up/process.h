// apps/up/process.h - what every long-running program of ours has: a clock for spans, and signals
// that end it.
#pragma once

#include <signal.h>

#include "base/time.h"

namespace muster::up {

/// Since some moment before this program; never goes back.
Duration steady_time();

/// SIGTERM and SIGINT.
sigset_t ending_signals();

}  // namespace muster::up
