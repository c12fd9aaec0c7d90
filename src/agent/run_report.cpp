// agent/run_report.cpp - see run_report.h.
#include "agent/run_report.h"

namespace muster::agent {

RunReport report_of(const api::Value& state) {
    RunReport report;
    report.container = state["container"].text();
    report.attempt = static_cast<int>(state["attempt"].integer_or(0));
    report.running = state["ready"].boolean_or(false);
    report.started = Time{state["started"].integer_or(0)};
    if (state.has("finished")) report.finished = Time{state["finished"].integer_or(0)};
    report.code = static_cast<int>(state["code"].integer_or(0));
    report.signal = static_cast<int>(state["signal"].integer_or(0));
    report.failure = state["failure"].text();
    report.out_of_memory = state["outOfMemory"].boolean_or(false);
    return report;
}

}  // namespace muster::agent
