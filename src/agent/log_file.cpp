// agent/log_file.cpp - see log_file.h.
#include "agent/log_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::agent {

void LogFile::open(const std::string& path) {
    path_ = path;
    fd_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!fd_)
        throw Error(Reason::internal_error,
                    "cannot open the log " + path + ": " + std::strerror(errno));
    struct stat status {};
    size_ = ::fstat(fd_.get(), &status) == 0 ? status.st_size : 0;
}

void LogFile::take(Stream stream, std::string_view bytes, Time at) {
    std::string lines;
    (stream == Stream::out ? out_ : error_).take(bytes, at, lines);
    write(lines);
}

void LogFile::finish(Time at) {
    std::string lines;
    out_.finish(at, lines);
    error_.finish(at, lines);
    write(lines);
}

void LogFile::write(const std::string& lines) {
    std::string_view rest = lines;
    while (!rest.empty() && fd_) {
        const ssize_t wrote = ::write(fd_.get(), rest.data(), rest.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return;  // The disk is full: the container lives on, its output is lost.
        rest.remove_prefix(static_cast<std::size_t>(wrote));
        size_ += wrote;
    }
    if (size_ < kPartLimit) return;
    for (int part = kParts - 1; part > 0; --part) {
        const std::string from = part == 1 ? path_ : path_ + "." + std::to_string(part - 1);
        ::rename(from.c_str(), (path_ + "." + std::to_string(part)).c_str());
    }
    fd_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    size_ = 0;
}

}  // namespace muster::agent
