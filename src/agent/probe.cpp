// agent/probe.cpp - see probe.h.
#include "agent/probe.h"

#include <algorithm>

namespace muster::agent {

namespace {

constexpr Duration kEagerPeriod = milliseconds(200);

int port_of(const api::Value& port, const api::Value& container) {
    if (port.is_integer()) return static_cast<int>(port.as_integer());
    for (const api::Value& each : container["ports"].items())
        if (!port.text().empty() && each["name"].text() == port.text())
            return static_cast<int>(each["containerPort"].integer_or(0));
    return 0;
}

}  // namespace

const char* word(ProbeKind kind) {
    switch (kind) {
        case ProbeKind::startup:
            return "Startup";
        case ProbeKind::liveness:
            return "Liveness";
        case ProbeKind::readiness:
            return "Readiness";
    }
    return "";
}

Handler handler_of(const api::Value& value, const api::Value& container) {
    Handler handler;
    if (value.has("exec")) {
        handler.kind = Handler::Kind::exec;
        for (const api::Value& word : value["exec"]["command"].items())
            handler.command.push_back(word.text());
    } else if (value.has("httpGet")) {
        const api::Value& get = value["httpGet"];
        handler.kind = Handler::Kind::http;
        handler.host = get["host"].text();
        handler.port = port_of(get["port"], container);
        handler.scheme = get["scheme"].text_or("HTTP");
        handler.path = get["path"].text_or("/");
        if (!handler.path.starts_with('/')) handler.path.insert(0, "/");
        for (const api::Value& header : get["httpHeaders"].items())
            handler.headers.emplace_back(header["name"].text(), header["value"].text());
    } else if (value.has("tcpSocket")) {
        handler.kind = Handler::Kind::tcp;
        handler.host = value["tcpSocket"]["host"].text();
        handler.port = port_of(value["tcpSocket"]["port"], container);
    } else if (value.has("sleep")) {
        handler.kind = Handler::Kind::sleep;
        handler.sleep = seconds(value["sleep"]["seconds"].integer_or(0));
    }
    return handler;
}

std::optional<ProbeSpec> probe_spec_of(const api::Value& container, ProbeKind kind, bool injected) {
    static constexpr const char* kFields[] = {"startupProbe", "livenessProbe", "readinessProbe"};
    const api::Value& value = container[kFields[static_cast<int>(kind)]];
    if (!value.is_object()) return std::nullopt;
    ProbeSpec spec;
    spec.handler = handler_of(value, container);
    spec.initial_delay = seconds(value["initialDelaySeconds"].integer_or(0));
    spec.period = seconds(std::max<std::int64_t>(1, value["periodSeconds"].integer_or(10)));
    spec.timeout = seconds(std::max<std::int64_t>(1, value["timeoutSeconds"].integer_or(1)));
    spec.success_threshold = static_cast<int>(value["successThreshold"].integer_or(1));
    spec.failure_threshold = static_cast<int>(value["failureThreshold"].integer_or(3));
    spec.eager = injected && kind != ProbeKind::liveness;
    return spec;
}

Time next_due(const ProbeSpec& spec, const ProbeState& state, Time container_started) {
    const bool eager = spec.eager && !state.ever_passed;
    if (state.last_started == Time{})
        return eager ? container_started : container_started + spec.initial_delay;
    return state.last_started + (eager ? kEagerPeriod : spec.period);
}

void take_result(const ProbeSpec& spec, ProbeState& state, bool success) {
    state.under_way = false;
    if (success) {
        state.ever_passed = true;
        state.failures = 0;
        if (++state.successes >= spec.success_threshold) state.verdict = true;
    } else {
        state.successes = 0;
        // A probe that is asked more often than written must not fail sooner than written.
        if (spec.eager && !state.ever_passed) return;
        if (++state.failures >= spec.failure_threshold) state.verdict = false;
    }
}

}  // namespace muster::agent
