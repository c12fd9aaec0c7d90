// decide/scenario_workloads.cpp - the verbs about workloads and their pods.
#include <utility>

#include "base/text.h"
#include "decide/scenario_run.h"

namespace muster::decide {

namespace {

std::int64_t millionths(std::string_view text, Reading& read) {
    const auto parts = split(text, '.');
    std::string digits(parts.size() > 1 ? parts[1] : "");
    if (parts.size() > 2 || digits.size() > 6) {
        read.wrong("'" + std::string(text) + "' is not a slope");
        return 0;
    }
    digits.resize(6, '0');
    return read.integer(std::string(parts[0]) + digits);
}

/// False when the option is about something else.
bool read_topology(const std::string& key, const std::string& value, PodSet& set, Reading& read) {
    TopologyRequest& request = set.topology;
    if (key == "required" || key == "preferred") {
        request.mode =
            key == "required" ? TopologyRequest::Mode::required : TopologyRequest::Mode::preferred;
        request.level = level_label(value);
    } else if (key == "unconstrained") {
        request.mode = TopologyRequest::Mode::unconstrained;
    } else if (key == "slice") {
        const auto [level, size] = read.label(value);
        request.slices.push_back({level_label(level), read.integer(size)});
    } else if (key == "group") {
        set.group = value;
    } else {
        return false;
    }
    return true;
}

}  // namespace

void Run::submit(const Step& step, Reading& read) {
    Workload workload;
    workload.id = step.names[0];
    workload.ns = "default";
    if (step.names[1] != "-") workload.local_queue = step.names[1];
    if (step.names[1] == "-") workload.binds = Workload::Binds::quota_and_nodes;
    workload.created = now;
    workload.pods_ready = Workload::PodsReady::no;
    std::vector<PodSet> sets(1);
    for (const auto& [key, value] : step.options) {
        PodSet& set = sets.back();
        PodShape& pod = set.pod;
        if (key == "set") {
            if (sets.back() != PodSet{}) sets.emplace_back();
            sets.back().name = value;
        } else if (key == "count") {
            set.count = read.integer(value);
            if (set.count < 0 || set.count > 10'000) read.wrong("count is from 0 to 10000");
        } else if (key == "min") {
            set.min_count = read.integer(value);
            if (*set.min_count < 1 || *set.min_count > set.count)
                read.wrong("min is from 1 to count");
        } else if (key == "gated") {
            workload.gate = Workload::PreemptionGate::closed;
        } else if (key == "gates") {
            workload.barred_by = value;
            workload.barrier = Workload::Barrier::admission_gates;
        } else if (key == "priority") {
            workload.priority = read.integer(value);
        } else if (key == "slope") {
            workload.slope_millionths = millionths(value, read);
        } else if (key == "gang") {
            workload.binds = Workload::Binds::quota_and_nodes;
        } else if (key == "ns") {
            workload.ns = value;
        } else if (key == "select") {
            pod.node_selector.insert(read.label(value));
        } else if (key == "affinity") {
            const auto [label, wanted] = read.label(value);
            pod.node_affinity.push_back({{{label, Requirement::Op::in, {wanted}}}, {}});
        } else if (read_topology(key, value, set, read)) {
            continue;
        } else if (key == "tolerate") {
            pod.tolerations.push_back(read.toleration(value));
        } else {
            pod.requests[key] = read.amount(key, value);
        }
    }
    workload.pod_sets = std::move(sets);
    workloads[workload.id] = workload;
    set(workload);
    now = now + seconds(1);
}

void Run::pod(const Step& step, Reading& read) {
    PodBound bound;
    bound.name = step.names[0];
    bound.node = step.names[1];
    for (const auto& [key, value] : step.options) {
        if (key == "of") {
            bound.workload = value;
        } else if (key == "set") {
            bound.pod_set = value;
        } else {
            bound.shape.requests[key] = read.amount(key, value);
        }
    }
    take(bound);
}

void Run::admitted(const Step& step, Reading& read) {
    PodSetAssignment set;
    set.name = step.names[2];
    set.count = read.integer(step.names[3]);
    for (const auto& [key, value] : step.options) {
        const auto halves = split_first(value, '@');
        if (!halves) return read.wrong("'" + value + "' is not of the form amount@flavor");
        set.usage[key] = read.amount(key, halves->before);
        set.flavors[key] = halves->after;
    }
    take(WorkloadAdmitted{step.names[0], {step.names[1], {std::move(set)}}});
}

void Run::gone(const Step& step, Reading&) {
    take(PodGone{step.names[0]});
}

void Run::of_workload(const Step& step, Reading& read) {
    const std::string& id = step.names[0];
    const auto known = workloads.find(id);
    if (known == workloads.end()) {
        read.wrong("'" + id + "' was not submitted");
        return;
    }
    Workload& workload = known->second;
    if (step.verb == "finish") {
        take(WorkloadFinished{id});
    } else if (step.verb == "delete") {
        take(WorkloadRemoved{id});
    } else if (step.verb == "release") {
        take(WorkloadReleased{id});
    } else if (step.verb == "fail") {
        take(WorkloadFailed{id});
    } else if (step.verb == "evicted") {
        take(WorkloadEvicted{id});
    } else if (step.verb == "activate" || step.verb == "deactivate") {
        workload.activity =
            step.verb == "activate" ? Workload::Activity::active : Workload::Activity::deactivated;
        set(workload);
    } else if (step.verb == "priority") {
        workload.priority = read.integer(step.names[1]);
        set(workload);
    } else if (step.verb == "backoff") {
        workload.not_before = now + read.duration(step.names[1]);
        set(workload);
    } else if (step.verb == "checks") {
        if (step.names[1] != "pending" && step.names[1] != "passed" && step.names[1] != "failed")
            read.wrong("checks are pending, passed or failed");
        workload.barrier =
            step.names[1] == "failed" ? Workload::Barrier::failed_checks : Workload::Barrier::none;
        workload.stage =
            step.names[1] == "passed" ? Workload::Stage::admitted : Workload::Stage::reserved;
        set(workload);
    } else if (step.verb == "gate") {
        workload.barred_by = step.names[1] == "-" ? "" : step.names[1];
        workload.barrier = workload.barred_by.empty() ? Workload::Barrier::none
                                                      : Workload::Barrier::admission_gates;
        set(workload);
    } else if (step.verb == "pods_ready" || step.verb == "pods_not_ready") {
        workload.pods_ready =
            step.verb == "pods_ready" ? Workload::PodsReady::yes : Workload::PodsReady::no;
        set(workload);
    } else if (step.verb == "reclaim") {
        for (PodSet& pod_set : workload.pod_sets) {
            if (pod_set.name == step.names[1]) pod_set.reclaimable = read.integer(step.names[2]);
        }
        set(workload);
    }
}

}  // namespace muster::decide
