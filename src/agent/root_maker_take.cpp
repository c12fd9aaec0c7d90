// agent/root_maker_take.cpp - what Muster chose for a container, taken as detached copies while the
// machine is still there.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/root_maker.h"
#include "base/error.h"

namespace muster::agent {

namespace {

constexpr MountFlags kProgramsOnly{.read_only = true, .no_devices = true, .no_programs = false};

/// The files of /etc that a program needs which knows nothing of this machine: names of users, how
/// names are looked up, where libraries and certificates are.
constexpr std::array kFilesOfEtc = {
    "passwd",       "group",     "nsswitch.conf",   "ld.so.cache",   "ld.so.conf.d",
    "alternatives", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted",
    "protocols",    "services",  "mime.types",      "localtime",     "os-release"};

constexpr std::array kUsualDevices = {"null", "zero", "full", "random", "urandom", "tty"};

bool is_device_for_all(const std::string& name) {
    return std::find(kUsualDevices.begin(), kUsualDevices.end(), name) != kUsualDevices.end();
}

bool is_accelerator(const std::string& name) {
    return name.starts_with("nvidia") || name == "dri" || name == "kfd" || name == "infiniband";
}

}  // namespace

void fail_at_root(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

std::string link_at(int folder, const char* name) {
    std::array<char, 4096> text{};
    const ssize_t got = ::readlinkat(folder, name, text.data(), text.size());
    if (got < 0) fail_at_root(std::string("cannot read the link ") + name);
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

void RootMaker::take(const std::string& path, std::vector<Tree>& trees) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return;
    Descriptor tree = copy_tree_at(path);
    if (!tree) fail_at_root("cannot show " + path);
    narrow(tree.get(), kProgramsOnly, Depth::all, path);
    trees.push_back({path, std::move(tree), kind_of(status)});
}

void RootMaker::take_system() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        fail_at_root("cannot make the container's mounts private");
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
    if (!proc_) fail_at_root("cannot mount /proc");
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
    if (!dev) fail_at_root("cannot open /dev");
    for (const std::string& name : names_in(dev.get(), 100'000, "/dev")) {
        if (!is_device_for_all(name) && !(plan_.accelerators && is_accelerator(name))) continue;
        struct stat status {};
        if (::fstatat(dev.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            S_ISLNK(status.st_mode))
            continue;
        Descriptor tree = copy_tree_at("/dev/" + name);
        if (!tree) fail_at_root("cannot show /dev/" + name);
        const MountFlags flags{.read_only = false, .no_devices = false, .no_programs = true};
        narrow(tree.get(), flags, Depth::all, "/dev/" + name);
        devices_.push_back({"/dev/" + name, std::move(tree), kind_of(status)});
    }
}

void RootMaker::take_own_folders() {
    const Descriptor scratch(
        ::open(plan_.scratch.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!scratch) fail_at_root("cannot open the container's disk space");
    const auto add = [&](const char* name, const std::string& target, mode_t mode,
                         std::int64_t user, std::int64_t group) {
        if (::mkdirat(scratch.get(), name, 0700) != 0 && errno != EEXIST)
            fail_at_root(std::string("cannot make the container's ") + name);
        give(scratch.get(), name, user, group);
        const Descriptor folder(
            ::openat(scratch.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder || ::fchmod(folder.get(), mode) != 0)
            fail_at_root(std::string("cannot make the container's ") + name);
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
    if (!memory) fail_at_root("cannot show the pod's shared memory");
    narrow(memory.get(), kNoPrograms, Depth::all, "/dev/shm");
    devices_.push_back({"/dev/shm", std::move(memory), S_IFDIR});
}

/// The sources as Muster chose them; what of them is mounted is decided when nothing else is left.
void RootMaker::take_sources() {
    for (const BindMount& mount : plan_.mounts) {
        struct stat status {};
        Descriptor tree;
        if (::stat(mount.source.c_str(), &status) != 0 || !(tree = copy_tree_at(mount.source)))
            fail_at_root("cannot mount " + mount.target);
        narrow(tree.get(), {}, Depth::all, mount.target);
        sources_.push_back({mount.target, std::move(tree), kind_of(status)});
    }
}

}  // namespace muster::agent
