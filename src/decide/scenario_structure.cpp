// decide/scenario_structure.cpp - the verbs that set up queues, nodes and namespaces.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "decide/scenario_run.h"

namespace muster::decide {

std::string level_label(const std::string& word) {
    return word == "host" ? std::string(hostname_level) : word;
}

void Run::flavor(const Step& step, Reading& read) {
    Flavor flavor;
    flavor.name = step.names[0];
    for (const auto& [key, value] : step.options) {
        if (key == "label") {
            flavor.node_labels.insert(read.label(value));
        } else if (key == "taint") {
            flavor.taints.push_back(read.taint(value));
        } else if (key == "topology") {
            flavor.topology = value;
        } else if (key == "tolerate") {
            flavor.tolerations.push_back(read.toleration(value));
        } else {
            read.wrong("a flavor has no option '" + key + "'");
        }
    }
    take(FlavorSet{std::move(flavor)});
}

void Run::topology(const Step& step, Reading& read) {
    Topology topology;
    topology.name = step.names[0];
    for (const auto& [key, value] : step.options) {
        if (key != "level") read.wrong("a topology has no option '" + key + "'");
        topology.levels.push_back(level_label(value));
    }
    take(TopologySet{std::move(topology)});
}

void Run::node(const Step& step, Reading& read) {
    Node node;
    node.name = step.names[0];
    node.labels.emplace(hostname_level, node.name);
    for (const auto& [key, value] : step.options) {
        if (key == "label") {
            node.labels.insert(read.label(value));
        } else if (key == "taint") {
            node.taints.push_back(read.taint(value));
        } else if (key == "notready") {
            node.condition = Node::Condition::not_ready;
        } else if (key == "cordoned") {
            node.scheduling = Node::Scheduling::cordoned;
        } else {
            node.allocatable[key] = read.amount(key, value);
        }
    }
    take(NodeSet{std::move(node)});
}

void Run::name_space(const Step& step, Reading& read) {
    Labels labels;
    for (const auto& [key, value] : step.options) {
        if (key != "label") read.wrong("a namespace has no option '" + key + "'");
        labels.insert(read.label(value));
    }
    take(NamespaceSet{step.names[0], std::move(labels)});
}

void Run::check(const Step& step, Reading& read) {
    AdmissionCheck check{step.names[0], AdmissionCheck::State::active};
    for (const auto& [key, value] : step.options) {
        if (key != "inactive") read.wrong("a check has no option '" + key + "'");
        check.state = AdmissionCheck::State::inactive;
    }
    take(AdmissionCheckSet{std::move(check)});
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
            if (flavor == "default") take(FlavorSet{Flavor{"default", {}, {}, {}}});
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
        } else if (key == "check") {
            const auto halves = split_first(value, ':');
            CheckRule rule{halves ? std::string(halves->before) : value, {}};
            for (const std::string_view flavor : split(halves ? halves->after : "", ','))
                if (!flavor.empty()) rule.flavors.emplace_back(flavor);
            queue.checks.push_back(std::move(rule));
        } else if (!read_policy(queue, {key, value}, read)) {
            rest.push_back({key, value});
        }
    }
    // Without quotas it keeps those it had, so that one word can be changed.
    const auto known = queues.find(queue.name);
    queue.groups =
        rest.empty() && known != queues.end() ? known->second.groups : quotas(rest, read);
    queues[queue.name] = queue;
    take(LocalQueueSet{{"default", queue.name, queue.name, StopPolicy::none}});
    take(QueueSet{std::move(queue)});
}

void Run::cohort(const Step& step, Reading& read) {
    Cohort cohort;
    cohort.name = step.names[0];
    std::vector<Step::Option> rest;
    for (const auto& option : step.options) {
        if (option.key == "parent") {
            cohort.parent = option.value;
        } else if (option.key == "weight") {
            cohort.weight = read_weight(option.value, read);
        } else {
            rest.push_back(option);
        }
    }
    cohort.groups = quotas(rest, read);
    take(CohortSet{std::move(cohort)});
}

void Run::local(const Step& step, Reading& read) {
    const auto name = split_first(step.names[0], '/');
    if (!name) return read.wrong("a local queue is named NS/NAME");
    LocalQueue queue{std::string(name->before), std::string(name->after), step.names[1], {}};
    for (const auto& [key, value] : step.options) {
        if (key == "weight") {
            queue.weight = read_weight(value, read);
        } else if (key == "stop") {
            queue.stop = read.stop(value);
        } else {
            read.wrong("a local queue has no option '" + key + "'");
        }
    }
    take(LocalQueueSet{std::move(queue)});
}

void Run::remove(const Step& step, Reading& read) {
    const std::string& kind = step.names[0];
    const std::string& name = step.names[1];
    if (kind == "queue") {
        take(QueueRemoved{name});
    } else if (kind == "local") {
        const auto halves = split_first(name, '/');
        if (!halves) return read.wrong("a local queue is named NS/NAME");
        take(LocalQueueRemoved{std::string(halves->before), std::string(halves->after)});
    } else if (kind == "flavor") {
        take(FlavorRemoved{name});
    } else if (kind == "topology") {
        take(TopologyRemoved{name});
    } else if (kind == "node") {
        take(NodeRemoved{name});
    } else if (kind == "cohort") {
        take(CohortRemoved{name});
    } else if (kind == "check") {
        take(AdmissionCheckRemoved{name});
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
        } else if (key == "blocking" && value == "until_pods_ready") {
            options.blocking = Options::Blocking::until_pods_ready;
        } else if (read_sharing(options, {key, value}, read)) {
            continue;
        } else if (!(key == "capacity" && value == "per_node") &&
                   !(key == "order" && value == "priority")) {
            read.wrong("there is no option '" + key + "=" + value + "'");
        }
    }
    take(OptionsSet{options});
}

}  // namespace muster::decide
