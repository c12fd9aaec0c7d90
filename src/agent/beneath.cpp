// agent/beneath.cpp - see beneath.h.
#include "agent/beneath.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

namespace {

constexpr int kBusyTries = 64;
constexpr std::size_t kLongPath = 200;
constexpr std::int64_t kMostFiles = 5'000'000;  // What is counted at most.

[[noreturn]] void fail(const std::string& what, const std::string& path) {
    const std::string why = errno == EXDEV   ? "it leads out of the folder that it belongs to"
                            : errno == ELOOP ? "it has too many links, or one that is not allowed"
                                             : std::strerror(errno);
    throw Error(Reason::invalid, "cannot " + what + " " + path + ": " + why);
}

/// The path's steps, without empty ones and ".".
std::vector<std::string> steps_of(const std::string& path) {
    std::vector<std::string> steps;
    for (std::size_t start = 0; start < path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        std::string step = path.substr(start, end - start);
        if (!step.empty() && step != ".") steps.push_back(std::move(step));
        start = end + 1;
    }
    return steps;
}

/// A stream of a folder's names that leaves the descriptor alone.
class Listing {
public:
    explicit Listing(int folder)
        : list_(
              ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW))) {
    }
    ~Listing() {
        if (list_) ::closedir(list_);
    }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;

    explicit operator bool() const { return list_ != nullptr; }
    const dirent* next() {
        for (;;) {
            const dirent* entry = ::readdir(list_);
            if (!entry) return nullptr;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") return entry;
        }
    }

private:
    DIR* list_;
};

Descriptor open_folder(int folder, const char* name) {
    return Descriptor(
        ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

/// Takes a folder from its users, and opens it: a pod can hold a folder of another one, which it
/// got over a socket. Where it cannot be taken it is opened as it is; what is made in it meanwhile
/// shows when the folder cannot be removed.
Descriptor take_folder(int folder, const char* name) {
    const Descriptor found(::openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!found) return {};
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(found.get());
    const bool owned = ::fchownat(found.get(), "", ::geteuid(), ::getegid(), AT_EMPTY_PATH) == 0;
    const bool closed = ::chmod(by_descriptor.c_str(), 0700) == 0;
    if (!owned || !closed)
        log_debug("agent", "a folder that is to be removed stays with its users: " +
                               std::string(std::strerror(errno)));
    return Descriptor(::openat(found.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// Makes one step that is missing. True when it is there afterwards, also when another made it.
bool make_step(int parent, const std::string& name, const Place& place, bool last) {
    const bool file = last && place.kind == Place::Kind::file;
    bool made = false;
    if (file) {
        const Descriptor fresh(::openat(parent, name.c_str(),
                                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                        place.mode & 0666));
        made = static_cast<bool>(fresh);
    } else {
        made = ::mkdirat(parent, name.c_str(), place.mode) == 0;
    }
    if (!made) return errno == EEXIST;
    const auto user = static_cast<uid_t>(place.owner.user);
    const auto group = static_cast<gid_t>(place.owner.group);
    const Descriptor fresh(::openat(parent, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const bool is_given = place.owner.user >= 0 || place.owner.group >= 0;
    if (is_given && ::fchownat(fresh.get(), "", user, group, AT_EMPTY_PATH) != 0) {
        const int why = errno;  // The next try must not find a folder with the wrong owner.
        ::unlinkat(parent, name.c_str(), file ? 0 : AT_REMOVEDIR);
        errno = why;
        return false;
    }
    if (file) return true;
    // The mask of this process counts for nothing here. The set-group bit of the folder above is
    // kept, as mkdir passes it on.
    struct stat status {};
    const Descriptor readable = open_folder(parent, name.c_str());
    return readable && ::fstat(readable.get(), &status) == 0 &&
           ::fchmod(readable.get(), place.mode | (status.st_mode & S_ISGID)) == 0;
}

/// The identity of a folder, whatever its name.
using FolderIdentity = std::optional<std::pair<dev_t, ino_t>>;
FolderIdentity identity_of(int folder) {
    struct stat status {};
    if (::fstat(folder, &status) != 0) return std::nullopt;
    return std::pair(status.st_dev, status.st_ino);
}

/// A folder on the way down, and the one that it was reached through.
struct Step {
    std::string name;
    FolderIdentity above;
};

bool unlink_and_tell(int folder, const char* name, int flags, const Removed& removed) {
    struct stat status {};
    const bool counts = removed && ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (::unlinkat(folder, name, flags) != 0) return false;
    const bool was_last = S_ISDIR(status.st_mode) || status.st_nlink <= 1;
    if (counts) removed(was_last ? std::int64_t{status.st_blocks} * 512 : 0);
    return true;
}

/// How far a folder could be emptied without going down.
struct Emptied {
    bool whole = true;   // False: something cannot be removed.
    std::string deeper;  // A folder in it that is not empty.
};
Emptied empty_folder(int folder, const Removed& removed) {
    Emptied emptied;
    Listing list(folder);
    emptied.whole = static_cast<bool>(list);
    while (const dirent* entry = emptied.whole ? list.next() : nullptr) {
        if (unlink_and_tell(folder, entry->d_name, 0, removed) || errno == ENOENT) continue;
        const bool is_folder = errno == EISDIR || errno == EPERM;
        if (is_folder && unlink_and_tell(folder, entry->d_name, AT_REMOVEDIR, removed)) continue;
        if (is_folder && errno == ENOTEMPTY) {
            emptied.deeper = entry->d_name;
            break;
        }
        emptied.whole = false;
    }
    return emptied;
}

/// How the kernel says that nothing can be made in a folder: places of sysfs that are kept for
/// mounts know no names at all.
bool takes_nothing_new(int error) {
    return error == EROFS || error == EACCES || error == EPERM || error == ENOENT;
}

}  // namespace

Descriptor open_within(int folder, const std::string& path, Reach reach, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
    how.resolve = RESOLVE_NO_MAGICLINKS |
                  (reach == Reach::beneath ? std::uint64_t{RESOLVE_BENEATH} : RESOLVE_IN_ROOT);
    const std::string name = path.empty() ? "." : path;
    // The kernel asks for another try when something was renamed on the way.
    for (int tries = 0;; ++tries) {
        const long fd = ::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof(how));
        if (fd >= 0) return Descriptor(static_cast<int>(fd));
        if ((errno != EAGAIN && errno != EINTR) || tries >= kBusyTries) return {};
    }
}

Descriptor make_within(int folder, const std::string& path, Reach reach, const Place& place,
                       const ReadOnlyFolder& read_only) {
    const std::vector<std::string> steps = steps_of(path);
    std::string done;  // Relative, so that the kernel resolves it from `folder`.
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string next = done.empty() ? steps[i] : done + "/" + steps[i];
        const bool last = i + 1 == steps.size();
        for (const bool first : {true, false}) {
            if (open_within(folder, next, reach, O_PATH)) break;
            if (errno != ENOENT) fail("use", path);
            const Descriptor parent = open_within(folder, done, reach, O_PATH | O_DIRECTORY);
            if (!parent) fail("use", path);
            if (make_step(parent.get(), steps[i], place, last)) break;
            if (!first || !read_only || !takes_nothing_new(errno)) fail("make", path);
            read_only(parent.get());
        }
        done = next;
    }
    const bool folder_wanted = place.kind == Place::Kind::folder;
    Descriptor made = open_within(folder, done, reach, O_PATH | (folder_wanted ? O_DIRECTORY : 0));
    if (!made) fail("use", path);
    struct stat status {};
    if (!folder_wanted && ::fstat(made.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        fail("use", path);
    }
    return made;
}

bool list_folder(int folder, std::size_t limit, const std::function<void(const char*)>& each) {
    Listing list(folder);
    if (!list)
        throw Error(Reason::internal_error,
                    std::string("cannot list a folder: ") + std::strerror(errno));
    std::size_t count = 0;
    while (const dirent* entry = list.next()) {
        if (++count > limit) return false;
        each(entry->d_name);
    }
    return true;
}

bool remove_within(int folder, const std::string& name, const Removed& removed) {
    if (unlink_and_tell(folder, name.c_str(), 0, removed) || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return false;
    // Only the folder at the bottom is open: a tree may be deeper than descriptors can be had. A
    // folder that a living process moves meanwhile has another one above it: each is the one that
    // it was reached through, or the removal ends there.
    std::vector<Step> steps;
    Descriptor at = take_folder(folder, name.c_str());
    if (!at) return unlink_and_tell(folder, name.c_str(), AT_REMOVEDIR, removed);
    steps.push_back({name, identity_of(folder)});
    for (;;) {
        const Emptied emptied = empty_folder(at.get(), removed);
        if (!emptied.whole) return false;
        if (!emptied.deeper.empty()) {
            Descriptor below = take_folder(at.get(), emptied.deeper.c_str());
            if (!below) return false;
            steps.push_back({emptied.deeper, identity_of(at.get())});
            at = std::move(below);
            continue;
        }
        const Step step = std::move(steps.back());
        steps.pop_back();
        if (steps.empty()) return unlink_and_tell(folder, step.name.c_str(), AT_REMOVEDIR, removed);
        Descriptor up(::openat(at.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!up || !step.above || identity_of(up.get()) != step.above ||
            !unlink_and_tell(up.get(), step.name.c_str(), AT_REMOVEDIR, removed))
            return false;
        at = std::move(up);
    }
}

DiskUse disk_use_within(int folder, const std::string& name) {
    DiskUse use;
    struct stat top {};
    if (::fstatat(folder, name.c_str(), &top, AT_SYMLINK_NOFOLLOW) != 0) return use;
    const auto count = [&use](const struct stat& status) {
        use.bytes += std::int64_t{status.st_blocks} * 512;
        ++use.files;
    };
    count(top);
    if (!S_ISDIR(top.st_mode)) return use;
    Descriptor first = open_folder(folder, name.c_str());
    if (!first) return use;
    // The folders that are still to be read, by their path from one that is held open: no path is
    // longer than the kernel takes, however deep the tree is. None is opened through a link.
    struct Waiting {
        std::shared_ptr<const Descriptor> from;
        std::string path;
    };
    std::vector<Waiting> waiting{{std::make_shared<const Descriptor>(std::move(first)), ""}};
    while (!waiting.empty() && use.files < kMostFiles) {
        Waiting next = std::move(waiting.back());
        waiting.pop_back();
        Descriptor at = open_within(next.from->get(), next.path, Reach::beneath,
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
        if (!at) continue;
        if (next.path.size() > kLongPath)
            next = {std::make_shared<const Descriptor>(::fcntl(at.get(), F_DUPFD_CLOEXEC, 3)), ""};
        Listing list(at.get());
        if (!list) continue;
        while (const dirent* entry = list.next()) {
            struct stat status {};
            if (::fstatat(at.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
            if (status.st_dev != top.st_dev) continue;
            count(status);
            if (use.files >= kMostFiles) return use;
            if (!S_ISDIR(status.st_mode)) continue;
            const std::string below = (next.path.empty() ? "" : next.path + "/") + entry->d_name;
            waiting.push_back({next.from, below});
        }
    }
    return use;
}

std::string read_within(int folder, const std::string& name, std::size_t limit, End end) {
    const Descriptor fd =
        open_within(folder, name, Reach::beneath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
    const auto size = static_cast<std::int64_t>(status.st_size);
    const auto most = static_cast<std::int64_t>(limit);
    const std::int64_t start = end == End::last ? std::max<std::int64_t>(0, size - most) : 0;
    std::string content(limit, '\0');
    std::size_t done = 0;
    while (done < limit) {
        const ssize_t got = ::pread(fd.get(), content.data() + done, limit - done,
                                    start + static_cast<std::int64_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    content.resize(done);
    return content;
}

}  // namespace muster::agent
