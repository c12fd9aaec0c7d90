// agent/removed_files.cpp - see removed_files.h.
#include "agent/removed_files.h"

#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/descriptor.h"
#include "agent/files.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

// Bounds for a pod that opens or starts as much as it can.
constexpr std::size_t kMostProcesses = 50'000;
constexpr std::size_t kMostEntries = 100'000;  // Of one folder in /proc.

std::string folder_of(pid_t process) {
    return "/proc/" + std::to_string(process);
}

/// Calls `each` with a descriptor of the folder and every name in it.
template <typename Each>
void for_names_in(const std::string& path, const Each& each) {
    const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return;
    try {
        list_folder(folder.get(), kMostEntries,
                    [&](const char* name) { each(folder.get(), name); });
    } catch (const Error&) {
        return;  // The process ended meanwhile.
    }
}

std::vector<pid_t> children_of(pid_t process) {
    std::vector<pid_t> children;
    const std::string tasks = folder_of(process) + "/task";
    for_names_in(tasks, [&](int, const char* task) {
        const std::string line = read_file(tasks + "/" + task + "/children").value_or("");
        for (const std::string_view word : split(line, ' '))
            if (const auto child = parse_integer(word); child && *child > 0)
                children.push_back(static_cast<pid_t>(*child));
    });
    return children;
}

}  // namespace

DiskUse removed_files_of(pid_t process, dev_t device) {
    DiskUse use;
    std::set<ino_t> counted;
    std::set<pid_t> seen{process};
    std::vector<pid_t> waiting{process};
    const auto count = [&](int folder, const char* name) {
        struct stat status {};
        if (::fstatat(folder, name, &status, 0) != 0) return;
        const bool removed = S_ISREG(status.st_mode) && status.st_nlink == 0;
        if (!removed || status.st_dev != device || !counted.insert(status.st_ino).second) return;
        use.bytes += std::int64_t{status.st_blocks} * 512;
        ++use.files;
    };
    while (!waiting.empty()) {
        const pid_t next = waiting.back();
        waiting.pop_back();
        // A thread may have descriptors of its own, and live longer than the first one.
        for_names_in(folder_of(next) + "/task", [&](int, const char* task) {
            for_names_in(folder_of(next) + "/task/" + task + "/fd", count);
        });
        for_names_in(folder_of(next) + "/map_files", count);
        for (const pid_t child : children_of(next))
            if (seen.size() < kMostProcesses && seen.insert(child).second) waiting.push_back(child);
    }
    return use;
}

}  // namespace muster::agent
