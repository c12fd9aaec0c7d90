// agent/pending_bytes.h - bytes that wait to be written, in order.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::agent {

/// What was written is dropped now and then, not at each step: that would move the rest each time.
class PendingBytes {
public:
    void add(std::string_view bytes) { bytes_ += bytes; }
    std::string_view next() const { return std::string_view(bytes_).substr(written_); }
    std::size_t size() const { return bytes_.size() - written_; }
    bool empty() const { return size() == 0; }
    void wrote(std::size_t bytes) {
        written_ += bytes;
        if (written_ * 2 < bytes_.size()) return;
        bytes_.erase(0, written_);
        written_ = 0;
    }
    void clear() {
        bytes_ = {};
        written_ = 0;
    }

private:
    std::string bytes_;
    std::size_t written_ = 0;
};

}  // namespace muster::agent
