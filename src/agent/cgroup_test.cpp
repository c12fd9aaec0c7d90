// agent/cgroup_test.cpp - where limits are written and what, for both versions of control groups.
#include "agent/cgroup.h"

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::agent {

namespace {

api::Value json(const char* text) {
    return std::get<api::Parsed>(api::parse_json(text)).value;
}

constexpr const char* kOldMounts =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("the groups of version 1 are found per controller") {
    const CgroupFolders folders = cgroup_folders(
        kOldMounts, "4:memory:/user/ada\n2:cpu,cpuacct:/\n1:name=systemd:/user\n0::/\n");
    CHECK(folders.version == CgroupVersion::one);
    CHECK(folders.cpu == "/sys/fs/cgroup/cpu,cpuacct");
    CHECK(folders.memory == "/sys/fs/cgroup/memory/user/ada");
    CHECK(folders.memory_mount == "/sys/fs/cgroup/memory");
}

TEST_CASE("the group of version 2 is one for all controllers") {
    const CgroupFolders folders =
        cgroup_folders("29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
                       "0::/user.slice/user-1000.slice/run-7.scope\n");
    CHECK(folders.version == CgroupVersion::two);
    CHECK(folders.cpu == "/sys/fs/cgroup/user.slice/user-1000.slice/run-7.scope");
    CHECK(folders.memory == folders.cpu);
    CHECK(folders.cpu_mount == "/sys/fs/cgroup");
}

TEST_CASE("a part of a hierarchy that is mounted by itself is reckoned with") {
    const CgroupFolders inside = cgroup_folders(
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        "4:memory:/docker/abc/deeper\n");
    CHECK(inside.memory == "/sys/fs/cgroup/memory/deeper");
    const CgroupFolders outside = cgroup_folders(
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        "4:memory:/elsewhere\n");
    CHECK(outside.memory.empty());
}

TEST_CASE("a machine without control groups has no folders") {
    const CgroupFolders folders = cgroup_folders("21 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "");
    CHECK(folders.cpu.empty());
    CHECK(folders.memory.empty());
}

TEST_CASE("limits become quotas and bytes in the words of each version") {
    using Settings = std::vector<CgroupSetting>;
    CHECK(cpu_settings(CgroupVersion::one, 1500) ==
          Settings{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", "150000"}});
    CHECK(cpu_settings(CgroupVersion::two, 250) == Settings{{"cpu.max", "25000 100000"}});
    CHECK(cpu_settings(CgroupVersion::two, 1) == Settings{{"cpu.max", "1000 100000"}});
    CHECK(cpu_settings(CgroupVersion::one, 0).empty());
    CHECK(memory_settings(CgroupVersion::one, 64 << 20) ==
          Settings{{"memory.limit_in_bytes", "67108864"},
                   {"memory.memsw.limit_in_bytes", "67108864", false}});
    CHECK(memory_settings(CgroupVersion::two, 4096) == Settings{{"memory.max", "4096"},
                                                                {"memory.swap.max", "0", false},
                                                                {"memory.oom.group", "1", false}});
    CHECK(memory_settings(CgroupVersion::two, 0).empty());
}

TEST_CASE("all pods together leave an eighth of the processes to the machine") {
    CHECK(processes_of_all_pods(63'000, 32'768) == 28'672);
    CHECK(processes_of_all_pods(8'000, 4'194'304) == 7'000);
    CHECK(processes_of_all_pods(0, 0) == 1);
}

TEST_CASE("kills for want of memory are counted from either version's file") {
    CHECK(memory_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n") == 3);
    CHECK(memory_kills_in("low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 1\n") == 1);
    CHECK(memory_kills_in("") == 0);
}

TEST_CASE("a container's own limits come before the pod's") {
    const auto pod = json(R"({"spec":{"resources":{"limits":{"cpu":"2","memory":"1Gi"}}}})");
    const auto container = json(R"({"resources":{"limits":{"cpu":"300m"}}})");
    CHECK(limits_of(pod, container) == ContainerLimits{300, std::int64_t{1} << 30});
    CHECK(limits_of(api::Value(), json("{}")) == ContainerLimits{});
    CHECK(container_limits_of(to_value(ContainerLimits{300, 17})) == ContainerLimits{300, 17});
}

}  // namespace muster::agent
