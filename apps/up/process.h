// apps/up/process.h - what every long-running program of ours has: a clock for spans, and signals
// that end it.
#pragma once

#include <cstddef>

#include <signal.h>

#include "base/time.h"

namespace muster::up {

/// Since some moment before this program; never goes back.
Duration steady_time();

/// The same, with the time for which the machine was suspended.
Duration time_since_boot();

/// Raises how many descriptors this process may have to what the system lets it; how many that is.
std::size_t raise_descriptor_limit();

/// Keeps SIGTERM and SIGINT, which it gives, for the one thread that waits for them, and lets a
/// write to a closed pipe fail instead of ending the process. Call it before there are threads.
sigset_t take_signals();

}  // namespace muster::up
