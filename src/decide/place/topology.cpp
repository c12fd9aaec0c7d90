// decide/place/topology.cpp - the words for a refusal.
#include "decide/place/topology.h"

#include <algorithm>

namespace muster::decide {

namespace {

std::string quoted(const std::string& text) {
    return '"' + text + '"';
}

bool any(const TopologyExclusions& excluded) {
    return excluded.selector > 0 || excluded.affinity > 0 || excluded.other_domain > 0 ||
           !excluded.taints.empty() || !excluded.resources.empty();
}

std::string exclusions_text(const TopologyExclusions& excluded) {
    if (!any(excluded)) return {};
    std::vector<std::string> reasons;
    const auto add = [&](const std::string& what, std::int64_t nodes) {
        if (nodes > 0) reasons.push_back(what + ": " + std::to_string(nodes));
    };
    add("nodeSelector", excluded.selector);
    add("affinity", excluded.affinity);
    add("topologyDomain", excluded.other_domain);
    for (const auto& [taint, nodes] : excluded.taints)
        add("taint " + quoted(taint), nodes);
    for (const auto& [resource, nodes] : excluded.resources)
        add("resource " + quoted(resource), nodes);
    std::sort(reasons.begin(), reasons.end());
    std::string text = ". Total nodes: " + std::to_string(excluded.total) + "; excluded: ";
    for (std::size_t i = 0; i < reasons.size(); ++i)
        text += (i == 0 ? "" : ", ") + reasons[i];
    return text;
}

std::string fit_text(const TopologyRefusal& refusal) {
    const std::string unit = refusal.unit == TopologyRefusal::Unit::pod ? "pod" : "slice";
    const std::string wanted = std::to_string(refusal.wanted) + " " + unit + "(s)";
    const std::string start = "topology " + quoted(refusal.topology);
    if (refusal.fit <= 0) return start + " doesn't allow to fit any of " + wanted;
    return start + " allows to fit only " + std::to_string(refusal.fit) + " out of " + wanted;
}

std::string layers_text(const TopologyRefusal& refusal) {
    std::string text = "topology " + quoted(refusal.topology) + " doesn't allow to fit";
    for (const TopologyRefusal::Layer& layer : refusal.layers) {
        text += "; " + std::to_string(layer.fit) + "/" + std::to_string(layer.wanted) +
                " slice(s) fit on level " + layer.level;
    }
    return text;
}

}  // namespace

bool asks_for_topology(const TopologyRequest& request) {
    return request.mode != TopologyRequest::Mode::none || !request.slices.empty();
}

std::string topology_text(const TopologyRefusal& refusal) {
    using Rule = TopologyRefusal::Rule;
    switch (refusal.rule) {
        case Rule::no_level:
            if (refusal.level.empty()) return "topology level not specified";
            return "no requested topology level: " + refusal.level;
        case Rule::no_slice_level:
            return "no requested topology level for slices: " + refusal.level;
        case Rule::slice_above_level:
            return "podset slice topology " + refusal.level + " is above the podset topology " +
                   refusal.other_level;
        case Rule::no_slice_size:
            return "slice topology requested, but slice size not provided";
        case Rule::no_layer_level:
            return "no requested topology level for additional slice layer: " + refusal.level;
        case Rule::layer_not_lower:
            return "additional slice layer topology " + refusal.level +
                   " must be at a lower level than " + refusal.other_level;
        case Rule::layer_not_dividing:
            return "additional slice layer size " + std::to_string(refusal.size) +
                   " must evenly divide parent layer size " + std::to_string(refusal.other_size);
        case Rule::bad_group:
            return "a podset group must be one leader with its workers: two pod sets, one of them "
                   "with a single pod";
        case Rule::no_topology:
            return "Flavor " + quoted(refusal.flavor) + " information missing in TAS cache";
        case Rule::no_domains:
            return "no topology domains at level: " + refusal.level;
        case Rule::does_not_fit:
            return fit_text(refusal) + exclusions_text(refusal.excluded);
        case Rule::layers_do_not_fit:
            return layers_text(refusal) + exclusions_text(refusal.excluded);
        case Rule::stale:
            return "Cannot replace the node, because the existing topologyAssignment is invalid, "
                   "as it contains the stale domain " +
                   refusal.node;
        case Rule::no_replacement:
            return "cannot find replacement assignment for unhealthy node: " + refusal.node;
    }
    return {};
}

}  // namespace muster::decide
