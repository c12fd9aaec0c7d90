// store/answered_file.h - the file ANSWERED beside the database: the newest revision that was
// answered, so that its loss can be proved.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace muster::store {

/// What the file says.
struct Answered {
    enum class State { absent, damaged, unreadable, known };
    State state = State::absent;
    std::int64_t revision = 0;
    std::string problem;  // unreadable: what the system said, or that it is no file.
};

/// Never throws. A file that the system does not let be read is not damaged: it may be sound.
Answered read_answered(const std::string& folder);

/// Why a file that is unreadable stands in the way, and what to do.
std::string explain_unreadable(const Answered& answered);

/// Keeps the file.
///
/// The order is what it proves by: a revision is written here after the database has synced it, and
/// before anybody is answered. So the file is never ahead of a sound database, whatever ends the
/// process or the machine. A write reaches the kernel at once, which outlives a kill -9 of the
/// process; the disk gets it `sync_span` later, as a second sync for each commit would halve the
/// rate. After a power cut the file is behind by what was answered in that span.
///
/// 8192 bytes. Two slots, at 0 and 4096, written in turns: "MSTRANS1", the revision (8 bytes,
/// little endian), and the hash of both (stable_hash). The higher of the valid ones counts.
class AnsweredFile {
public:
    using Failed = std::function<void(int error)>;
    static constexpr int sync_span_milliseconds = 200;

    /// Makes the file anew, whole or not at all, with `revision` in it. `failed` is called, on any
    /// thread, when the disk refuses. Throws Error when the file cannot be made.
    AnsweredFile(const std::string& folder, std::int64_t revision, Failed failed);
    /// Syncs what was written.
    ~AnsweredFile();
    AnsweredFile(const AnsweredFile&) = delete;
    AnsweredFile& operator=(const AnsweredFile&) = delete;

    /// Before `revision` is answered. From one thread.
    void write(std::int64_t revision);

private:
    void sync_in_background();

    int file_ = -1;
    int slot_ = 0;
    Failed failed_;
    // Of the two flags: `write` is called on the writer's thread, and `syncer_` waits for it.
    std::mutex mutex_;
    std::condition_variable changed_;
    bool unsynced_ = false;
    bool closing_ = false;
    std::thread syncer_;
};

}  // namespace muster::store
