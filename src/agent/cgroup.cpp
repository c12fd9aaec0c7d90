// agent/cgroup.cpp - see cgroup.h.
#include "agent/cgroup.h"

#include <algorithm>
#include <optional>

#include "base/quantity.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::int64_t kPeriodMicroseconds = 100'000;
constexpr std::int64_t kLeastQuotaMicroseconds = 1'000;

std::optional<Quantity> limit_in(const Value& resources, const char* name) {
    const Value& limit = resources["limits"][name];
    return limit.is_null() ? std::nullopt : Quantity::parse(limit.text());
}

/// One line of mountinfo that mounts control groups.
struct Mount {
    std::string_view root;   // What of the hierarchy is mounted.
    std::string_view place;  // Where.
    bool unified = false;
    std::vector<std::string_view> controllers;  // Version 1.
};

std::optional<Mount> mount_in(std::string_view line) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) return std::nullopt;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) return std::nullopt;
    if (after[0] != "cgroup" && after[0] != "cgroup2") return std::nullopt;
    return Mount{before[3], before[4], after[0] == "cgroup2", split(after[2], ',')};
}

/// The group's path in a hierarchy, from "ID:CONTROLLERS:PATH"; the unified one has no controllers.
std::optional<std::string_view> own_path(std::string_view own, std::string_view controller) {
    for (const std::string_view line : split(own, '\n')) {
        const auto id = split_first(line, ':');
        const auto rest = id ? split_first(id->after, ':') : std::nullopt;
        if (!rest) continue;
        const auto controllers = split(rest->before, ',');
        if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end())
            return rest->after;
    }
    return std::nullopt;
}

/// Where the group at `path` of the hierarchy is found below the mount; empty when it is not.
std::string folder_of(const Mount& mount, std::string_view path) {
    std::string below(path);
    if (mount.root != "/") {
        if (path != mount.root && !path.starts_with(std::string(mount.root) + "/")) return "";
        below = path.substr(mount.root.size());
    }
    while (below.ends_with('/'))
        below.pop_back();
    return std::string(mount.place) + below;
}

}  // namespace

ContainerLimits limits_of(const Value& pod, const Value& container) {
    const auto limit = [&](const char* name) {
        const auto own = limit_in(container["resources"], name);
        return own ? own : limit_in(pod["spec"]["resources"], name);
    };
    ContainerLimits limits;
    if (const auto cpu = limit("cpu")) limits.cpu_milli = std::max<std::int64_t>(0, cpu->milli());
    if (const auto memory = limit("memory"))
        limits.memory_bytes = std::max<std::int64_t>(0, memory->units());
    return limits;
}

Value to_value(const ContainerLimits& limits) {
    return Value::object({{"cpuMilli", limits.cpu_milli},
                          {"memoryBytes", limits.memory_bytes},
                          {"processes", limits.processes}});
}

ContainerLimits container_limits_of(const Value& value) {
    return {value["cpuMilli"].integer_or(0), value["memoryBytes"].integer_or(0),
            value["processes"].integer_or(0)};
}

CgroupFolders cgroup_folders(std::string_view mountinfo, std::string_view own) {
    CgroupFolders folders;
    std::optional<Mount> unified;
    for (const std::string_view line : split(mountinfo, '\n')) {
        const auto mount = mount_in(line);
        if (!mount) continue;
        if (mount->unified) {
            if (!unified) unified = mount;
            continue;
        }
        const auto take = [&](std::string_view controller, std::string& folder,
                              std::string& place) {
            const auto& all = mount->controllers;
            const auto path = own_path(own, controller);
            if (!path || !folder.empty() ||
                std::find(all.begin(), all.end(), controller) == all.end())
                return;
            folder = folder_of(*mount, *path);
            place = mount->place;
        };
        take("cpu", folders.cpu, folders.cpu_mount);
        take("memory", folders.memory, folders.memory_mount);
        take("pids", folders.pids, folders.pids_mount);
    }
    const auto path = own_path(own, "");
    if (!folders.cpu.empty() || !folders.memory.empty() || !unified || !path) return folders;
    folders.version = CgroupVersion::two;
    folders.cpu = folders.memory = folders.pids = folder_of(*unified, *path);
    folders.cpu_mount = folders.memory_mount = folders.pids_mount = unified->place;
    return folders;
}

std::vector<CgroupSetting> cpu_settings(CgroupVersion version, std::int64_t milli) {
    if (milli <= 0) return {};
    const std::int64_t quota =
        std::max(kLeastQuotaMicroseconds, milli * kPeriodMicroseconds / 1000);
    const std::string period = std::to_string(kPeriodMicroseconds);
    if (version == CgroupVersion::two) return {{"cpu.max", std::to_string(quota) + " " + period}};
    return {{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", std::to_string(quota)}};
}

std::vector<CgroupSetting> memory_settings(CgroupVersion version, std::int64_t bytes) {
    if (bytes <= 0) return {};
    const std::string limit = std::to_string(bytes);
    // Swap would only make a slow death of it.
    if (version == CgroupVersion::two)
        return {{"memory.max", limit},
                {"memory.swap.max", "0", false},
                {"memory.oom.group", "1", false}};
    return {{"memory.limit_in_bytes", limit}, {"memory.memsw.limit_in_bytes", limit, false}};
}

std::vector<CgroupSetting> pids_settings(std::int64_t processes) {
    if (processes <= 0) return {};
    return {{"pids.max", std::to_string(processes)}};
}

std::int64_t processes_of_all_pods(std::int64_t threads_max, std::int64_t pid_max) {
    const std::int64_t most = std::min(threads_max, pid_max);
    return std::max<std::int64_t>(1, most - most / 8);
}

const char* memory_kills_file(CgroupVersion version) {
    return version == CgroupVersion::two ? "memory.events" : "memory.oom_control";
}

std::int64_t memory_kills_in(std::string_view content) {
    for (const std::string_view line : split(content, '\n')) {
        const auto pair = split_first(line, ' ');
        if (pair && pair->before == "oom_kill") return parse_integer(pair->after).value_or(0);
    }
    return 0;
}

}  // namespace muster::agent
