// agent/probe.h - when a probe is due and what its results mean; without time or processes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/value.h"
#include "base/time.h"

namespace muster::agent {

enum class ProbeKind { startup, liveness, readiness };
const char* word(ProbeKind kind);  // "Startup", "Liveness", "Readiness", as in events.

/// One probe or lifecycle hook: what to ask.
struct Handler {
    enum class Kind { exec, http, tcp, sleep, unsupported };
    Kind kind = Kind::unsupported;
    std::vector<std::string> command;
    std::string host;  // Empty: the pod's own address.
    int port = 0;
    std::string scheme;
    std::string path;
    std::vector<std::pair<std::string, std::string>> headers;
    Duration sleep;
};

/// Reads a probe's or hook's handler; named ports are those of the container.
Handler handler_of(const api::Value& value, const api::Value& container);

struct ProbeSpec {
    Handler handler;
    Duration initial_delay;
    Duration period;
    Duration timeout;
    int success_threshold = 1;
    int failure_threshold = 3;
    bool eager = false;  // Injected by Muster: asked every 0.2 s until the first success.
};

/// Absent when the container has no such probe.
std::optional<ProbeSpec> probe_spec_of(const api::Value& container, ProbeKind kind, bool injected);

/// What is known of a probe since its container was started.
struct ProbeState {
    bool under_way = false;
    Time last_started;
    int successes = 0;  // In a row.
    int failures = 0;
    bool ever_passed = false;
    std::optional<bool> verdict;  // Set when a threshold was reached; stays until the other is.
};

/// When the probe is to be asked next, given that it is not under way.
Time next_due(const ProbeSpec& spec, const ProbeState& state, Time container_started);

/// Takes one result.
void take_result(const ProbeSpec& spec, ProbeState& state, bool success);

}  // namespace muster::agent
