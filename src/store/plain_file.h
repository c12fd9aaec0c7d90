// store/plain_file.h - files that are opened only when they are files: a named pipe would wait for
// another program, a device may do anything.
#pragma once

#include <string>

#include <sys/types.h>

namespace muster::store {

/// An open file, closed at the end, or why it cannot be opened.
class PlainFile {
public:
    /// `flags` as of open(2); a new file is for its owner only. Links are followed unless
    /// O_NOFOLLOW is said.
    PlainFile(const std::string& path, int flags);
    ~PlainFile();
    PlainFile(const PlainFile&) = delete;
    PlainFile& operator=(const PlainFile&) = delete;

    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }
    /// Whose closing is the caller's.
    int release();
    /// Not open: the system's number; ENOENT when nothing is there, EINVAL when it is no file.
    int error() const { return error_; }
    /// Not open: "it is a named pipe, not a file", or the system's words.
    const std::string& problem() const { return problem_; }

private:
    bool is_plain(mode_t mode);

    int descriptor_ = -1;
    int error_ = 0;
    std::string problem_;
};

/// The first file of a store folder that the system does not let be read, or that is none, and
/// why: "the file 000012.log cannot be read (Input/output error)". Empty when there is none. The
/// logs and the lists of tables are read to their end, tables when `reads_tables`. Not of the file
/// ANSWERED: read_answered tells.
std::string find_unreadable(const std::string& folder, bool reads_tables);

/// What to do about it.
std::string explain_unreadable_file(const std::string& what);

}  // namespace muster::store
