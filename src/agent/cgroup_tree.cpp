// agent/cgroup_tree.cpp - see cgroup_tree.h.
#include "agent/cgroup_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "agent/files.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::agent {

namespace {

/// Files of groups take one write; empty text on success, else why not.
std::string write_setting(const std::string& path, const std::string& value) {
    const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (fd && ::write(fd.get(), value.data(), value.size()) >= 0) return "";
    return "cannot write " + path + ": " + std::strerror(errno);
}

std::vector<std::string> groups_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* list = ::opendir(folder.c_str());
    if (!list) return names;
    while (const dirent* entry = ::readdir(list))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    ::closedir(list);
    return names;
}

void remove_group(const std::string& folder) {
    for (const std::string& name : groups_in(folder))
        remove_group(folder + "/" + name);
    ::rmdir(folder.c_str());
}

/// True when every process of the group runs this very program: then all of them may be moved.
bool holds_only_muster(const std::string& folder) {
    const auto exe_of = [](std::string_view pid) {
        char path[4096];
        const std::string link = "/proc/" + std::string(pid) + "/exe";
        const ssize_t got = ::readlink(link.c_str(), path, sizeof(path));
        return std::string(path, got > 0 ? static_cast<std::size_t>(got) : 0);
    };
    const std::string own = exe_of("self");
    const std::string pids = read_file(folder + "/cgroup.procs").value_or("");
    for (const std::string_view pid : split(pids, '\n'))
        if (!pid.empty() && exe_of(pid) != own) return false;
    return true;
}

/// Lets groups below the folder limit cpu and memory.
std::string allow_below(const std::string& folder) {
    return write_setting(folder + "/cgroup.subtree_control", "+cpu +memory");
}

/// Version 2: a group with processes of its own cannot limit others, so they move aside first.
std::string open_up(const std::string& folder) {
    std::string problem = allow_below(folder);
    if (problem.empty() || !holds_only_muster(folder)) return problem;
    const std::string aside = folder + "/muster-itself";
    if (::mkdir(aside.c_str(), 0755) != 0 && errno != EEXIST) return problem;
    const std::string pids = read_file(folder + "/cgroup.procs").value_or("");
    for (const std::string_view pid : split(pids, '\n')) {
        if (pid.empty()) continue;
        problem = write_setting(aside + "/cgroup.procs", std::string(pid));
        if (!problem.empty()) return problem;
    }
    return allow_below(folder);
}

/// Makes an own group below `folder`; gives its path, or empty with the problem.
std::string claim_below(const std::string& folder, const std::string& name, std::string& problem) {
    const std::string own = folder + "/" + name;
    remove_group(own);
    if (::mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) {
        problem = "cannot make " + own + ": " + std::strerror(errno);
        return "";
    }
    if (::access((own + "/cgroup.procs").c_str(), W_OK) == 0) return own;
    problem = "cannot write " + own + "/cgroup.procs: " + std::strerror(errno);
    ::rmdir(own.c_str());
    return "";
}

void claim_old(CgroupTree& tree, const CgroupFolders& folders, const std::string& name) {
    const auto claim = [&](const std::string& folder, const char* what) {
        std::string problem;
        std::string own;
        if (folder.empty())
            problem = "the machine has no control groups that limit it";
        else
            own = claim_below(folder, name, problem);
        if (own.empty())
            tree.problem += (tree.problem.empty() ? "" : "; ") + std::string(what) +
                            " is not limited: " + problem;
        return own;
    };
    tree.cpu = claim(folders.cpu, "cpu");
    tree.memory = claim(folders.memory, "memory");
    std::string problem;  // The limit of the user counts processes where no group does.
    if (!folders.pids.empty()) tree.pids = claim_below(folders.pids, name, problem);
}

void claim_new(CgroupTree& tree, const CgroupFolders& folders, const std::string& name) {
    std::string problem;
    // A group of one's own (a delegated scope) first, then, for root, the top of the machine.
    for (const std::string& folder : {folders.cpu, folders.cpu_mount}) {
        problem = open_up(folder);
        if (!problem.empty()) continue;
        const std::string own = claim_below(folder, name, problem);
        if (!own.empty()) problem = allow_below(own);
        if (!problem.empty()) continue;
        tree.cpu = tree.memory = own;
        const bool counts = write_setting(folder + "/cgroup.subtree_control", "+pids").empty() &&
                            write_setting(own + "/cgroup.subtree_control", "+pids").empty();
        if (counts) tree.pids = own;
        return;
    }
    tree.problem = "cpu and memory are not limited: " + problem +
                   " (start muster with `systemd-run --user --scope -p Delegate=yes`, or as root)";
}

/// Each pod has a limit of its own; many of them may not use up the machine's processes either.
void limit_all_pods(const CgroupTree& tree) {
    if (tree.pids.empty()) return;
    const auto number = [](const char* path) {
        return parse_integer(trim(read_file(path).value_or(""))).value_or(0);
    };
    const std::int64_t threads = number("/proc/sys/kernel/threads-max");
    const std::int64_t pids = number("/proc/sys/kernel/pid_max");
    std::string problem = "the machine does not say how many it can have";
    if (threads > 0 && pids > 0)
        problem = write_setting(tree.pids + "/pids.max",
                                std::to_string(processes_of_all_pods(threads, pids)));
    if (!problem.empty())
        log_warning("agent", "the processes of all pods together are not limited: " + problem);
}

}  // namespace

CgroupTree claim_cgroups(const std::string& name) {
    const CgroupFolders folders = cgroup_folders(read_file("/proc/self/mountinfo").value_or(""),
                                                 read_file("/proc/self/cgroup").value_or(""));
    CgroupTree tree;
    tree.version = folders.version;
    tree.cpu_mount = folders.cpu_mount;
    tree.memory_mount = folders.memory_mount;
    tree.pids_mount = folders.pids_mount;
    if (folders.version == CgroupVersion::one)
        claim_old(tree, folders, name);
    else
        claim_new(tree, folders, name);
    limit_all_pods(tree);
    return tree;
}

RunGroup make_run_group(const CgroupTree& tree, const std::string& pod, const std::string& run,
                        const ContainerLimits& limits) {
    RunGroup group;
    const auto add = [&](const std::string& base, const std::string& mount,
                         const std::vector<CgroupSetting>& settings) {
        if (base.empty() || settings.empty()) return std::string();
        const std::string above = base + "/" + pod;
        const std::string folder = above + "/" + run;
        if (::mkdir(above.c_str(), 0755) == 0 && tree.version == CgroupVersion::two) {
            if (const std::string problem = allow_below(above); !problem.empty())
                throw Error(Reason::internal_error, "cannot limit the container: " + problem);
            if (!tree.pids.empty()) write_setting(above + "/cgroup.subtree_control", "+pids");
        }
        if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
            throw Error(Reason::internal_error, "cannot limit the container: cannot make " +
                                                    folder + ": " + std::strerror(errno));
        for (const CgroupSetting& setting : settings) {
            const std::string problem = write_setting(folder + "/" + setting.file, setting.value);
            if (!problem.empty() && setting.must)
                throw Error(Reason::internal_error, "cannot limit the container: " + problem);
        }
        const auto& known = group.folders;
        if (std::find(known.begin(), known.end(), folder) == known.end()) {
            group.folders.push_back(folder);
            group.mounts.push_back({folder, mount, true});
        }
        return folder;
    };
    add(tree.cpu, tree.cpu_mount, cpu_settings(tree.version, limits.cpu_milli));
    group.memory =
        add(tree.memory, tree.memory_mount, memory_settings(tree.version, limits.memory_bytes));
    const std::string pids = add(tree.pids, tree.pids_mount, pids_settings(limits.processes));
    group.counts_processes = !pids.empty();
    // All containers of the pod together have no more.
    for (const CgroupSetting& setting : pids_settings(limits.processes))
        if (!pids.empty()) write_setting(tree.pids + "/" + pod + "/" + setting.file, setting.value);
    return group;
}

void enter_groups(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders)
        if (const std::string problem = write_setting(folder + "/cgroup.procs", "0");
            !problem.empty())
            throw Error(Reason::internal_error, "cannot limit the container: " + problem);
}

bool kill_run_group(const RunGroup& group) {
    return std::any_of(group.folders.begin(), group.folders.end(), [](const std::string& each) {
        return write_setting(each + "/cgroup.kill", "1").empty();
    });
}

void close_run_group(const RunGroup& group) {
    for (const std::string& folder : group.folders)
        write_setting(folder + "/pids.max", "0");
}

bool holds_processes(const RunGroup& group) {
    return std::any_of(group.folders.begin(), group.folders.end(), [](const std::string& each) {
        return !read_file(each + "/cgroup.procs").value_or("").empty();
    });
}

bool was_out_of_memory(const CgroupTree& tree, const RunGroup& group) {
    if (group.memory.empty()) return false;
    const auto content = read_file(group.memory + "/" + memory_kills_file(tree.version));
    return content && memory_kills_in(*content) > 0;
}

void remove_run_group(const RunGroup& group) {
    for (const std::string& folder : group.folders)
        remove_group(folder);
}

void remove_pod_groups(const CgroupTree& tree, const std::string& pod) {
    for (const std::string& base : {tree.cpu, tree.memory, tree.pids})
        if (!base.empty()) remove_group(base + "/" + pod);
}

void remove_groups(const CgroupTree& tree) {
    for (const std::string& base : {tree.cpu, tree.memory, tree.pids})
        if (!base.empty()) remove_group(base);
}

}  // namespace muster::agent
