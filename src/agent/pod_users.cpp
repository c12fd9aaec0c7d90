// agent/pod_users.cpp - see pod_users.h.
#include "agent/pod_users.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "api/json.h"
#include "base/error.h"

namespace muster::agent {

namespace {

constexpr const char* kLockFolder = "/run/muster";
constexpr const char* kLockFile = "/run/muster/user-ranges";

Descriptor open_locks() {
    make_directories(kLockFolder);
    Descriptor file(::open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat status {};
    // Another's file could be locked, and so kept from us, by anybody.
    if (!file || ::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid())
        throw Error(Reason::internal_error,
                    std::string("cannot open ") + kLockFile +
                        ", where Musters agree on the users of their pods: " +
                        std::strerror(file ? EPERM : errno));
    return file;
}

}  // namespace

PodUserTable::PodUserTable(std::string directory, IdSupply supply)
    : file_(std::move(directory) + "/users.json"), table_(supply) {
    if (supply.kind == IdSupply::Kind::ranges) locks_ = open_locks();
    if (supply.kind == IdSupply::Kind::none) return;
    const auto text = read_file(file_);
    if (!text) return;
    const auto parsed = api::parse_json(*text);
    const auto* known = std::get_if<api::Parsed>(&parsed);
    if (!known)
        throw Error(Reason::internal_error,
                    file_ +
                        " cannot be read, which says whose users the pods of each namespace "
                        "are; move it away to start afresh: volumes of earlier pods then "
                        "belong to nobody");
    table_.restore(known->value);
}

bool PodUserTable::lock_range(std::int64_t range) {
    if (held_.contains(range)) return true;
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = range;
    wanted.l_len = 1;
    if (::fcntl(locks_.get(), F_OFD_SETLK, &wanted) != 0) return false;
    held_.insert(range);
    return true;
}

IdMap PodUserTable::map_for(const std::string& ns, const IdsWanted& wanted,
                            const std::set<std::string>& busy) {
    const IdMap map =
        table_.map_for(ns, wanted, busy, [this](std::int64_t range) { return lock_range(range); });
    const std::string now = api::to_json(table_.to_value());
    // The ids of a namespace are on the disk before a file belongs to them.
    if (now != written_ && !map.empty()) {
        replace_file_durably(file_, now, 0600);
        written_ = now;
    }
    return map;
}

}  // namespace muster::agent
