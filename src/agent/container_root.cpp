// agent/container_root.cpp - see container_root.h.
//
// The order is what keeps the machine out of reach. First everything that Muster chose is taken as
// detached copies: programs, environments, devices, the pod's own folders. Then the namespace gets
// an empty root, the machine's root is taken off by its descriptor, and the kernel is asked whether
// anything else is still mounted. Only then are the pod's words looked at: subPath, mountPath and
// working directory are resolved beneath what is left, which is the pod's own.
#include "agent/container_root.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/root_maker.h"
#include "base/error.h"

namespace muster::agent {

namespace {

constexpr const char* kStage = ".stage";
constexpr std::size_t kMostMirrored = 4096;

/// Files of /proc and /sys that container engines hide, and those that they make read-only.
constexpr std::array kMaskedOfProc = {"acpi",       "asound",        "interrupts",  "kcore",
                                      "keys",       "latency_stats", "sched_debug", "scsi",
                                      "timer_list", "timer_stats"};
constexpr std::array kReadOnlyOfProc = {"bus", "fs", "irq", "sys", "sysrq-trigger"};
constexpr std::array kMaskedOfSys = {"firmware", "devices/virtual/powercap"};

struct stat status_of(int fd, const std::string& what) {
    struct stat status {};
    if (::fstatat(fd, "", &status, AT_EMPTY_PATH) != 0) fail_at_root("cannot look at " + what);
    return status;
}

}  // namespace

void RootMaker::make() {
    take_system();
    take_environments();
    take_devices();
    take_own_folders();
    take_sources();
    leave_machine();
    show_system();
    show_devices();
    restrict_proc_and_sys();
    show_own_folders();
    show_environments();
    show_volumes();
    if (!plan_.working_directory.empty()) make_place(plan_.working_directory, S_IFDIR);
    finish();
}

void RootMaker::leave_machine() {
    root_ = new_file_system("tmpfs", {"mode=0755", "size=16m", "nr_inodes=16384"}, {});
    if (!root_) fail_at_root("cannot mount a memory file system for the container's root");
    const Descriptor place(
        ::open(plan_.mount_point.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!place) fail_at_root("cannot open " + plan_.mount_point);
    attach(root_.get(), place.get(), "the container's root");
    const Descriptor old(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!old || ::fchdir(root_.get()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0)
        fail_at_root("cannot change to the container's root");
    if (::fchdir(old.get()) != 0 || ::umount2(".", MNT_DETACH) != 0 || ::fchdir(root_.get()) != 0 ||
        ::chroot(".") != 0)
        fail_at_root("cannot leave the machine's root");
    verify_alone();
}

/// Asks the kernel: one mount is left, and it is the empty root. Anything else would be the
/// machine's.
void RootMaker::verify_alone() const {
    const std::string mounts =
        read_within(proc_.get(), "thread-self/mountinfo", 64 << 10, End::first);
    const auto lines = std::count(mounts.begin(), mounts.end(), '\n');
    const Descriptor root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool empty = static_cast<bool>(root);
    if (root) list_folder(root.get(), 1, [&empty](const char*) { empty = false; });
    const struct stat seen = status_of(root.get(), "the container's root");
    const struct stat made = status_of(root_.get(), "the container's root");
    if (lines != 1 || !empty || seen.st_dev != made.st_dev || seen.st_ino != made.st_ino)
        throw Error(Reason::internal_error,
                    "something of the machine is left in the container's mount namespace (" +
                        std::to_string(lines) + " mounts): the container is not started");
}

void RootMaker::give(int folder, const char* name, std::int64_t user, std::int64_t group) const {
    if (user < 0 && group < 0) return;
    if (::fchownat(folder, name, static_cast<uid_t>(user), static_cast<gid_t>(group),
                   AT_SYMLINK_NOFOLLOW) != 0)
        fail_at_root(std::string("cannot give ") + name + " to the pod");
}

/// The file or folder at `target` in the container, made when it is not there.
Descriptor RootMaker::make_place(const std::string& target, mode_t kind) {
    Place place;
    place.kind = kind == S_IFDIR ? Place::Kind::folder : Place::Kind::file;
    place.mode = kind == S_IFDIR ? 0755 : 0644;
    place.owner = own_;
    return make_within(root_.get(), target, Reach::in_root, place,
                       [this](int folder) { open_up(folder); });
}

/// The same, where something is to be mounted.
Descriptor RootMaker::place_for(const std::string& target, mode_t kind) {
    Descriptor found = make_place(target, kind);
    struct statfs system {};
    const struct stat status = status_of(found.get(), target);
    const struct stat root = status_of(root_.get(), "/");
    if (status.st_dev == root.st_dev && status.st_ino == root.st_ino)
        throw Error(Reason::invalid,
                    "nothing can be mounted at " + target + ": it is the container's root");
    if (::fstatfs(found.get(), &system) != 0) fail_at_root("cannot look at " + target);
    if (system.f_type == PROC_SUPER_MAGIC)
        throw Error(Reason::invalid, "nothing can be mounted at " + target + ": it is in /proc");
    return found;
}

void RootMaker::put(const Tree& tree) {
    const Descriptor place = place_for(tree.target, tree.kind);
    attach(tree.tree.get(), place.get(), tree.target);
}

/// Replaces a read-only folder by one with the same entries in which new ones can be made.
void RootMaker::open_up(int folder) {
    const std::string what = "a read-only folder";
    std::vector<std::pair<std::string, Descriptor>> entries;
    std::vector<std::pair<std::string, std::string>> links;
    for (const std::string& name : names_in(folder, kMostMirrored, what)) {
        struct stat status {};
        if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISLNK(status.st_mode)) {
            links.emplace_back(name, link_at(folder, name.c_str()));
            continue;
        }
        const Descriptor entry(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (entry) entries.emplace_back(name, copy_tree(entry.get(), name));
    }
    const Descriptor fresh =
        new_file_system("tmpfs", {"mode=0755", "size=1m", "nr_inodes=8192"}, {});
    if (!fresh) fail_at_root("cannot open up " + what);
    attach(fresh.get(), folder, what);
    give(fresh.get(), ".", own_.user, own_.group);
    for (const auto& [name, text] : links)
        if (::symlinkat(text.c_str(), fresh.get(), name.c_str()) != 0)
            fail_at_root("cannot make " + name);
    for (const auto& [name, tree] : entries) {
        const bool is_folder = S_ISDIR(status_of(tree.get(), name).st_mode);
        Place place;
        place.kind = is_folder ? Place::Kind::folder : Place::Kind::file;
        place.owner = own_;
        const Descriptor at = make_within(fresh.get(), name, Reach::beneath, place);
        attach(tree.get(), at.get(), name);
    }
    frozen_.emplace_back(::fcntl(fresh.get(), F_DUPFD_CLOEXEC, 3));
}

void RootMaker::show_system() {
    give(root_.get(), ".", own_.user, own_.group);
    for (const Link& link : links_)
        if (::symlinkat(link.text.c_str(), root_.get(), link.target.c_str() + 1) != 0)
            fail_at_root("cannot make " + link.target);
    for (const char* folder : {"/etc", "/var", "/proc", "/sys", "/dev"}) {
        Place place;
        place.owner = own_;
        make_within(root_.get(), folder, Reach::in_root, place);
    }
    const Descriptor proc = open_within(root_.get(), "proc", Reach::in_root, O_PATH);
    attach(proc_.get(), proc.get(), "/proc");
    const Descriptor sys = open_within(root_.get(), "sys", Reach::in_root, O_PATH);
    if (sys_) attach(sys_.get(), sys.get(), "/sys");
    for (const Tree& tree : system_)
        put(tree);
}

void RootMaker::show_devices() {
    const Descriptor fresh =
        new_file_system("tmpfs", {"mode=0755", "size=64k"}, {.no_devices = false});
    const Descriptor place = open_within(root_.get(), "dev", Reach::in_root, O_PATH);
    if (!fresh) fail_at_root("cannot mount /dev");
    attach(fresh.get(), place.get(), "/dev");
    give(fresh.get(), ".", own_.user, own_.group);
    for (const Tree& tree : devices_)
        put(tree);
    const Descriptor terminals =
        new_file_system("devpts", {"newinstance", "ptmxmode=0666", "mode=0620"},
                        {.no_devices = false, .no_programs = true});
    if (!terminals) fail_at_root("cannot mount /dev/pts");
    attach(terminals.get(), place_for("/dev/pts", S_IFDIR).get(), "/dev/pts");
    for (const auto& [link, to] :
         {std::pair("ptmx", "pts/ptmx"), std::pair("fd", "/proc/self/fd"),
          std::pair("stdin", "/proc/self/fd/0"), std::pair("stdout", "/proc/self/fd/1"),
          std::pair("stderr", "/proc/self/fd/2")})
        if (::symlinkat(to, fresh.get(), link) != 0)
            fail_at_root(std::string("cannot make /dev/") + link);
}

void RootMaker::restrict_proc_and_sys() {
    MountFlags closed = kNoPrograms;
    closed.read_only = true;
    for (const char* name : kReadOnlyOfProc) {
        const Descriptor place = open_within(proc_.get(), name, Reach::beneath, O_PATH);
        if (!place) continue;
        const Descriptor tree = copy_tree(place.get(), name);
        narrow(tree.get(), closed, Depth::all, name);
        attach(tree.get(), place.get(), name);
    }
    for (const char* name : kMaskedOfProc)
        mask(proc_.get(), name);
    if (!sys_) return;
    for (const char* name : kMaskedOfSys)
        mask(sys_.get(), name);
}

/// Files look like /dev/null, folders are empty and read-only.
void RootMaker::mask(int folder, const std::string& name) {
    const Descriptor place = open_within(folder, name, Reach::beneath, O_PATH);
    if (!place) return;
    if (!S_ISDIR(status_of(place.get(), name).st_mode)) {
        const Descriptor null = open_within(root_.get(), "dev/null", Reach::in_root, O_PATH);
        attach(copy_tree(null.get(), name).get(), place.get(), name);
        return;
    }
    MountFlags flags = kNoPrograms;
    flags.read_only = true;
    const Descriptor empty = new_file_system("tmpfs", {"mode=0555", "size=4k"}, flags);
    if (!empty) fail_at_root("cannot hide " + name);
    attach(empty.get(), place.get(), name);
}

void RootMaker::show_own_folders() {
    const auto freeze = [this](const Descriptor& tree) {
        if (plan_.read_only) frozen_.emplace_back(::fcntl(tree.get(), F_DUPFD_CLOEXEC, 3));
    };
    for (const Tree& tree : folders_) {
        put(tree);
        freeze(tree.tree);
    }
    Tree run{"/run", new_file_system("tmpfs", {"mode=0755", "size=16m"}, {})};
    if (!run.tree) fail_at_root("cannot mount /run");
    put(run);
    give(run.tree.get(), ".", own_.user, own_.group);
    Place lock;
    lock.mode = 01777;
    lock.owner = own_;
    make_within(run.tree.get(), "lock", Reach::beneath, lock);
    freeze(run.tree);
    if (::symlinkat("/run", root_.get(), "var/run") != 0) fail_at_root("cannot make /var/run");
}

/// An environment may be in a folder that is shown already, such as /usr.
void RootMaker::show_environments() {
    for (const Tree& tree : environments_)
        if (!open_within(root_.get(), tree.target, Reach::in_root, O_PATH)) put(tree);
    hide_data();
}

/// Muster's own data is nobody's business in a pod, also where an environment lies around it.
void RootMaker::hide_data() {
    for (const std::string& path : plan_.hidden)
        mask(root_.get(), path.substr(std::min(path.find_first_not_of('/'), path.size())));
}

void RootMaker::show_volumes() {
    resolve_sources();
    for (const Tree& tree : sources_)
        put(tree);
}

/// Replaces each source by what of it the pod wants. A tree is copied only where it is attached:
/// the sources are, for that long, at a place in the root where nothing else is yet.
void RootMaker::resolve_sources() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        const BindMount& mount = plan_.mounts[i];
        Tree& source = sources_[i];
        if (!mount.inside.empty()) {
            if (::mkdirat(root_.get(), kStage, 0700) != 0)
                fail_at_root("cannot make a place for volumes");
            const Descriptor place = open_within(root_.get(), kStage, Reach::beneath, O_PATH);
            attach(source.tree.get(), place.get(), mount.target);
            const Descriptor wanted = resolve(mount, source.tree.get());
            source.kind = kind_of(status_of(wanted.get(), mount.target));
            source.tree = copy_tree(wanted.get(), mount.target);
            const std::string path = std::string("/") + kStage;
            if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 ||
                ::unlinkat(root_.get(), kStage, AT_REMOVEDIR) != 0)
                fail_at_root("cannot leave the place for volumes");
        }
        if (mount.read_only)
            narrow(source.tree.get(), {.read_only = true}, Depth::all, mount.target);
    }
}

Descriptor RootMaker::resolve(const BindMount& mount, int source) const {
    Descriptor at(::fcntl(source, F_DUPFD_CLOEXEC, 3));
    for (const std::string& path : mount.inside) {
        Descriptor next = open_within(at.get(), path, Reach::beneath, O_PATH);
        if (!next && errno == ENOENT && !mount.read_only) {
            Place place;
            const mode_t above = status_of(at.get(), mount.target).st_mode;
            place.mode = above & 0777;
            // The set-group bit of the volume says whose it is.
            place.owner = {own_.user, (above & S_ISGID) != 0 ? -1 : own_.group};
            next = make_within(at.get(), path, Reach::beneath, place);
        }
        if (!next)
            throw Error(Reason::invalid,
                        "cannot mount " + mount.target + ": " + path + ": " +
                            (errno == EXDEV ? "it leads out of the volume" : std::strerror(errno)));
        at = std::move(next);
    }
    return at;
}

void RootMaker::finish() {
    MountFlags closed;
    closed.read_only = true;
    for (const Descriptor& folder : frozen_)
        narrow(folder.get(), closed, Depth::one, "a folder");
    narrow(root_.get(), closed, Depth::one, "the container's root");
    if (::fchdir(root_.get()) != 0) fail_at_root("cannot enter the container's root");
}

void enter_root(const RootPlan& plan) {
    RootMaker(plan).make();
}

}  // namespace muster::agent
