// store/answered_file.cpp - two slots written in turns, synced in the background.
#include "store/answered_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/data_folder.h"
#include "store/plain_file.h"

namespace muster::store {
namespace {

constexpr std::string_view magic = "MSTRANS1";
constexpr std::size_t slot_bytes = 24;
constexpr off_t slot_distance = 4096;
constexpr int slots = 2;

std::string slot_of(std::int64_t revision) {
    std::string slot(magic);
    slot.append(reinterpret_cast<const char*>(&revision), sizeof revision);
    const std::uint64_t hash = stable_hash(slot);
    slot.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    return slot;
}

std::string path_in(const std::string& folder) {
    return folder + "/ANSWERED";
}

}  // namespace

Answered read_answered(const std::string& folder) {
    const PlainFile file(path_in(folder), O_RDONLY);
    if (!file.is_open() && file.error() == ENOENT) return {};
    if (!file.is_open()) return {Answered::State::unreadable, 0, file.problem()};
    Answered answered{Answered::State::damaged, 0, ""};
    for (int i = 0; i < slots; ++i) {
        std::string slot(slot_bytes, '\0');
        const ssize_t got = pread(file.descriptor(), slot.data(), slot.size(), i * slot_distance);
        if (got < 0 && answered.state == Answered::State::damaged)
            answered = {Answered::State::unreadable, 0, std::strerror(errno)};
        if (got != static_cast<ssize_t>(slot_bytes)) continue;
        std::int64_t revision = 0;
        std::memcpy(&revision, slot.data() + magic.size(), sizeof revision);
        if (slot != slot_of(revision) || revision < 0) continue;
        answered.state = Answered::State::known;
        answered.revision = std::max(answered.revision, revision);
    }
    return answered;
}

std::string explain_unreadable(const Answered& answered) {
    return "the file ANSWERED cannot be read (" + answered.problem +
           "), and it says whether all answered writes are there; remove the cause, then try again";
}

AnsweredFile::AnsweredFile(const std::string& folder, std::int64_t revision, Failed failed)
    : failed_(std::move(failed)) {
    const std::string path = path_in(folder);
    const std::string half = path + ".new";
    unlink(half.c_str());
    file_ = open(half.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file_ < 0) refuse_folder(folder, explain_disk_fault(folder, errno));
    std::string whole(slots * slot_distance, '\0');
    for (int i = 0; i < slots; ++i)
        whole.replace(static_cast<std::size_t>(i * slot_distance), slot_bytes, slot_of(revision));
    const ssize_t put = pwrite(file_, whole.data(), whole.size(), 0);
    const bool is_whole = put == static_cast<ssize_t>(whole.size());
    if (!is_whole || fsync(file_) != 0 || rename(half.c_str(), path.c_str()) != 0 ||
        !sync_folder(folder)) {
        const int error = put >= 0 && !is_whole ? ENOSPC : errno;
        close(file_);
        refuse_folder(folder, explain_disk_fault(folder, error));
    }
    syncer_ = std::thread([this] { sync_in_background(); });
}

AnsweredFile::~AnsweredFile() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_one();
    syncer_.join();
    close(file_);
}

void AnsweredFile::write(std::int64_t revision) {
    const std::string slot = slot_of(revision);
    slot_ = (slot_ + 1) % slots;
    const ssize_t put = pwrite(file_, slot.data(), slot.size(), slot_ * slot_distance);
    if (put != static_cast<ssize_t>(slot.size())) failed_(put < 0 ? errno : ENOSPC);
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(unsynced_, true)) return;
    }
    changed_.notify_one();
}

void AnsweredFile::sync_in_background() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return unsynced_ || closing_; });
        if (!unsynced_) return;
        unsynced_ = false;
        lock.unlock();
        if (fdatasync(file_) != 0) failed_(errno);
        lock.lock();
        changed_.wait_for(lock, std::chrono::milliseconds(sync_span_milliseconds),
                          [this] { return closing_; });
    }
}

}  // namespace muster::store
