// decide/structure_text.cpp - names the fields of each value once, and writes them out.
#include "decide/structure_text.h"

#include <concepts>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster::decide {

namespace {

/// The text as far as it is written.
struct Text {
    std::string out{};

    void write(const std::string& word) { out += '\'' + word + '\''; }
    void write(std::int64_t number) { out += std::to_string(number); }
    void write(Amount amount) { write(amount.value); }
    void write(Time time) { write(time.since_epoch); }
    void write(Duration duration) { write(duration.nanoseconds); }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void write(Enum word) { write(static_cast<std::int64_t>(word)); }
    template <class T>
    void write(const std::optional<T>& maybe) {
        if (maybe) {
            write(*maybe);
        } else {
            out += '-';
        }
    }
    template <class T>
    void write(const std::vector<T>& list) {
        out += '[';
        for (const T& item : list)
            all(item);
        out += ']';
    }
    template <class K, class V, class Less>
    void write(const std::map<K, V, Less>& map) {
        out += '[';
        for (const auto& [key, value] : map)
            all(key, value);
        out += ']';
    }
    template <class... Fields>
    void all(const Fields&... fields) {
        ((write(fields), out += ' '), ...);
    }
    template <class... Fields>
    void record(const Fields&... fields) {
        out += '(';
        all(fields...);
        out += ')';
    }

    void write(const TopologyProfile& v) {
        const auto& [choice, spread] = v;
        record(choice, spread);
    }
    void write(const AdmissionSharing& v) {
        const auto& [half_life, sampling, weights] = v;
        record(half_life, sampling, weights);
    }
    void write(const Options& v) {
        const auto& [capacity, order, undeclared, blocking, reasons, fair, use, topologies] = v;
        record(capacity, order, undeclared, blocking, reasons, fair, use, topologies);
    }
    void write(const Taint& v) {
        const auto& [key, value, effect] = v;
        record(key, value, effect);
    }
    void write(const Toleration& v) {
        const auto& [key, op, value, effect] = v;
        record(key, op, value, effect);
    }
    void write(const Flavor& v) {
        const auto& [name, labels, taints, tolerations, topology] = v;
        record(name, labels, taints, tolerations, topology);
    }
    void write(const Quota& v) {
        const auto& [nominal, borrowing, lending] = v;
        record(nominal, borrowing, lending);
    }
    void write(const FlavorQuotas& v) {
        const auto& [flavor, resources] = v;
        record(flavor, resources);
    }
    void write(const ResourceGroup& v) {
        const auto& [resources, flavors] = v;
        record(resources, flavors);
    }
    void write(const FairWeight& v) {
        const auto& [nanos] = v;
        record(nanos);
    }
    void write(const Preemption& v) {
        const auto& [within, reclaim, borrow, threshold] = v;
        record(within, reclaim, borrow, threshold);
    }
    void write(const FlavorFungibility& v) {
        const auto& [can_borrow, can_preempt, preference] = v;
        record(can_borrow, can_preempt, preference);
    }
    void write(const CheckRule& v) {
        const auto& [name, flavors] = v;
        record(name, flavors);
    }
    void write(const Requirement& v) {
        const auto& [key, op, values] = v;
        record(key, op, values);
    }
    void write(const Selector& v) {
        const auto& [labels, expressions] = v;
        record(labels, expressions);
    }
    void write(const ClusterQueue& v) {
        const auto& [name, cohort, strategy, namespaces, stop, groups, preemption, fungibility,
                     weight, mode, checks] = v;
        record(name, cohort, strategy, namespaces, stop, groups, preemption, fungibility, weight,
               mode, checks);
    }
    void write(const Cohort& v) {
        const auto& [name, parent, groups, weight] = v;
        record(name, parent, groups, weight);
    }
    void write(const LocalQueue& v) {
        const auto& [ns, name, queue, stop, weight, used, updated] = v;
        record(ns, name, queue, stop, weight, used, updated);
    }
    void write(const Obstacle& v) {
        const auto& [rule, pod_set, resource, flavor, taint, needed, earlier, maximum, free,
                     short_by] = v;
        record(rule, pod_set, resource, flavor, taint, needed, earlier, maximum, free, short_by);
    }
    void write(const Refusal::Lack& v) {
        const auto& [resource, needed, free, allocatable] = v;
        record(resource, needed, free, allocatable);
    }
    void write(const Refusal& v) {
        const auto& [node, rule, taint, lacks] = v;
        record(node, rule, taint, lacks);
    }
    void write(const TopologyExclusions& v) {
        const auto& [total, selector, affinity, other, taints, resources] = v;
        record(total, selector, affinity, other, taints, resources);
    }
    void write(const TopologyRefusal::Layer& v) {
        const auto& [level, fit, wanted] = v;
        record(level, fit, wanted);
    }
    void write(const TopologyRefusal& v) {
        const auto& [rule, pod_set, flavor, topology, level, other_level, node, size, other_size,
                     unit, fit, wanted, layers, excluded] = v;
        record(rule, pod_set, flavor, topology, level, other_level, node, size, other_size, unit,
               fit, wanted, layers, excluded);
    }
    void write(const WaitReason& v) {
        const auto& [rule, named, local, queue, detail, head, until, obstacles, pod_set, victims,
                     placed, pods, refusals, lacks, places] = v;
        record(rule, named, local, queue, detail, head, until, obstacles, pod_set, victims, placed,
               pods, refusals, lacks, places);
    }
    void write(const TopologyRequest::Slice& v) {
        const auto& [level, size] = v;
        record(level, size);
    }
    void write(const TopologyRequest& v) {
        const auto& [mode, level, slices] = v;
        record(mode, level, slices);
    }
    void write(const TopologyAssignment::Domain& v) {
        const auto& [values, count] = v;
        record(values, count);
    }
    void write(const TopologyAssignment& v) {
        const auto& [levels, domains] = v;
        record(levels, domains);
    }
    void write(const NodeTerm& v) {
        const auto& [expressions, fields] = v;
        record(expressions, fields);
    }
    void write(const PodTerm& v) {
        const auto& [selector, namespaces, key] = v;
        record(selector, namespaces, key);
    }
    void write(const HostPort& v) {
        const auto& [port, protocol, address] = v;
        record(port, protocol, address);
    }
    void write(const PodShape& v) {
        const auto& [ns, labels, requests, selector, node_affinity, tolerations, affinity,
                     anti_affinity, ports] = v;
        record(ns, labels, requests, selector, node_affinity, tolerations, affinity, anti_affinity,
               ports);
    }
    void write(const Node& v) {
        const auto& [name, labels, taints, scheduling, allocatable, condition] = v;
        record(name, labels, taints, scheduling, allocatable, condition);
    }
};

template <class T>
std::string text_of_value(const T& value) {
    Text text;
    text.write(value);
    return std::move(text.out);
}

}  // namespace

std::string structure_text(const Options& value) {
    return text_of_value(value);
}
std::string structure_text(const Flavor& value) {
    return text_of_value(value);
}
std::string structure_text(const Quota& value) {
    return text_of_value(value);
}
std::string structure_text(const Cohort& value) {
    return text_of_value(value);
}
std::string structure_text(const ClusterQueue& value) {
    return text_of_value(value);
}
std::string structure_text(const LocalQueue& value) {
    return text_of_value(value);
}
std::string structure_text(const WaitReason& value) {
    return text_of_value(value);
}
std::string structure_text(const TopologyRequest& value) {
    return text_of_value(value);
}
std::string structure_text(const TopologyAssignment& value) {
    return text_of_value(value);
}
std::string structure_text(const PodShape& value) {
    return text_of_value(value);
}
std::string structure_text(const Node& value) {
    return text_of_value(value);
}
std::string structure_text(const Labels& value) {
    return text_of_value(value);
}

}  // namespace muster::decide
