// agent/log_reader.cpp - see log_reader.h.
#include "agent/log_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/log_file.h"
#include "agent/log_format.h"
#include "base/error.h"

namespace muster::agent {

namespace {

constexpr std::size_t kSearchBlock = 1 << 20;
constexpr int kTries = 8;  // A rotation is some renames, and the next one is 10 MiB away.

Descriptor open_part(const std::string& path) {
    return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
}

/// 0 where it cannot be told.
std::int64_t size_of(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? status.st_size : 0;
}

/// At most `size` bytes from the file's own place on.
std::string read_some(int fd, std::size_t size) {
    std::string text(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t got = ::read(fd, text.data() + filled, size - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        filled += static_cast<std::size_t>(got);
    }
    text.resize(filled);
    return text;
}

}  // namespace

std::string LogReader::path_of(int part) const {
    return part == 0 ? path_ : path_ + "." + std::to_string(part);
}

std::optional<int> LogReader::part_of_file() const {
    struct stat open_one {
    }, named{};
    if (::fstat(file_.get(), &open_one) != 0) return std::nullopt;
    for (int part = 0; part < LogFile::kParts; ++part)
        if (::stat(path_of(part).c_str(), &named) == 0 && named.st_ino == open_one.st_ino &&
            named.st_dev == open_one.st_dev)
            return part;
    return std::nullopt;
}

bool LogReader::open_oldest() {
    for (int part = LogFile::kParts - 1; part >= 0; --part) {
        file_ = open_part(path_of(part));
        if (file_) return true;
    }
    return false;
}

bool LogReader::open_next() {
    for (int i = 0; i < kTries; ++i) {
        const auto part = part_of_file();
        if (!part) return open_oldest();
        if (*part == 0) return false;
        Descriptor next = open_part(path_of(*part - 1));
        // A rotation meanwhile gives the names to other files.
        if (!next || part_of_file() != part) continue;
        file_ = std::move(next);
        return true;
    }
    return false;
}

std::string LogReader::read(std::size_t limit) {
    if (!file_ && !open_oldest()) return {};
    for (;;) {
        // Asked first: all that was written to a part before it was rotated is read below.
        const bool is_newest = part_of_file() == 0;
        std::string text = read_some(file_.get(), limit);
        if (!text.empty() || is_newest || !open_next()) return text;
    }
}

TailSearch::TailSearch(const std::string& path, std::int64_t lines) : path_(path), lines_(lines) {
    LogReader reader(path);
    for (bool more = reader.open_oldest(); more; more = reader.open_next()) {
        Descriptor copy(::fcntl(reader.file_.get(), F_DUPFD_CLOEXEC, 0));
        if (!copy) throw Error(Reason::service_unavailable, "the server can open no more files");
        parts_.push_back(std::move(copy));
        if (parts_.size() == static_cast<std::size_t>(LogFile::kParts)) break;
    }
    if (parts_.empty()) return;
    end_ = size_of(parts_.back().get());
    if (lines_ > 0) return;
    ::lseek(parts_.back().get(), end_, SEEK_SET);
    found_ = std::move(parts_.back());
    parts_.clear();
}

bool TailSearch::step() {
    if (parts_.empty()) return true;
    const std::int64_t start = std::max<std::int64_t>(0, end_ - kSearchBlock);
    const int fd = parts_.back().get();
    ::lseek(fd, start, SEEK_SET);
    const std::string block = read_some(fd, static_cast<std::size_t>(end_ - start));
    // Whole entries only: the first may have begun in the block before, the last may not be over.
    const std::size_t first = start > 0 ? block.find('\n') + 1 : 0;
    const std::size_t end = block.rfind('\n') + 1;
    const std::string_view entries =
        std::string_view(block).substr(std::min(first, end), end - std::min(first, end));
    if (const auto tail = start_of_tail(entries, lines_)) {
        ::lseek(fd, start + static_cast<std::int64_t>(first + *tail), SEEK_SET);
        behind_ += static_cast<std::size_t>(end_ - start) - first - *tail;
        found_ = std::move(parts_.back());
        parts_.clear();
        return true;
    }
    const std::int64_t next = entries.empty() ? start : start + static_cast<std::int64_t>(first);
    behind_ += static_cast<std::size_t>(end_ - next);
    end_ = next;
    if (start > 0) return false;
    ::lseek(fd, 0, SEEK_SET);  // The log begins here when there is no older part.
    found_ = std::move(parts_.back());
    parts_.pop_back();
    if (!parts_.empty()) end_ = size_of(parts_.back().get());
    return parts_.empty();
}

LogReader TailSearch::reader() && {
    LogReader reader(path_);
    reader.file_ = std::move(found_);
    return reader;
}

std::optional<std::size_t> start_of_tail(std::string_view content, std::int64_t& lines) {
    std::size_t end = content.size();
    while (end > 0) {
        const std::size_t newline =
            end >= 2 ? content.rfind('\n', end - 2) : std::string_view::npos;
        const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
        const auto line = parse_log_line(content.substr(start, end - 1 - start));
        // A whole line ends with its last entry; those before it are partial.
        if (line && !line->partial && --lines < 0) return end;
        end = start;
    }
    return std::nullopt;
}

}  // namespace muster::agent
