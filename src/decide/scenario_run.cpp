// decide/scenario_run.cpp - the verbs of the scenario language, carried out on decide.
#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "decide/cycle.h"
#include "decide/scenario.h"
#include "decide/scenario_read.h"
#include "decide/why.h"
#include "decide/why_text.h"

namespace muster::decide {

namespace {

constexpr Time start{1'577'836'800'000'000'000};  // 2020-01-01T00:00:00Z

std::string padded(std::string_view word) {
    std::string text(word);
    text.resize(std::max<std::size_t>(text.size() + 1, 8), ' ');
    return text;
}

/// The world of one scenario while its steps run.
struct Run {
    State state;
    Time now = start;
    std::map<std::string, Workload> workloads;
    std::map<std::string, ClusterQueue> queues;
    std::string out;
    bool printed = false;

    void step(const Step& step, Reading& read);

    void flavor(const Step& step, Reading& read);
    void node(const Step& step, Reading& read);
    void name_space(const Step& step, Reading& read);
    void queue(const Step& step, Reading& read);
    void cohort(const Step& step, Reading& read);
    void local(const Step& step, Reading& read);
    void submit(const Step& step, Reading& read);
    void pod(const Step& step, Reading& read);
    void admitted(const Step& step, Reading& read);
    void remove(const Step& step, Reading& read);
    void options(const Step& step, Reading& read);
    bool of_workload(const Step& step, Reading& read);
    std::vector<ResourceGroup> quotas(const std::vector<Step::Option>& options, Reading& read);

    void cycle();
    void show(const std::string& queue);
    void print(const std::string& line) { out += line + "\n"; }
    void set(const Workload& workload) { apply(state, WorkloadSet{workload}); }
};

void Run::step(const Step& step, Reading& read) {
    using Verb = void (Run::*)(const Step&, Reading&);
    static const std::map<std::string_view, Verb> makers = {
        {"flavor", &Run::flavor}, {"node", &Run::node},       {"namespace", &Run::name_space},
        {"queue", &Run::queue},   {"cohort", &Run::cohort},   {"local", &Run::local},
        {"submit", &Run::submit}, {"pod", &Run::pod},         {"admitted", &Run::admitted},
        {"remove", &Run::remove}, {"options", &Run::options},
    };
    if (const auto maker = makers.find(step.verb); maker != makers.end()) {
        (this->*maker->second)(step, read);
        return;
    }
    if (step.verb == "gone") return apply(state, PodGone{step.names[0]});
    if (step.verb == "advance") {
        now = now + read.duration(step.names[0]);
    } else if (step.verb == "cycle") {
        cycle();
    } else if (step.verb == "why") {
        for (const std::string& line : lines(why(state, step.names[0], now)))
            print(line);
    } else if (step.verb == "show") {
        show(step.names[0]);
    } else if (step.verb == "order") {
        const auto names = waiting_in(state, step.names[0] == "-" ? "" : step.names[0], now);
        print(padded("order") + join(names, " "));
    } else if (!of_workload(step, read)) {
        read.wrong("'" + step.verb + "' cannot be run on decide");
    }
}

void Run::flavor(const Step& step, Reading& read) {
    Flavor flavor;
    flavor.name = step.names[0];
    for (const auto& [key, value] : step.options) {
        if (key == "label") {
            flavor.node_labels.insert(read.label(value));
        } else if (key == "taint") {
            flavor.taints.push_back(read.taint(value));
        } else if (key == "tolerate") {
            flavor.tolerations.push_back(read.toleration(value));
        } else {
            read.wrong("a flavor has no option '" + key + "'");
        }
    }
    apply(state, FlavorSet{std::move(flavor)});
}

void Run::node(const Step& step, Reading& read) {
    Node node;
    node.name = step.names[0];
    for (const auto& [key, value] : step.options) {
        if (key == "label") {
            node.labels.insert(read.label(value));
        } else if (key == "taint") {
            node.taints.push_back(read.taint(value));
        } else if (key == "cordoned") {
            node.scheduling = Node::Scheduling::cordoned;
        } else {
            node.allocatable[key] = read.amount(key, value);
        }
    }
    apply(state, NodeSet{std::move(node)});
}

void Run::name_space(const Step& step, Reading& read) {
    Labels labels;
    for (const auto& [key, value] : step.options) {
        if (key != "label") read.wrong("a namespace has no option '" + key + "'");
        labels.insert(read.label(value));
    }
    apply(state, NamespaceSet{step.names[0], std::move(labels)});
}

std::vector<ResourceGroup> Run::quotas(const std::vector<Step::Option>& options, Reading& read) {
    std::vector<ResourceGroup> groups(1);
    const auto flavor_of = [&](std::string name) -> FlavorQuotas& {
        auto& flavors = groups.back().flavors;
        for (FlavorQuotas& flavor : flavors) {
            if (flavor.flavor == name) return flavor;
        }
        flavors.push_back({std::move(name), {}});
        return flavors.back();
    };
    std::string flavor = "default";
    for (const auto& [key, value] : options) {
        if (key == "group") {
            groups.emplace_back();
        } else if (key == "flavor") {
            flavor = value;
        } else {
            const auto parts = split(value, ',');
            Quota quota;
            quota.nominal = read.amount(key, parts[0]);
            for (std::size_t i = 1; i < parts.size(); ++i) {
                const auto limit = split_first(parts[i], '=');
                if (limit && limit->before == "borrow") {
                    quota.borrowing_limit = read.amount(key, limit->after);
                } else if (limit && limit->before == "lend") {
                    quota.lending_limit = read.amount(key, limit->after);
                } else {
                    read.wrong("'" + std::string(parts[i]) + "' is no limit");
                }
            }
            flavor_of(flavor).resources[key] = quota;
            auto& covered = groups.back().resources;
            if (std::find(covered.begin(), covered.end(), key) == covered.end()) {
                covered.push_back(key);
            }
            if (flavor == "default") apply(state, FlavorSet{Flavor{"default", {}, {}, {}}});
        }
    }
    std::erase_if(groups, [](const ResourceGroup& group) { return group.flavors.empty(); });
    return groups;
}

void Run::queue(const Step& step, Reading& read) {
    ClusterQueue queue;
    queue.name = step.names[0];
    queue.namespaces = Selector{};
    std::vector<Step::Option> rest;
    for (const auto& [key, value] : step.options) {
        if (key == "strict") {
            queue.strategy = ClusterQueue::Strategy::strict_fifo;
        } else if (key == "stop") {
            queue.stop = read.stop(value);
        } else if (key == "cohort") {
            queue.cohort = value;
        } else if (key == "namespaces") {
            if (value == "none") {
                queue.namespaces.reset();
            } else {
                queue.namespaces->labels.insert(read.label(value));
            }
        } else {
            rest.push_back({key, value});
        }
    }
    // Without quotas it keeps those it had, so that one word can be changed.
    const auto known = queues.find(queue.name);
    queue.groups =
        rest.empty() && known != queues.end() ? known->second.groups : quotas(rest, read);
    queues[queue.name] = queue;
    apply(state, LocalQueueSet{{"default", queue.name, queue.name, StopPolicy::none}});
    apply(state, QueueSet{std::move(queue)});
}

void Run::cohort(const Step& step, Reading& read) {
    Cohort cohort;
    cohort.name = step.names[0];
    std::vector<Step::Option> rest;
    for (const auto& option : step.options) {
        if (option.key == "parent") {
            cohort.parent = option.value;
        } else {
            rest.push_back(option);
        }
    }
    cohort.groups = quotas(rest, read);
    apply(state, CohortSet{std::move(cohort)});
}

void Run::local(const Step& step, Reading& read) {
    const auto name = split_first(step.names[0], '/');
    if (!name) return read.wrong("a local queue is named NS/NAME");
    LocalQueue queue{std::string(name->before), std::string(name->after), step.names[1], {}};
    for (const auto& [key, value] : step.options) {
        if (key != "stop") read.wrong("a local queue has no option '" + key + "'");
        queue.stop = read.stop(value);
    }
    apply(state, LocalQueueSet{std::move(queue)});
}

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

void Run::submit(const Step& step, Reading& read) {
    Workload workload;
    workload.id = step.names[0];
    workload.ns = "default";
    if (step.names[1] != "-") workload.local_queue = step.names[1];
    if (step.names[1] == "-") workload.binds = Workload::Binds::quota_and_nodes;
    workload.created = now;
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
    apply(state, bound);
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
    apply(state, WorkloadAdmitted{step.names[0], {step.names[1], {std::move(set)}}});
}

void Run::remove(const Step& step, Reading& read) {
    const std::string& kind = step.names[0];
    const std::string& name = step.names[1];
    if (kind == "queue") {
        apply(state, QueueRemoved{name});
    } else if (kind == "local") {
        const auto halves = split_first(name, '/');
        if (!halves) return read.wrong("a local queue is named NS/NAME");
        apply(state, LocalQueueRemoved{std::string(halves->before), std::string(halves->after)});
    } else if (kind == "flavor") {
        apply(state, FlavorRemoved{name});
    } else if (kind == "node") {
        apply(state, NodeRemoved{name});
    } else if (kind == "cohort") {
        apply(state, CohortRemoved{name});
    } else {
        read.wrong("'" + kind + "' cannot be removed");
    }
}

void Run::options(const Step& step, Reading& read) {
    Options options;
    for (const auto& [key, value] : step.options) {
        if (key == "capacity" && value == "aggregate") {
            options.capacity = Options::Capacity::aggregate;
        } else if (key == "order" && value == "fifo") {
            options.order = Options::Order::fifo;
        } else if (!(key == "capacity" && value == "per_node") &&
                   !(key == "order" && value == "priority")) {
            read.wrong("there is no option '" + key + "=" + value + "'");
        }
    }
    apply(state, OptionsSet{options});
}

bool Run::of_workload(const Step& step, Reading& read) {
    const std::string& id = step.names[0];
    const auto known = workloads.find(id);
    if (known == workloads.end()) {
        read.wrong("'" + id + "' was not submitted");
        return true;
    }
    Workload& workload = known->second;
    if (step.verb == "finish") {
        apply(state, WorkloadFinished{id});
    } else if (step.verb == "delete") {
        apply(state, WorkloadRemoved{id});
    } else if (step.verb == "release") {
        apply(state, WorkloadReleased{id});
    } else if (step.verb == "fail") {
        apply(state, WorkloadFailed{id});
    } else if (step.verb == "evicted") {
        apply(state, WorkloadEvicted{id});
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
    } else if (step.verb == "reclaim") {
        for (PodSet& pod_set : workload.pod_sets) {
            if (pod_set.name == step.names[1]) pod_set.reclaimable = read.integer(step.names[2]);
        }
        set(workload);
    } else {
        return false;
    }
    return true;
}

std::string given(const Assignment& assignment) {
    std::string text;
    for (const PodSetAssignment& set : assignment.pod_sets) {
        text += "  " + set.name + "*" + std::to_string(set.count);
        for (const auto& [resource, flavor] : set.flavors) {
            text +=
                " " + resource + "=" + amount_text(resource, set.usage.at(resource)) + "@" + flavor;
        }
    }
    return text;
}

void Run::cycle() {
    if (std::exchange(printed, true)) print("");
    const Decision decision = decide(state, now);
    for (const Evict& evict : decision.evicts) {
        print(padded("evict") + evict.workload + "  " + eviction_reason(evict));
    }
    for (const Admit& admit : decision.admits) {
        print(padded("admit") + admit.workload + given(admit.assignment));
    }
    for (const Wait& wait : decision.waits) {
        print(padded("wait") + wait.workload + "  " + condition_reason(*wait.reason) + ": " +
              condition_message(*wait.reason));
    }
    if (decision.look_again) print(padded("look") + "at " + to_rfc3339(*decision.look_again));
    if (decision.admits.empty() && decision.evicts.empty() && decision.waits.empty() &&
        !decision.look_again) {
        print("rest");
    }
}

void Run::show(const std::string& queue) {
    const auto report = report_queue(state, queue == "-" ? "" : queue);
    if (!report) return print(padded("show") + queue + "  does not exist");
    std::string line = padded("show") + queue + "  pending=" + std::to_string(report->pending) +
                       " admitted=" + std::to_string(report->admitted);
    for (const auto& [flavor, resources] : report->flavors) {
        for (const auto& [resource, use] : resources) {
            line += "  " + resource + "@" + flavor + "=" + amount_text(resource, use.used) + "/" +
                    amount_text(resource, use.nominal);
            if (use.borrowed.value > 0) line += " borrowed " + amount_text(resource, use.borrowed);
        }
    }
    print(line);
}

}  // namespace

std::variant<std::string, ScenarioError> run_scenario(const Scenario& scenario) {
    Run run;
    for (const Step& step : scenario.steps) {
        Reading read(step);
        run.step(step, read);
        if (read.error()) return *read.error();
        const auto broken = broken_invariants(run.state);
        if (!broken.empty()) return ScenarioError{step.line, "invariant: " + broken.front()};
    }
    return std::move(run.out);
}

}  // namespace muster::decide
