// agent/gpus.cpp - see gpus.h.
#include "agent/gpus.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr const char* kGpu = "nvidia.com/gpu";

bool is_sidecar(const Value& container) {
    return container["restartPolicy"].text() == "Always";
}

}  // namespace

int gpus_of(const Value& container) {
    for (const char* part : {"limits", "requests"})
        if (const Value& asked = container["resources"][part][kGpu]; !asked.is_null())
            return static_cast<int>(Quantity::parse(asked.text()).value_or(Quantity{}).units());
    return 0;
}

bool asks_for_accelerators(const Value& container) {
    for (const char* part : {"limits", "requests"})
        for (const auto& [key, amount] : container["resources"][part].members()) {
            const std::string name = key;
            const std::size_t slash = name.find('/');
            const std::string_view domain = std::string_view(name).substr(0, slash);
            const bool is_extended = slash != std::string::npos && domain != "kubernetes.io" &&
                                     !domain.ends_with(".kubernetes.io");
            const auto asked = Quantity::parse(amount.text());
            if (is_extended && asked && asked->units() > 0) return true;
        }
    return false;
}

int gpus_of_pod(const Value& pod) {
    int together = 0;
    int greediest = 0;
    for (const Value& container : pod["spec"]["initContainers"].items()) {
        if (is_sidecar(container))
            together += gpus_of(container);
        else
            greediest = std::max(greediest, together + gpus_of(container));
    }
    for (const Value& container : pod["spec"]["containers"].items())
        together += gpus_of(container);
    return std::max(together, greediest);
}

std::vector<int> share_of(const Value& pod, const std::string& name, const std::vector<int>& gpus) {
    std::size_t from = 0;
    const auto part = [&](const Value& container) {
        const std::size_t start = std::min(from, gpus.size());
        const std::size_t end =
            std::min(start + static_cast<std::size_t>(gpus_of(container)), gpus.size());
        return std::vector<int>(gpus.begin() + static_cast<std::ptrdiff_t>(start),
                                gpus.begin() + static_cast<std::ptrdiff_t>(end));
    };
    for (const char* list : {"initContainers", "containers"})
        for (const Value& container : pod["spec"][list].items()) {
            if (container["name"].text() == name) return part(container);
            const bool passes = list == std::string("initContainers") && !is_sidecar(container);
            if (!passes) from += static_cast<std::size_t>(gpus_of(container));
        }
    return {};
}

std::string visible(const std::vector<int>& gpus) {
    std::vector<std::string> numbers;
    for (const int gpu : gpus)
        numbers.push_back(std::to_string(gpu));
    return join(numbers, ",");
}

GpuTable::GpuTable(const std::vector<NodeDeclaration>& nodes) {
    int next = 0;
    for (const NodeDeclaration& node : nodes)
        for (const auto& [resource, amount] : node.capacity) {
            if (resource != kGpu) continue;
            const auto count =
                static_cast<int>(Quantity::parse(amount).value_or(Quantity{}).units());
            nodes_[node.name] = {next, count};
            next += count;
        }
    any_ = next > 0;
}

std::optional<std::vector<int>> GpuTable::take(const std::string& node, const std::string& uid,
                                               int count) {
    if (const auto held = held_.find(uid); held != held_.end()) return held->second;
    std::vector<int> taken;
    const auto range = nodes_.find(node);
    for (int i = 0; range != nodes_.end() && i < range->second.count; ++i) {
        const int gpu = range->second.first + i;
        if (static_cast<int>(taken.size()) < count && !used_.contains(gpu)) taken.push_back(gpu);
    }
    if (static_cast<int>(taken.size()) < count) return std::nullopt;
    adopt(uid, taken);
    return taken;
}

void GpuTable::adopt(const std::string& uid, const std::vector<int>& gpus) {
    if (gpus.empty()) return;
    held_[uid] = gpus;
    used_.insert(gpus.begin(), gpus.end());
}

void GpuTable::free(const std::string& uid) {
    const auto held = held_.extract(uid);
    if (held.empty()) return;
    for (const int gpu : held.mapped())
        used_.erase(gpu);
}

}  // namespace muster::agent
