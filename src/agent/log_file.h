// agent/log_file.h - a container's log on disk: written by its pod's init, in parts of 10 MiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/descriptor.h"
#include "agent/log_format.h"
#include "base/time.h"

namespace muster::agent {

/// Writes one log. A full part becomes PATH.1, the one before it PATH.2; five parts are kept.
class LogFile {
public:
    enum class Stream { out, error };
    static constexpr std::int64_t kPartLimit = 10 << 20;
    static constexpr int kParts = 5;

    /// Throws Error.
    void open(const std::string& path);
    void take(Stream stream, std::string_view bytes, Time at);
    void finish(Time at);

private:
    void write(const std::string& lines);

    std::string path_;
    Descriptor fd_;
    std::int64_t size_ = 0;
    LineCutter out_{"stdout"};
    LineCutter error_{"stderr"};
};

}  // namespace muster::agent
