// agent/log_reader.h - a container's log, read from its oldest part on, a piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/descriptor.h"

namespace muster::agent {

/// Reads a log that its pod's init may be writing (see LogFile), through rotations. It holds one
/// open file and no text. Parts that are removed before they were read are missing.
class LogReader {
public:
    explicit LogReader(std::string path) : path_(std::move(path)) {}

    /// At most `limit` bytes; empty when nothing more is there by now.
    std::string read(std::size_t limit);

private:
    friend class TailSearch;

    std::string path_of(int part) const;
    /// Which part the open file is by now; none when it has been removed.
    std::optional<int> part_of_file() const;
    bool open_oldest();
    bool open_next();

    std::string path_;
    Descriptor file_;
};

/// Finds where the last whole lines of a log begin, a block at a time from its end.
class TailSearch {
public:
    TailSearch(const std::string& path, std::int64_t lines);

    /// Looks at one more block. True once the place is found.
    bool step();
    /// How many bytes are behind that place; what is written meanwhile is not among them.
    std::size_t behind() const { return behind_; }
    /// A reader at that place.
    LogReader reader() &&;

private:
    std::string path_;
    std::vector<Descriptor> parts_;  // Those that are not yet searched, newest last.
    std::int64_t end_ = 0;           // Of what is not yet searched in the last of them.
    std::int64_t lines_;             // So many more are wanted.
    std::size_t behind_ = 0;
    Descriptor found_;
};

/// Walks back over whole lines of a log file's content and takes them from `lines`. Gives where the
/// last of them begins once all are found and another one is before them.
std::optional<std::size_t> start_of_tail(std::string_view content, std::int64_t& lines);

}  // namespace muster::agent
