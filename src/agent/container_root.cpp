// agent/container_root.cpp - see container_root.h.
#include "agent/container_root.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "agent/files.h"
#include "base/error.h"

// <sys/mount.h> and <linux/mount.h> cannot be included together in this C library.
extern "C" int mount(const char* source, const char* target, const char* type, unsigned long flags,
                     const void* data) noexcept;
extern "C" int umount2(const char* target, int flags) noexcept;

namespace muster::agent {

namespace {

constexpr const char* kOld = "/.machine";
constexpr const char* kStage = "/.stage";
constexpr unsigned long kDetach = 2;  // MNT_DETACH

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

std::string old(const std::string& path) {
    return kOld + path;
}

void mount_tmpfs(const std::string& target, const char* options) {
    if (::mount("tmpfs", target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
        fail("cannot mount a memory file system on " + target);
}

enum class Depth { one, all };

void set_read_only(int directory, const char* path, Depth depth) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
    const unsigned flags = AT_EMPTY_PATH | (depth == Depth::all ? AT_RECURSIVE : 0);
    if (::syscall(SYS_mount_setattr, directory, path, flags, &attributes, sizeof(attributes)) == 0)
        return;
    fail(std::string("cannot make ") + path + " read-only (Linux 5.12 or newer is needed)");
}

void bind_mount(const std::string& source, const std::string& target) {
    if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
        fail("cannot show " + source + " at " + target);
}

void make_file(const std::string& path) {
    const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!fd) fail("cannot make " + path);
}

void make_directory(const std::string& path, mode_t mode = 0755) {
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) fail("cannot make " + path);
}

std::optional<struct stat> status_of(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
    return status;
}

std::string link_of(const std::string& path) {
    char text[4096];
    const ssize_t got = ::readlink(path.c_str(), text, sizeof(text));
    if (got < 0) fail("cannot read the link " + path);
    return {text, static_cast<std::size_t>(got)};
}

std::vector<std::string> entries_of(const std::string& path) {
    std::vector<std::string> names;
    DIR* directory = ::opendir(path.c_str());
    if (!directory) fail("cannot list " + path);
    while (const dirent* entry = ::readdir(directory)) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
}

/// Makes `target`/name look like `source`/name: folders and files by binding, links as links.
void mirror_entry(const std::string& source, const std::string& target) {
    const auto status = status_of(source);
    if (!status) return;
    if (S_ISLNK(status->st_mode)) {
        if (::symlink(link_of(source).c_str(), target.c_str()) != 0) fail("cannot make " + target);
        return;
    }
    if (S_ISDIR(status->st_mode))
        make_directory(target);
    else
        make_file(target);
    bind_mount(source, target);
}

class RootMaker {
public:
    explicit RootMaker(const RootPlan& plan) : plan_(plan) {}

    void make() {
        pivot();
        show_machine();
        make_devices();
        make_writable_places();
        show_environments();
        for (const BindMount& mount : plan_.mounts)
            show(mount);
        if (!plan_.working_directory.empty()) place_for(plan_.working_directory, S_IFDIR);
        finish();
    }

private:
    void pivot();
    void show_machine();
    void make_devices();
    void make_writable_places();
    void show_environments();
    void show(const BindMount& mount);
    void hide(const std::string& path);
    void freeze(const std::string& directory);
    void finish();
    std::string place_for(const std::string& target, mode_t kind);
    void make_mirror(const std::string& directory);

    const RootPlan& plan_;
    std::vector<Descriptor> mirrors_;  // Read-only in the end.
    int staged_ = 0;
};

void RootMaker::pivot() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        fail("cannot make the container's mounts private");
    mount_tmpfs(plan_.mount_point, "mode=0755,size=16m");
    make_directory(plan_.mount_point + kOld, 0700);
    make_directory(plan_.mount_point + kStage, 0700);
    if (::chdir(plan_.mount_point.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", kOld + 1) != 0 ||
        ::chdir("/") != 0)
        fail("cannot change to the container's root");
}

void RootMaker::show_machine() {
    static constexpr std::array kOwn = {"proc", "dev", "tmp", "run", ".machine", ".stage"};
    for (const std::string& name : entries_of(kOld)) {
        if (std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end()) continue;
        const std::string target = "/" + name;
        mirror_entry(old(target), target);
        const auto status = status_of(target);
        if (status && !S_ISLNK(status->st_mode))
            set_read_only(AT_FDCWD, target.c_str(), Depth::all);
    }
    make_directory("/proc");
    if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        fail("cannot mount /proc");
}

void RootMaker::make_devices() {
    make_directory("/dev");
    mount_tmpfs("/dev", "mode=0755,size=64k");
    static constexpr std::array kUsual = {"null", "zero", "full", "random", "urandom", "tty"};
    for (const std::string& name : entries_of(old("/dev"))) {
        const bool wanted = std::find(kUsual.begin(), kUsual.end(), name) != kUsual.end() ||
                            name.starts_with("nvidia") || name == "dri" || name == "kfd" ||
                            name == "infiniband";
        if (wanted) mirror_entry(old("/dev/" + name), "/dev/" + name);
    }
    make_directory("/dev/pts");
    if (::mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,ptmxmode=0666,mode=0620") != 0)
        fail("cannot mount /dev/pts");
    for (const auto& [link, to] :
         {std::pair("/dev/ptmx", "pts/ptmx"), std::pair("/dev/fd", "/proc/self/fd"),
          std::pair("/dev/stdin", "/proc/self/fd/0"), std::pair("/dev/stdout", "/proc/self/fd/1"),
          std::pair("/dev/stderr", "/proc/self/fd/2")})
        if (::symlink(to, link) != 0) fail(std::string("cannot make ") + link);
    make_directory("/dev/shm", 01777);
    bind_mount(old(plan_.shared_memory), "/dev/shm");
}

void RootMaker::make_writable_places() {
    const auto own = [this](const std::string& name, const std::string& target, mode_t mode) {
        const std::string source = old(plan_.scratch) + "/" + name;
        make_directory(source, mode);
        ::chmod(source.c_str(), mode);
        const std::string place = place_for(target, S_IFDIR);
        bind_mount(source, place);
        if (plan_.read_only) freeze(place);
    };
    own("tmp", "/tmp", 01777);
    own("vartmp", "/var/tmp", 01777);
    make_directory("/run");
    mount_tmpfs("/run", "mode=0755,size=16m");
    make_directory("/run/lock", 01777);
    if (plan_.read_only) freeze("/run");
    if (!plan_.home.empty() && plan_.home != "/") {
        own("home", plan_.home, 0755);
        const std::string home = old(plan_.scratch) + "/home";
        if (plan_.owner != 0 &&
            ::chown(home.c_str(), static_cast<uid_t>(plan_.owner), static_cast<gid_t>(-1)) != 0)
            fail("cannot give the home folder to user " + std::to_string(plan_.owner));
    }
    for (const std::string& path : plan_.hidden) {
        if (status_of(path)) hide(path);
    }
}

/// Muster's own data is nobody's business in a pod.
void RootMaker::hide(const std::string& path) {
    mount_tmpfs(path, "mode=0555,size=4k");
    set_read_only(AT_FDCWD, path.c_str(), Depth::one);
}

/// Made read-only at the end, whatever is mounted over it until then.
void RootMaker::freeze(const std::string& directory) {
    mirrors_.emplace_back(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void RootMaker::show_environments() {
    for (const std::string& path : plan_.environments)
        if (!status_of(path)) show({path, path, true});
}

void RootMaker::show(const BindMount& mount) {
    struct stat status {};
    const std::string source = old(mount.source);
    if (::stat(source.c_str(), &status) != 0) fail("cannot mount " + mount.source);
    const std::string place = place_for(mount.target, S_ISDIR(status.st_mode) ? S_IFDIR : S_IFREG);
    bind_mount(source, place);
    for (const std::string& hidden : plan_.hidden) {
        const std::string above = mount.source.ends_with('/') ? mount.source : mount.source + "/";
        if (!hidden.starts_with(above)) continue;
        const std::string within = place + "/" + hidden.substr(above.size());
        if (status_of(within)) hide(within);
    }
    if (mount.read_only) set_read_only(AT_FDCWD, place.c_str(), Depth::all);
}

/// The path without links at which `target` can be mounted over; made when it is not there.
std::string RootMaker::place_for(const std::string& target, mode_t kind) {
    std::string done;
    std::string rest = target;
    int links = 0;
    while (!rest.empty()) {
        const std::size_t start = rest.find_first_not_of('/');
        if (start == std::string::npos) break;
        const std::size_t end = rest.find('/', start);
        const std::string name = rest.substr(start, end - start);
        rest = end == std::string::npos ? "" : rest.substr(end);
        if (name == ".") continue;
        if (name == "..") {
            done.erase(std::min(done.rfind('/'), done.size()));
            continue;
        }
        const std::string next = done + "/" + name;
        auto status = status_of(next);
        if (!status) {
            const bool file = kind == S_IFREG && rest.find_first_not_of('/') == std::string::npos;
            for (const bool first : {true, false}) {
                const int made = file ? ::open(next.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)
                                      : ::mkdir(next.c_str(), 0755);
                if (file && made >= 0) ::close(made);
                if (made >= 0) break;
                if (!first || (errno != EROFS && errno != EACCES)) fail("cannot make " + next);
                make_mirror(done.empty() ? "/" : done);
            }
            done = next;
        } else if (S_ISLNK(status->st_mode)) {
            if (++links > 40) throw Error(Reason::invalid, "too many links in " + target);
            const std::string link = link_of(next);
            rest = link + rest;
            if (link.starts_with('/'))
                done.clear();
            else
                rest = "/" + rest;
        } else {
            done = next;
        }
    }
    return done.empty() ? "/" : done;
}

/// Replaces a read-only folder by one with the same entries in which new ones can be made.
void RootMaker::make_mirror(const std::string& directory) {
    const std::string stage = std::string(kStage) + "/" + std::to_string(++staged_);
    make_directory(stage);
    mount_tmpfs(stage, "mode=0755,size=1m");
    for (const std::string& name : entries_of(directory))
        mirror_entry(directory + "/" + name, stage + "/" + name);
    if (::mount(stage.c_str(), directory.c_str(), nullptr, MS_MOVE, nullptr) != 0)
        fail("cannot open up " + directory);
    mirrors_.emplace_back(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void RootMaker::finish() {
    if (::umount2(kOld, kDetach) != 0) fail("cannot leave the machine's root");
    ::rmdir(kOld);
    for (const std::string& name : entries_of(kStage))
        ::rmdir((std::string(kStage) + "/" + name).c_str());
    ::rmdir(kStage);
    for (const Descriptor& mirror : mirrors_)
        set_read_only(mirror.get(), "", Depth::one);
    set_read_only(AT_FDCWD, "/", Depth::one);
}

api::Value texts(const std::vector<std::string>& list) {
    api::Value value = api::Value::array();
    for (const std::string& text : list)
        value.push(text);
    return value;
}

std::vector<std::string> texts_of(const api::Value& value) {
    std::vector<std::string> list;
    for (const api::Value& item : value.items())
        list.push_back(item.text());
    return list;
}

}  // namespace

api::Value to_value(const RootPlan& plan) {
    api::Value mounts = api::Value::array();
    for (const BindMount& mount : plan.mounts)
        mounts.push(api::Value::object(
            {{"source", mount.source}, {"target", mount.target}, {"readOnly", mount.read_only}}));
    return api::Value::object({{"mountPoint", plan.mount_point},
                               {"scratch", plan.scratch},
                               {"sharedMemory", plan.shared_memory},
                               {"home", plan.home},
                               {"workingDirectory", plan.working_directory},
                               {"readOnly", plan.read_only},
                               {"owner", plan.owner},
                               {"hidden", texts(plan.hidden)},
                               {"environments", texts(plan.environments)},
                               {"mounts", mounts}});
}

RootPlan root_plan_of(const api::Value& value) {
    RootPlan plan;
    plan.mount_point = value["mountPoint"].text();
    plan.scratch = value["scratch"].text();
    plan.shared_memory = value["sharedMemory"].text();
    plan.home = value["home"].text();
    plan.working_directory = value["workingDirectory"].text();
    plan.read_only = value["readOnly"].boolean_or(false);
    plan.owner = value["owner"].integer_or(0);
    plan.hidden = texts_of(value["hidden"]);
    plan.environments = texts_of(value["environments"]);
    for (const api::Value& mount : value["mounts"].items())
        plan.mounts.push_back(
            {mount["source"].text(), mount["target"].text(), mount["readOnly"].boolean_or(false)});
    return plan;
}

void enter_root(const RootPlan& plan) {
    RootMaker(plan).make();
}

}  // namespace muster::agent
