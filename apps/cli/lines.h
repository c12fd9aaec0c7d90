// apps/cli/lines.h - whole lines out of pieces of a stream.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::cli {

/// Keeps what came after the last line end.
class Lines {
public:
    void add(std::string_view piece) { held_ += piece; }

    /// The next whole line without its end.
    std::optional<std::string> next() {
        const std::size_t end = held_.find('\n');
        if (end == std::string::npos) return std::nullopt;
        std::string line = held_.substr(0, end);
        held_.erase(0, end + 1);
        return line;
    }

private:
    std::string held_;
};

}  // namespace muster::cli
