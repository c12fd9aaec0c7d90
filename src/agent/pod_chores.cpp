// agent/pod_chores.cpp - see pod_chores.h.
#include "agent/pod_chores.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/beneath.h"
#include "agent/files.h"
#include "agent/removed_files.h"
#include "agent/steady_time.h"
#include "api/json.h"
#include "base/error.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::int64_t kFilesPerLook = 64;  // At the clock.
constexpr Duration kTellPeriod = milliseconds(200);
constexpr std::size_t kMostProblems = 4096;  // Characters of what could not be removed.

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

/// A path as the folder above and the name in it.
std::pair<std::string, std::string> last_step(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {".", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

Descriptor open_trusted(const std::string& path) {
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) fail("cannot open " + path);
    return folder;
}

mode_t mode_of(const Value& value, mode_t usual) {
    return static_cast<mode_t>(value["mode"].integer_or(usual)) & 07777;
}

/// The owner of a file of the pod: its root, and its group when it names one.
Ownership owner_of(const IdMap& ids, const Value& value) {
    const std::int64_t group = value["group"].integer_or(-1);
    return {outside_of(ids.users, 0), outside_of(ids.groups, group < 0 ? 0 : group)};
}

void give(int file, const Ownership& owner, mode_t mode, const std::string& path) {
    if (owner.user >= 0 &&
        ::fchown(file, static_cast<uid_t>(owner.user), static_cast<gid_t>(owner.group)) != 0)
        fail("cannot give " + path + " to the pod");
    if (::fchmod(file, mode) != 0) fail("cannot set the mode of " + path);
}

/// A folder that is there and belongs to somebody else is from before the pod had these users: an
/// older Muster made it, or the range of ids was moved. The pod could not read what is in it, and
/// ownership of files must not be passed on: a link in there may lead to a file of Muster's own.
void clear_of_others(int pod, const std::string& path, const IdMap& ids) {
    const Descriptor found =
        open_within(pod, path, Reach::beneath, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0) return;
    const std::int64_t owner = status.st_uid;
    const bool is_the_pods =
        std::any_of(ids.users.begin(), ids.users.end(), [owner](const IdExtent& extent) {
            return owner >= extent.outside && owner < extent.outside + extent.count;
        });
    if (ids.empty() || is_the_pods) return;
    const auto [above_path, name] = last_step(path);
    const Descriptor above =
        open_within(pod, above_path, Reach::beneath, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (above && remove_within(above.get(), name)) return;
    throw Error(Reason::internal_error,
                "the pod's folder " + path +
                    " belongs to another user and cannot be removed: where the range in "
                    "/etc/subuid was changed, change it back, or remove the folder as root");
}

void make_folder(int pod, const Value& folder, const IdMap& ids) {
    const std::string path = folder["path"].text();
    Place place;
    place.mode = mode_of(folder, 0755);
    place.owner = owner_of(ids, folder);
    clear_of_others(pod, path, ids);
    make_within(pod, path, Reach::beneath, place);
    const Descriptor made =
        open_within(pod, path, Reach::beneath, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!made) fail("cannot open " + path);
    give(made.get(), place.owner, place.mode, path);
}

/// The file is whole, and the pod's, before it has its name.
void move_file(int pod, int incoming, const Value& file, const IdMap& ids) {
    const std::string path = file["path"].text();
    const std::string from = file["from"].text();
    const auto [above_path, name] = last_step(path);
    if (name.empty() || name == "." || name == ".." || from.find('/') != std::string::npos)
        throw Error(Reason::invalid, "\"" + path + "\" is no name for a file");
    const Descriptor fresh(::openat(incoming, from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fresh) fail("cannot open what was written for " + path);
    give(fresh.get(), owner_of(ids, file), mode_of(file, 0644), path);
    Place above;
    above.owner = {outside_of(ids.users, 0), outside_of(ids.groups, 0)};
    const Descriptor folder = make_within(pod, above_path, Reach::beneath, above);
    if (::renameat(incoming, from.c_str(), folder.get(), name.c_str()) != 0)
        fail("cannot put " + path + " in place");
}

void remove_beneath(int top, const std::string& path, const Removed& removed) {
    const auto [above_path, name] = last_step(path);
    if (name.empty() || name == "." || name == "..")
        throw Error(Reason::invalid, "\"" + path + "\" is nothing that can be removed");
    const Descriptor above = open_within(top, above_path, Reach::beneath, O_RDONLY | O_DIRECTORY);
    if (!above && (errno == ENOENT || errno == ENOTDIR)) return;  // Nothing is there.
    if (!above) fail("cannot remove " + path);
    if (!remove_within(above.get(), name, removed)) fail("cannot remove all of " + path);
}

}  // namespace

void fill_pod(const std::string& directory, const IdMap& ids) {
    const auto parsed = api::parse_json(read_file(directory + "/incoming/list.json").value_or(""));
    const auto* list = std::get_if<api::Parsed>(&parsed);
    if (!list) throw Error(Reason::bad_request, "there is no list of the pod's files");
    const Descriptor pod = open_trusted(directory);
    const Descriptor incoming = open_trusted(directory + "/incoming");
    for (const Value& folder : list->value["folders"].items())
        make_folder(pod.get(), folder, ids);
    for (const Value& file : list->value["files"].items())
        move_file(pod.get(), incoming.get(), file, ids);
}

void remove_all_beneath(const std::string& root, const std::vector<std::string_view>& paths,
                        const Removed& removed) {
    const Descriptor top = open_trusted(root);
    std::string problems;
    for (const std::string_view path : paths) {
        try {
            remove_beneath(top.get(), std::string(path), removed);
        } catch (const Error& error) {
            problems += (problems.empty() ? "" : "; ") + std::string(error.what());
        }
    }
    if (!problems.empty()) throw Error(Reason::internal_error, problems.substr(0, kMostProblems));
}

void RemovalTeller::count(std::int64_t bytes) {
    bytes_ += bytes;
    if (++files_ % kFilesPerLook != 0) return;
    const Time now = steady_now();
    if (now < next_) return;
    next_ = now + kTellPeriod;
    tell();
}

void RemovalTeller::tell() const {
    tell_("going " + std::to_string(files_) + " " + std::to_string(bytes_));
}

Value pod_disk_use(const std::string& directory, pid_t init) {
    const Descriptor pod = open_trusted(directory);
    const auto names = [&pod](const char* folder) {
        std::vector<std::string> found;
        const Descriptor at =
            open_within(pod.get(), folder, Reach::beneath, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (at)
            list_folder(at.get(), 100'000,
                        [&found](const char* name) { found.emplace_back(name); });
        return found;
    };
    std::int64_t files = 0;
    const auto use = [&pod, &files](const std::string& folder, const std::string& name) {
        const Descriptor at =
            open_within(pod.get(), folder, Reach::beneath, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (!at) return std::int64_t{0};
        const DiskUse found = disk_use_within(at.get(), name);
        files += found.files;
        return found.bytes;
    };
    Value volumes = Value::object();
    for (const std::string& name : names("volumes"))
        volumes.set(name, use("volumes", name));
    Value containers = Value::object();
    for (const std::string& name : names("containers"))
        containers.set(name, use("containers", name) + use("logs", name));
    struct stat status {};
    DiskUse removed;
    if (init > 0 && ::fstat(pod.get(), &status) == 0)
        removed = removed_files_of(init, status.st_dev);
    // Its /etc/hosts and the like can be written.
    const std::int64_t own = use(".", "etc");
    return Value::object({{"volumes", volumes},
                          {"containers", containers},
                          {"other", removed.bytes + own},
                          {"files", files + removed.files}});
}

}  // namespace muster::agent
