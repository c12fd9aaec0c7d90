// store/read_only_view.h - a store folder as it is now, judged and read without changing it, also
// while another process writes there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "store/answered_file.h"
#include "store/journal.h"

namespace muster::store {

/// What a folder can prove.
struct Verdict {
    enum class Kind {
        empty,          // There is no database.
        whole,          // Everything that was answered is there.
        loss,           // Something that was answered, or was ready to be, is not there.
        repeated,       // The database refuses its own logs, or ends early in them, though nothing
                        // is missing in them.
        proof_missing,  // The file that says what was answered is missing or damaged.
        unreadable,     // The system does not let a file be read, which may be sound.
        damaged,        // The database cannot be read.
        foreign,        // A database, but not Muster's, or of another format.
    };
    Kind kind = Kind::empty;
    std::int64_t readable = 0;  // Up to this revision nothing is missing.
    std::int64_t answered = 0;  // loss: up to this one something was answered.
    std::string sentence;       // Of all but empty and whole: what is wrong and what to do.
};

/// The system does not let a file be read, which may be sound. Nothing may be given up for it.
struct UnreadableError : Error {
    using Error::Error;
};

/// The records of a folder up to `verdict().readable`.
///
/// The state at a revision is what the tables hold, and over it the writes of the logs in order.
/// Each group of writes is one record in a log; it holds consecutive revisions and its newest one,
/// so the groups form a chain: a group that is damaged, cut out, or in a log that is gone shows as
/// a gap before a later one. What is missing at the very end shows only by the file ANSWERED.
class ReadOnlyView {
public:
    enum class Contents { judge_only, keep };

    /// Throws nothing for a fault of the folder: that is its verdict. While another process writes,
    /// files may go during a look; what was found missing then is looked for again.
    ReadOnlyView(const std::string& folder, Contents contents);
    ~ReadOnlyView();
    ReadOnlyView(const ReadOnlyView&) = delete;
    ReadOnlyView& operator=(const ReadOnlyView&) = delete;

    const Verdict& verdict() const;

    /// Calls `load` for each live key, in order. Throws Error when a table is damaged, and
    /// UnreadableError. Requires: contents were kept; the folder is whole, repeated, or there is a
    /// loss or a missing proof.
    void each(const Journal::Load& load) const;

    /// Whether tables lie in the folder that the database does not know: it has forgotten them, or
    /// a process ended before it could remove them.
    bool has_unknown_tables() const;

private:
    struct State;
    void look();

    std::unique_ptr<State> state_;
};

}  // namespace muster::store
