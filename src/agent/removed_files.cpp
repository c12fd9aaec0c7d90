// agent/removed_files.cpp - see removed_files.h.
#include "agent/removed_files.h"

#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "agent/files.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

// Bounds for a pod that opens or starts as much as it can: others wait to be measured.
constexpr std::size_t kMostProcesses = 50'000;
constexpr std::size_t kMostEntries = 1'000'000;  // Files that all of its processes have open.

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

/// Whether two threads have the same open files; false also when the kernel does not say.
bool share_files(pid_t a, pid_t b) {
    return ::syscall(SYS_kcmp, a, b, KCMP_FILES, 0UL, 0UL) == 0;
}

/// Counts the removed files of one process after the other.
class RemovedFiles {
public:
    explicit RemovedFiles(dev_t device) : device_(device) {}

    /// Gives the children of the process.
    std::vector<pid_t> look_at(pid_t process) {
        std::vector<pid_t> children;
        const std::string folder = "/proc/" + std::to_string(process);
        pid_t last = 0;
        // A thread may have open files of its own, and live longer than the first one.
        for_names_in(folder + "/task", [&](int, const char* name) {
            const auto thread = static_cast<pid_t>(parse_integer(name).value_or(0));
            const std::string task = folder + "/task/" + name;
            if (last == 0 || !share_files(last, thread)) count_in(task + "/fd");
            last = thread;
            const std::string line = read_file(task + "/children").value_or("");
            for (const std::string_view word : split(line, ' '))
                if (const auto child = parse_integer(word); child && *child > 0)
                    children.push_back(static_cast<pid_t>(*child));
        });
        count_in(folder + "/map_files");
        return children;
    }
    bool is_full() const { return left_ == 0; }
    const DiskUse& use() const { return use_; }

private:
    void count_in(const std::string& path) {
        if (is_full()) return;
        for_names_in(path, [this](int folder, const char* name) {
            if (is_full()) return;
            --left_;
            struct stat status {};
            if (::fstatat(folder, name, &status, 0) != 0) return;
            const bool removed = S_ISREG(status.st_mode) && status.st_nlink == 0;
            if (!removed || status.st_dev != device_ || !counted_.insert(status.st_ino).second)
                return;
            use_.bytes += std::int64_t{status.st_blocks} * 512;
            ++use_.files;
        });
    }

    dev_t device_;
    DiskUse use_;
    std::set<ino_t> counted_;
    std::size_t left_ = kMostEntries;
};

}  // namespace

DiskUse removed_files_of(pid_t process, dev_t device) {
    RemovedFiles files(device);
    std::set<pid_t> seen{process};
    std::vector<pid_t> waiting{process};
    while (!waiting.empty() && !files.is_full()) {
        const pid_t next = waiting.back();
        waiting.pop_back();
        for (const pid_t child : files.look_at(next))
            if (seen.size() < kMostProcesses && seen.insert(child).second) waiting.push_back(child);
    }
    return files.use();
}

}  // namespace muster::agent
