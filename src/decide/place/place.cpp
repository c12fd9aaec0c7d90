// decide/place/place.cpp - seats pods one by one and says in kube-scheduler's words why not.
#include "decide/place/place.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "decide/place/seats.h"

namespace muster::decide {

namespace {

using Order = std::vector<std::size_t>;

Amount accelerators_of(const PodShape& shape) {
    Amount sum;
    for (const auto& [name, amount] : shape.requests) {
        if (is_accelerator(name)) sum += amount;
    }
    return sum;
}

Amount request_of(const PodShape& shape, std::string_view resource) {
    const auto found = shape.requests.find(resource);
    return found == shape.requests.end() ? Amount{} : found->second;
}

Order by_turn(const std::vector<PodToPlace>& pods) {
    Order order(pods.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
        const PodToPlace& a = pods[left];
        const PodToPlace& b = pods[right];
        return std::tie(b.priority, a.created, a.name) < std::tie(a.priority, b.created, b.name);
    });
    return order;
}

Order by_size(const std::vector<PodToPlace>& pods) {
    Order order(pods.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
        return seated_before(pods[left].shape, pods[left].name, pods[right].shape,
                             pods[right].name);
    });
    return order;
}

std::string rule_text(const Refusal& refusal) {
    switch (refusal.rule) {
        case Refusal::Rule::cordoned:
            return "node(s) were unschedulable";
        case Refusal::Rule::other_node:
            return "node(s) didn't match the requested node name";
        case Refusal::Rule::untolerated_taint:
            return "node(s) had untolerated taint {" + refusal.taint.key + ": " +
                   refusal.taint.value + "}";
        case Refusal::Rule::node_affinity:
            return "node(s) didn't match Pod's node affinity/selector";
        case Refusal::Rule::host_ports:
            return "node(s) didn't have free ports for the requested pod ports";
        case Refusal::Rule::too_many_pods:
            return "Too many pods";
        case Refusal::Rule::insufficient:
            return {};
        case Refusal::Rule::pod_affinity:
            return "node(s) didn't match pod affinity rules";
        case Refusal::Rule::pod_anti_affinity:
            return "node(s) didn't match pod anti-affinity rules";
        case Refusal::Rule::existing_anti_affinity:
            return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return {};
}

}  // namespace

bool seated_before(const PodShape& a, const std::string& a_name, const PodShape& b,
                   const std::string& b_name) {
    for (const auto& [left, right] :
         {std::pair{accelerators_of(a), accelerators_of(b)},
          std::pair{request_of(a, "cpu"), request_of(b, "cpu")},
          std::pair{request_of(a, "memory"), request_of(b, "memory")}}) {
        if (left != right) return left > right;
    }
    return a_name < b_name;
}

std::vector<Seat> place(const std::vector<PodToPlace>& pods, const std::vector<Node>& nodes,
                        const std::vector<SeatedPod>& seated, Gang gang) {
    Seats seats;
    for (const Node& node : nodes)
        seats.set_node(node);
    for (const SeatedPod& pod : seated) {
        const Need need = seats.need_of(std::make_shared<const PodShape>(pod.shape));
        seats.take(seats.node_id(pod.node), need);
    }
    std::vector<Seat> result(pods.size());
    for (std::size_t i = 0; i < pods.size(); ++i)
        result[i].pod = pods[i].name;
    const bool whole = gang == Gang::all_or_none;
    for (const std::size_t i : whole ? by_size(pods) : by_turn(pods)) {
        const Need need = seats.need_of(std::make_shared<const PodShape>(pods[i].shape));
        const auto node = seats.best(need, pods[i].node_name);
        if (node) {
            seats.take(*node, need);
            result[i].node = seats.name_of(*node);
            continue;
        }
        result[i].refusals = seats.refusals(need, pods[i].node_name);
        if (!whole) continue;
        for (Seat& seat : result)
            seat.node.reset();
        break;
    }
    return result;
}

std::string refusal_text(const Seat& seat) {
    if (seat.refusals.empty()) return "no nodes available to schedule pods";
    std::map<std::string, std::int64_t> counts;
    for (const Refusal& refusal : seat.refusals) {
        if (const std::string text = rule_text(refusal); !text.empty()) ++counts[text];
        for (const Refusal::Lack& lack : refusal.lacks)
            ++counts["Insufficient " + lack.resource];
    }
    std::vector<std::string> parts;
    for (const auto& [text, count] : counts)
        parts.push_back(std::to_string(count) + " " + text);
    std::sort(parts.begin(), parts.end());
    std::string line = "0/" + std::to_string(seat.refusals.size()) + " nodes are available: ";
    for (std::size_t i = 0; i < parts.size(); ++i)
        line += (i == 0 ? "" : ", ") + parts[i];
    return line + ".";
}

}  // namespace muster::decide
