// agent/disk_limits.cpp - see disk_limits.h.
#include "agent/disk_limits.h"

#include <algorithm>

#include "base/quantity.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr const char* kStorage = "ephemeral-storage";
constexpr std::int64_t kMostReserve = std::int64_t{256} << 20;
constexpr std::int64_t kMostInodesReserve = 10'000;

std::optional<Quantity> quantity_of(const Value& value) {
    return value.is_null() ? std::nullopt : Quantity::parse(value.text());
}

/// The limit of an emptyDir that is on the disk.
std::optional<Quantity> limit_of_volume(const Value& volume) {
    if (!volume.has("emptyDir") || volume["emptyDir"]["medium"].text() == "Memory")
        return std::nullopt;
    return quantity_of(volume["emptyDir"]["sizeLimit"]);
}

std::optional<Quantity> limit_of_container(const Value& container) {
    return quantity_of(container["resources"]["limits"][kStorage]);
}

Verdict evicted(const std::string& message) {
    return {"Evicted", message, seconds(1)};
}

std::map<std::string, std::int64_t> amounts_of(const Value& value) {
    std::map<std::string, std::int64_t> amounts;
    for (const auto& [name, amount] : value.members())
        amounts[name] = amount.integer_or(0);
    return amounts;
}

std::int64_t sum_of(const std::map<std::string, std::int64_t>& amounts) {
    std::int64_t sum = 0;
    for (const auto& [name, amount] : amounts)
        sum += amount;
    return sum;
}

std::int64_t amount_of(const std::map<std::string, std::int64_t>& amounts,
                       const std::string& name) {
    const auto found = amounts.find(name);
    return found == amounts.end() ? 0 : found->second;
}

}  // namespace

std::int64_t PodDiskUse::all() const {
    return sum_of(volumes) + sum_of(containers) + other;
}

PodDiskUse pod_disk_use_of(const Value& value) {
    return {amounts_of(value["volumes"]), amounts_of(value["containers"]),
            value["other"].integer_or(0), value["files"].integer_or(0)};
}

bool has_disk_limits(const Value& pod) {
    const auto& volumes = pod["spec"]["volumes"].items();
    const auto& containers = pod["spec"]["containers"].items();
    return std::any_of(volumes.begin(), volumes.end(),
                       [](const Value& each) { return limit_of_volume(each).has_value(); }) ||
           std::any_of(containers.begin(), containers.end(),
                       [](const Value& each) { return limit_of_container(each).has_value(); });
}

std::optional<Verdict> disk_verdict(const Value& pod, const PodDiskUse& use) {
    for (const Value& volume : pod["spec"]["volumes"].items()) {
        const auto limit = limit_of_volume(volume);
        const std::string name = volume["name"].text();
        if (limit && amount_of(use.volumes, name) > limit->units())
            return evicted("Usage of EmptyDir volume \"" + name + "\" exceeds the limit \"" +
                           limit->text() + "\". ");
    }
    // What the containers may take together; as in the kubelet, only those with a limit count.
    std::int64_t whole_limit = 0;
    bool limited = false;
    Quantity sum;
    for (const Value& container : pod["spec"]["containers"].items())
        if (const auto limit = limit_of_container(container)) {
            limited = true;
            whole_limit += limit->units();
            sum = sum + *limit;
        }
    if (limited && use.all() > whole_limit)
        return evicted("Pod ephemeral local storage usage exceeds the total limit of containers " +
                       sum.text() + ". ");
    for (const Value& container : pod["spec"]["containers"].items()) {
        const auto limit = limit_of_container(container);
        const std::string name = container["name"].text();
        if (limit && amount_of(use.containers, name) > limit->units())
            return evicted("Container " + name + " exceeded its local ephemeral storage limit \"" +
                           limit->text() + "\". ");
    }
    return std::nullopt;
}

std::int64_t disk_reserve(const DiskSpace& space) {
    return std::min(kMostReserve, space.size / 20);
}

std::int64_t inodes_reserve(const DiskSpace& space) {
    return std::min(kMostInodesReserve, space.inodes / 20);
}

namespace {

bool lacks_bytes(const DiskSpace& space) {
    return space.size > 0 && space.free < disk_reserve(space);
}

std::string mebibytes(std::int64_t bytes) {
    return std::to_string(bytes >> 20) + "Mi";
}

}  // namespace

bool is_low(const DiskSpace& space) {
    return lacks_bytes(space) || (space.inodes > 0 && space.inodes_free < inodes_reserve(space));
}

bool FreeingWait::waits(const DiskSpace& space, const Freeing& freeing, Time now) {
    const bool moved = !since_ || freeing.removed > removed_ || space.free > free_ ||
                       space.inodes_free > inodes_free_;
    removed_ = freeing.removed;
    free_ = space.free;
    inodes_free_ = space.inodes_free;
    if (!since_) since_ = now;
    if (moved) moved_ = now;
    const bool enough =
        disk_reserve(space) - space.free <= freeing.bytes &&
        (space.inodes == 0 || inodes_reserve(space) - space.inodes_free <= freeing.files);
    const bool something = freeing.bytes > 0 || freeing.files > 0;
    return something && enough && now - moved_ < kStandstill && now - *since_ < kLongest;
}

std::optional<DiskEviction> evict_for_space(const std::map<std::string, PodDiskUse>& uses,
                                            const DiskSpace& space) {
    const bool of_bytes = lacks_bytes(space);
    const auto taken = [of_bytes](const PodDiskUse& use) {
        return of_bytes ? use.all() : use.files;
    };
    const auto most = std::max_element(
        uses.begin(), uses.end(),
        [&taken](const auto& a, const auto& b) { return taken(a.second) < taken(b.second); });
    if (most == uses.end() || taken(most->second) <= 0) return std::nullopt;
    const auto amount = [of_bytes](std::int64_t number) {
        return of_bytes ? mebibytes(number) : std::to_string(number);
    };
    const std::string resource = of_bytes ? "ephemeral-storage" : "inodes";
    const std::int64_t threshold = of_bytes ? disk_reserve(space) : inodes_reserve(space);
    return DiskEviction{
        most->first,
        {"Evicted",
         "The node was low on resource: " + resource +
             ". Threshold quantity: " + amount(threshold) +
             ", available: " + amount(of_bytes ? space.free : space.inodes_free) +
             ". The pod was using " + amount(taken(most->second)) + ", more than any other.",
         Duration{}}};
}

}  // namespace muster::agent
