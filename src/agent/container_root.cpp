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

#include "agent/beneath.h"
#include "agent/mount_tree.h"
#include "base/error.h"

namespace muster::agent {

namespace {

constexpr const char* kStage = ".stage";
constexpr std::size_t kMostMirrored = 4096;

constexpr MountFlags kProgramsOnly{.read_only = true, .no_devices = true, .no_programs = false};
constexpr MountFlags kNoPrograms{.read_only = false, .no_devices = true, .no_programs = true};

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

/// What of /etc a program needs that knows nothing of this machine: names of users, how names are
/// looked up, where libraries and certificates are.
constexpr std::array kFilesOfEtc = {
    "passwd",     "group",    "nsswitch.conf", "ld.so.cache", "ld.so.conf.d",
    "alternatives", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted",
    "protocols",  "services", "mime.types",    "localtime",   "os-release"};

/// What container engines show nobody, and what they let nobody write.
constexpr std::array kMaskedOfProc = {"acpi",      "asound",       "interrupts", "kcore",
                                      "keys",      "latency_stats", "sched_debug", "scsi",
                                      "timer_list", "timer_stats"};
constexpr std::array kReadOnlyOfProc = {"bus", "fs", "irq", "sys", "sysrq-trigger"};
constexpr std::array kMaskedOfSys = {"firmware", "devices/virtual/powercap"};

constexpr std::array kUsualDevices = {"null", "zero", "full", "random", "urandom", "tty"};

bool is_device_for_all(const std::string& name) {
    return std::find(kUsualDevices.begin(), kUsualDevices.end(), name) != kUsualDevices.end();
}

bool is_accelerator(const std::string& name) {
    return name.starts_with("nvidia") || name == "dri" || name == "kfd" || name == "infiniband";
}

std::string link_at(int folder, const char* name) {
    std::array<char, 4096> text{};
    const ssize_t got = ::readlinkat(folder, name, text.data(), text.size());
    if (got < 0) fail(std::string("cannot read the link ") + name);
    return {text.data(), static_cast<std::size_t>(got)};
}

std::vector<std::string> names_in(int folder, std::size_t limit, const std::string& what) {
    std::vector<std::string> names;
    if (!list_folder(folder, limit, [&names](const char* name) { names.emplace_back(name); }))
        throw Error(Reason::invalid, "cannot add to " + what + ": it has more than " +
                                         std::to_string(limit) + " entries and is read-only");
    std::sort(names.begin(), names.end());
    return names;
}

mode_t kind_of(const struct stat& status) {
    return S_ISDIR(status.st_mode) ? S_IFDIR : S_IFREG;
}

struct stat status_of(int fd, const std::string& what) {
    struct stat status {};
    if (::fstatat(fd, "", &status, AT_EMPTY_PATH) != 0) fail("cannot look at " + what);
    return status;
}

class RootMaker {
public:
    explicit RootMaker(const RootPlan& plan)
        : plan_(plan),
          own_{outside_of(plan.ids.users, 0), outside_of(plan.ids.groups, 0)} {}

    void make() {
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

private:
    /// A tree that Muster chose, and where it goes.
    struct Tree {
        std::string target;
        Descriptor tree;
        mode_t kind = S_IFDIR;
    };
    struct Link {
        std::string target;
        std::string text;
    };

    void take(const std::string& path, std::vector<Tree>& trees);
    void take_system();
    void take_environments();
    void take_devices();
    void take_own_folders();
    void take_sources();

    void leave_machine();
    void verify_alone() const;

    void show_system();
    void show_devices();
    void restrict_proc_and_sys();
    void mask(int folder, const std::string& name);
    void show_own_folders();
    void show_environments();
    void hide_data();
    void show_volumes();
    void resolve_sources();
    Descriptor resolve(const BindMount& mount, int source) const;
    void finish();

    Descriptor make_place(const std::string& target, mode_t kind);
    Descriptor place_for(const std::string& target, mode_t kind);
    void put(const Tree& tree);
    void open_up(int folder);
    void give(int folder, const char* name, std::int64_t user, std::int64_t group) const;

    const RootPlan& plan_;
    Ownership own_;  // The pod's own root.
    std::vector<Tree> system_;
    std::vector<Tree> environments_;
    std::vector<Link> links_;
    std::vector<Tree> devices_;
    std::vector<Tree> folders_;
    std::vector<Tree> sources_;  // One for each of the plan's mounts.
    Descriptor proc_;
    Descriptor sys_;
    Descriptor root_;
    std::vector<Descriptor> frozen_;  // Read-only in the end.
};

void RootMaker::take(const std::string& path, std::vector<Tree>& trees) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return;
    Descriptor tree = copy_tree_at(path);
    if (!tree) fail("cannot show " + path);
    narrow(tree.get(), kProgramsOnly, Depth::all, path);
    trees.push_back({path, std::move(tree), kind_of(status)});
}

void RootMaker::take_system() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        fail("cannot make the container's mounts private");
    for (const char* name : {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
        const std::string path = std::string("/") + name;
        struct stat status {};
        if (::lstat(path.c_str(), &status) != 0) continue;
        if (S_ISLNK(status.st_mode))
            links_.push_back({path, link_at(AT_FDCWD, path.c_str())});
        else if (S_ISDIR(status.st_mode))
            take(path, system_);
    }
    for (const char* name : kFilesOfEtc)
        take(std::string("/etc/") + name, system_);
    proc_ = new_file_system("proc", {}, kNoPrograms);
    if (!proc_) fail("cannot mount /proc");
    MountFlags closed = kNoPrograms;
    closed.read_only = true;
    sys_ = new_file_system("sysfs", {}, closed);
    if (!sys_ && (sys_ = copy_tree_at("/sys"))) narrow(sys_.get(), closed, Depth::all, "/sys");
}

void RootMaker::take_environments() {
    for (const std::string& path : plan_.environments) {
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0)
            throw Error(Reason::not_found, "the environment needs " + path +
                                               ", which is not there: " + std::strerror(errno));
        take(path, environments_);
    }
}

void RootMaker::take_devices() {
    const Descriptor dev(::open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dev) fail("cannot open /dev");
    for (const std::string& name : names_in(dev.get(), 100'000, "/dev")) {
        if (!is_device_for_all(name) && !is_accelerator(name)) continue;
        struct stat status {};
        if (::fstatat(dev.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            S_ISLNK(status.st_mode))
            continue;
        Descriptor tree = copy_tree_at("/dev/" + name);
        if (!tree) fail("cannot show /dev/" + name);
        const MountFlags flags{.read_only = false, .no_devices = false, .no_programs = true};
        narrow(tree.get(), flags, Depth::all, "/dev/" + name);
        devices_.push_back({"/dev/" + name, std::move(tree),
                            kind_of(status)});
    }
}

void RootMaker::take_own_folders() {
    const Descriptor scratch(
        ::open(plan_.scratch.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!scratch) fail("cannot open the container's disk space");
    const auto add = [&](const char* name, const std::string& target, mode_t mode,
                         std::int64_t user, std::int64_t group) {
        if (::mkdirat(scratch.get(), name, 0700) != 0 && errno != EEXIST)
            fail(std::string("cannot make the container's ") + name);
        give(scratch.get(), name, user, group);
        const Descriptor folder(
            ::openat(scratch.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder || ::fchmod(folder.get(), mode) != 0)
            fail(std::string("cannot make the container's ") + name);
        Descriptor tree = copy_tree(folder.get(), target);
        narrow(tree.get(), {}, Depth::all, target);
        folders_.push_back({target, std::move(tree), S_IFDIR});
    };
    add("tmp", "/tmp", 01777, own_.user, own_.group);
    add("vartmp", "/var/tmp", 01777, own_.user, own_.group);
    if (!plan_.home.empty() && plan_.home != "/")
        add("home", plan_.home, 0755, outside_of(plan_.ids.users, plan_.user),
            outside_of(plan_.ids.groups, plan_.group));
    Descriptor memory = copy_tree_at(plan_.shared_memory);
    if (!memory) fail("cannot show the pod's shared memory");
    narrow(memory.get(), kNoPrograms, Depth::all, "/dev/shm");
    devices_.push_back({"/dev/shm", std::move(memory), S_IFDIR});
}

/// The sources as Muster chose them; what of them is mounted is decided when nothing else is left.
void RootMaker::take_sources() {
    for (const BindMount& mount : plan_.mounts) {
        struct stat status {};
        Descriptor tree;
        if (::stat(mount.source.c_str(), &status) != 0 || !(tree = copy_tree_at(mount.source)))
            fail("cannot mount " + mount.target);
        narrow(tree.get(), {}, Depth::all, mount.target);
        sources_.push_back({mount.target, std::move(tree),
                            kind_of(status)});
    }
}

void RootMaker::leave_machine() {
    root_ = new_file_system("tmpfs", {"mode=0755", "size=16m", "nr_inodes=16384"}, {});
    if (!root_) fail("cannot mount a memory file system for the container's root");
    const Descriptor place(
        ::open(plan_.mount_point.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!place) fail("cannot open " + plan_.mount_point);
    attach(root_.get(), place.get(), "the container's root");
    const Descriptor old(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!old || ::fchdir(root_.get()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0)
        fail("cannot change to the container's root");
    if (::fchdir(old.get()) != 0 || ::umount2(".", MNT_DETACH) != 0 ||
        ::fchdir(root_.get()) != 0 || ::chroot(".") != 0)
        fail("cannot leave the machine's root");
    verify_alone();
}

/// Asks the kernel: one mount is left, and it is the empty root. Anything else would be the
/// machine's.
void RootMaker::verify_alone() const {
    const std::string mounts = read_within(proc_.get(), "thread-self/mountinfo", 64 << 10,
                                           End::first);
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
        fail(std::string("cannot give ") + name + " to the pod");
}

/// What is at `target` in the container, made when it is not there.
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
        throw Error(Reason::invalid, "nothing can be mounted at " + target +
                                         ": it is the container's root");
    if (::fstatfs(found.get(), &system) != 0) fail("cannot look at " + target);
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
    if (!fresh) fail("cannot open up " + what);
    attach(fresh.get(), folder, what);
    give(fresh.get(), ".", own_.user, own_.group);
    for (const auto& [name, text] : links)
        if (::symlinkat(text.c_str(), fresh.get(), name.c_str()) != 0) fail("cannot make " + name);
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
            fail("cannot make " + link.target);
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
    if (!fresh) fail("cannot mount /dev");
    attach(fresh.get(), place.get(), "/dev");
    give(fresh.get(), ".", own_.user, own_.group);
    for (const Tree& tree : devices_)
        put(tree);
    const Descriptor terminals =
        new_file_system("devpts", {"newinstance", "ptmxmode=0666", "mode=0620"},
                        {.no_devices = false, .no_programs = true});
    if (!terminals) fail("cannot mount /dev/pts");
    attach(terminals.get(), place_for("/dev/pts", S_IFDIR).get(), "/dev/pts");
    for (const auto& [link, to] :
         {std::pair("ptmx", "pts/ptmx"), std::pair("fd", "/proc/self/fd"),
          std::pair("stdin", "/proc/self/fd/0"), std::pair("stdout", "/proc/self/fd/1"),
          std::pair("stderr", "/proc/self/fd/2")})
        if (::symlinkat(to, fresh.get(), link) != 0) fail(std::string("cannot make /dev/") + link);
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
    if (!empty) fail("cannot hide " + name);
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
    if (!run.tree) fail("cannot mount /run");
    put(run);
    give(run.tree.get(), ".", own_.user, own_.group);
    Place lock;
    lock.mode = 01777;
    lock.owner = own_;
    make_within(run.tree.get(), "lock", Reach::beneath, lock);
    freeze(run.tree);
    if (::symlinkat("/run", root_.get(), "var/run") != 0) fail("cannot make /var/run");
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
            if (::mkdirat(root_.get(), kStage, 0700) != 0) fail("cannot make a place for volumes");
            const Descriptor place = open_within(root_.get(), kStage, Reach::beneath, O_PATH);
            attach(source.tree.get(), place.get(), mount.target);
            const Descriptor wanted = resolve(mount, source.tree.get());
            source.kind = kind_of(status_of(wanted.get(), mount.target));
            source.tree = copy_tree(wanted.get(), mount.target);
            const std::string path = std::string("/") + kStage;
            if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 ||
                ::unlinkat(root_.get(), kStage, AT_REMOVEDIR) != 0)
                fail("cannot leave the place for volumes");
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
            place.mode = status_of(at.get(), mount.target).st_mode & 0777;
            place.owner = {own_.user, -1};  // The set-group bit of the volume says whose it is.
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
    if (::fchdir(root_.get()) != 0) fail("cannot enter the container's root");
}

}  // namespace

void enter_root(const RootPlan& plan) {
    RootMaker(plan).make();
}

}  // namespace muster::agent
