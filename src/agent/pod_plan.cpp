// agent/pod_plan.cpp - see pod_plan.h.
#include "agent/pod_plan.h"

#include <algorithm>

#include "base/text.h"

namespace muster::agent {

namespace {

using Phase = ContainerSeen::Phase;
using Hook = ContainerSeen::Hook;

constexpr Duration kFirstBackoff = seconds(10);
constexpr Duration kLongestBackoff = minutes(5);
constexpr Duration kLeastKillDelay = seconds(2);
const ContainerSeen kNothingSeen;

const ContainerSeen& seen_of(const PodSeen& seen, const std::string& name) {
    const auto found = seen.containers.find(name);
    return found == seen.containers.end() ? kNothingSeen : found->second;
}

bool is_live(const ContainerSeen& container) {
    return container.phase == Phase::running || container.phase == Phase::starting;
}

std::string restart_policy_of(const api::Value& pod) {
    return std::string(pod["spec"]["restartPolicy"].text_or("Always"));
}

bool is_terminating(const api::Value& pod) {
    return pod["metadata"].has("deletionTimestamp");
}

Duration grace_of(const api::Value& pod) {
    const api::Value& asked = pod["metadata"]["deletionGracePeriodSeconds"];
    if (asked.is_integer()) return seconds(asked.as_integer());
    return seconds(pod["spec"]["terminationGracePeriodSeconds"].integer_or(30));
}

/// Makes one plan; holds what its steps share.
class Planner {
public:
    Planner(const api::Value& pod, const PodSeen& seen, Time now)
        : pod_(pod), seen_(seen), now_(now), specs_(containers_of(pod)) {}

    PodPlan plan();

private:
    void end();
    Duration grace() const;
    void run();
    bool run_initial(const ContainerSpec& spec);
    void run_to_start(const ContainerSpec& spec, const ContainerSeen& container);
    void watch_over(const ContainerSpec& spec, const ContainerSeen& container);
    void ask_probes(const ContainerSpec& spec, const ContainerSeen& container);
    void stop(const ContainerSpec& spec, const ContainerSeen& container, Duration grace);
    void act(Action::Kind kind, const std::string& container = "") {
        plan_.actions.push_back({kind, container});
    }
    void look_at(Time time) {
        if (!plan_.look_again || time < *plan_.look_again) plan_.look_again = time;
    }

    const api::Value& pod_;
    const PodSeen& seen_;
    Time now_;
    std::vector<ContainerSpec> specs_;
    PodPlan plan_;
};

PodPlan Planner::plan() {
    const bool finished = is_finished(pod_, seen_);
    if (is_terminating(pod_) || seen_.verdict || seen_.shutdown || seen_.lost || finished)
        end();
    else
        run();
    return std::move(plan_);
}

/// Ends what runs: sidecars after the others, in reverse order; then the sandbox; then the object.
void Planner::end() {
    bool main_live = false;
    for (const ContainerSpec& spec : specs_)
        main_live |= spec.kind != ContainerKind::sidecar && is_live(seen_of(seen_, spec.name));
    bool live = main_live;
    bool later_sidecar_live = false;
    for (auto spec = specs_.rbegin(); spec != specs_.rend(); ++spec) {
        const ContainerSeen& container = seen_of(seen_, spec->name);
        if (!is_live(container)) continue;
        live = true;
        const bool must_wait =
            spec->kind == ContainerKind::sidecar && (main_live || later_sidecar_live);
        if (spec->kind == ContainerKind::sidecar) later_sidecar_live = true;
        if (!must_wait) stop(*spec, container, grace());
    }
    if (live) return;
    if (seen_.sandbox == PodSeen::Sandbox::up) return act(Action::Kind::end_sandbox);
    const bool clear =
        seen_.sandbox == PodSeen::Sandbox::none || seen_.sandbox == PodSeen::Sandbox::gone;
    if (clear && is_terminating(pod_) && !seen_.removed) act(Action::Kind::remove);
}

Duration Planner::grace() const {
    Duration grace = grace_of(pod_);
    if (seen_.verdict) grace = seen_.verdict->grace.value_or(grace);
    return seen_.shutdown ? std::min(grace, *seen_.shutdown) : grace;
}

void Planner::run() {
    if (!seen_.prepared) return act(Action::Kind::prepare);
    if (seen_.sandbox == PodSeen::Sandbox::none) return act(Action::Kind::make_sandbox);
    if (seen_.sandbox != PodSeen::Sandbox::up) return;
    bool initialized = true;
    for (const ContainerSpec& spec : specs_) {
        if (spec.kind == ContainerKind::main) break;
        if (!run_initial(spec)) {
            initialized = false;
            break;
        }
    }
    for (const ContainerSpec& spec : specs_) {
        const ContainerSeen& container = seen_of(seen_, spec.name);
        if (spec.kind == ContainerKind::main && initialized && !is_live(container))
            run_to_start(spec, container);
        if (container.phase == Phase::running) watch_over(spec, container);
    }
}

/// True when the next container may start.
bool Planner::run_initial(const ContainerSpec& spec) {
    const ContainerSeen& container = seen_of(seen_, spec.name);
    if (spec.kind == ContainerKind::sidecar) {
        if (!is_live(container)) run_to_start(spec, container);
        return is_started(spec, container) || container.attempt > 0;
    }
    if (container.phase == Phase::exited && container.ended && container.ended->code == 0)
        return true;
    if (!is_live(container)) run_to_start(spec, container);
    return false;
}

void Planner::run_to_start(const ContainerSpec& spec, const ContainerSeen& container) {
    if (!container.image_problem.empty() || !container.config_problem.empty()) return;
    if (container.phase == Phase::exited) {
        if (!wants_restart(pod_, spec, container)) return;
        if (const Time at = restart_at(container); at > now_) return look_at(at);
    }
    act(Action::Kind::start, spec.name);
}

void Planner::watch_over(const ContainerSpec& spec, const ContainerSeen& container) {
    if (container.stopping) return stop(spec, container, container.stop_grace);
    if (container.post_start == Hook::none && (*spec.value)["lifecycle"].has("postStart"))
        return act(Action::Kind::post_start, spec.name);
    if (container.post_start == Hook::failed) return stop(spec, container, grace_of(pod_));
    if (container.post_start == Hook::under_way) return;
    ask_probes(spec, container);
}

void Planner::ask_probes(const ContainerSpec& spec, const ContainerSeen& container) {
    for (const ProbeKind kind : {ProbeKind::startup, ProbeKind::liveness, ProbeKind::readiness}) {
        const auto probe = probe_spec_of(*spec.value, kind, spec.injected_probes);
        const ProbeState& state = container.probes[static_cast<int>(kind)];
        if (!probe) continue;
        if (kind != ProbeKind::readiness && state.verdict == false) {
            plan_.events.push_back({"Normal", "Killing",
                                    "Container " + spec.name + " failed " + to_lower(word(kind)) +
                                        " probe, will be restarted"});
            const api::Value& own =
                (*spec.value)[kind == ProbeKind::liveness ? "livenessProbe" : "startupProbe"]
                             ["terminationGracePeriodSeconds"];
            return stop(spec, container,
                        own.is_integer() ? seconds(own.as_integer()) : grace_of(pod_));
        }
        if (kind == ProbeKind::startup && state.verdict != true) {
            if (state.under_way) return;
        } else if (kind == ProbeKind::startup || state.under_way) {
            continue;
        }
        const Time due = next_due(*probe, state, container.started);
        if (due <= now_)
            plan_.actions.push_back({Action::Kind::probe, spec.name, kind});
        else
            look_at(due);
        if (kind == ProbeKind::startup) return;  // The others wait for its success.
    }
}

/// One step of ending a container: hook, SIGTERM, and SIGKILL when its time is over.
void Planner::stop(const ContainerSpec& spec, const ContainerSeen& container, Duration grace) {
    if (container.phase != Phase::running) return;
    const bool has_hook = (*spec.value)["lifecycle"].has("preStop") && grace > Duration{};
    const Time since = container.stopping ? container.stop_since : now_;
    // A later, shorter demand counts; a longer one does not.
    const Duration least = container.stopping ? std::min(container.stop_grace, grace) : grace;
    Time deadline = since + least;
    if (has_hook && container.pre_stop == Hook::none) {
        act(Action::Kind::pre_stop, spec.name);
        return;
    }
    if (container.pre_stop == Hook::under_way && now_ < deadline) return look_at(deadline);
    if (has_hook) deadline = std::max(deadline, since + kLeastKillDelay);
    if (!container.term_sent) {
        plan_.events.push_back({"Normal", "Killing", "Stopping container " + spec.name});
        act(Action::Kind::term, spec.name);
        return;
    }
    if (container.kill_sent) return;
    if (now_ >= deadline)
        act(Action::Kind::kill, spec.name);
    else
        look_at(deadline);
}

}  // namespace

std::vector<ContainerSpec> containers_of(const api::Value& pod) {
    std::vector<ContainerSpec> specs;
    const std::string marked = pod["metadata"]["annotations"]["muster.dev/injected-probes"].text();
    const auto is_marked = [&marked](const std::string& name) {
        const auto names = split(marked, ',');
        return std::any_of(names.begin(), names.end(),
                           [&](std::string_view each) { return trim(each) == name; });
    };
    for (const api::Value& value : pod["spec"]["initContainers"].items())
        specs.push_back({&value, value["name"].text(),
                         value["restartPolicy"].text() == "Always" ? ContainerKind::sidecar
                                                                   : ContainerKind::init});
    for (const api::Value& value : pod["spec"]["containers"].items())
        specs.push_back({&value, value["name"].text(), ContainerKind::main});
    for (ContainerSpec& spec : specs)
        spec.injected_probes = !marked.empty() && is_marked(spec.name);
    return specs;
}

PodPlan plan_pod(const api::Value& pod, const PodSeen& seen, Time now) {
    PodPlan plan = Planner(pod, seen, now).plan();
    const api::Value& deadline = pod["spec"]["activeDeadlineSeconds"];
    if (deadline.is_integer() && seen.acknowledged != Time{} && !seen.verdict) {
        const Time at = seen.acknowledged + seconds(deadline.as_integer());
        if (!plan.look_again || at < *plan.look_again) plan.look_again = at;
    }
    return plan;
}

void note(const api::Value& pod, PodSeen& seen, const Action& action, Time now) {
    using Kind = Action::Kind;
    if (action.kind == Kind::make_sandbox) seen.sandbox = PodSeen::Sandbox::wanted;
    if (action.kind == Kind::end_sandbox) seen.sandbox = PodSeen::Sandbox::ending;
    if (action.kind == Kind::remove) seen.removed = true;
    if (action.container.empty()) return;
    ContainerSeen& container = seen.containers[action.container];
    const auto begin_stop = [&] {
        if (container.stopping) return;
        container.stopping = true;
        container.stop_since = now;
        container.stop_grace = grace_of(pod);
    };
    switch (action.kind) {
        case Kind::start: {
            ContainerSeen fresh;
            fresh.phase = Phase::starting;
            fresh.attempt = container.attempt + 1;
            fresh.started = now;
            fresh.previous = container.ended ? container.ended : container.previous;
            fresh.backoff = container.backoff;
            container = std::move(fresh);
            break;
        }
        case Kind::post_start:
            container.post_start = Hook::under_way;
            break;
        case Kind::pre_stop:
            begin_stop();
            container.pre_stop = Hook::under_way;
            break;
        case Kind::term:
            begin_stop();
            container.term_sent = true;
            break;
        case Kind::kill:
            container.kill_sent = true;
            break;
        case Kind::probe: {
            ProbeState& state = container.probes[static_cast<int>(action.probe)];
            state.under_way = true;
            state.last_started = now;
            break;
        }
        default:
            break;
    }
}

void note_end(ContainerSeen& container, Ended ended) {
    container.phase = Phase::exited;
    container.started = ended.started;
    // The first end is followed by a start at once, as in the kubelet; a long life forgets.
    const bool lived_long = ended.finished - ended.started > kLongestBackoff * 2;
    if (container.attempt <= 0 || lived_long)
        container.backoff = Duration{};
    else
        container.backoff = container.backoff == Duration{}
                                ? kFirstBackoff
                                : std::min(container.backoff * 2, kLongestBackoff);
    container.ended = std::move(ended);
}

bool wants_restart(const api::Value& pod, const ContainerSpec& spec, const ContainerSeen& seen) {
    if (seen.phase != Phase::exited || !seen.ended) return false;
    if (spec.kind == ContainerKind::sidecar) return true;
    const std::string policy = restart_policy_of(pod);
    if (policy == "Never") return false;
    if (seen.ended->code != 0) return true;
    return policy == "Always" && spec.kind == ContainerKind::main;
}

Time restart_at(const ContainerSeen& seen) {
    return seen.ended ? seen.ended->finished + seen.backoff : Time{};
}

bool is_finished(const api::Value& pod, const PodSeen& seen) {
    const std::string phase = pod["status"]["phase"].text();
    if (seen.sandbox == PodSeen::Sandbox::none && (phase == "Succeeded" || phase == "Failed"))
        return true;
    bool all_ended = true;
    for (const ContainerSpec& spec : containers_of(pod)) {
        const ContainerSeen& container = seen_of(seen, spec.name);
        const bool ended = container.phase == Phase::exited && !wants_restart(pod, spec, container);
        if (spec.kind == ContainerKind::init && ended && container.ended->code != 0) return true;
        if (spec.kind == ContainerKind::main && !ended) all_ended = false;
    }
    return all_ended;
}

bool is_started(const ContainerSpec& spec, const ContainerSeen& seen) {
    if (seen.phase != Phase::running) return false;
    const bool hook = (*spec.value)["lifecycle"].has("postStart");
    if (hook && seen.post_start != Hook::done) return false;
    return !spec.value->has("startupProbe") || seen.probes[0].verdict == true;
}

bool is_ready(const ContainerSpec& spec, const ContainerSeen& seen) {
    if (spec.kind == ContainerKind::init)
        return seen.phase == Phase::exited && seen.ended && seen.ended->code == 0;
    if (!is_started(spec, seen)) return false;
    return !spec.value->has("readinessProbe") || seen.probes[2].verdict == true;
}

}  // namespace muster::agent
