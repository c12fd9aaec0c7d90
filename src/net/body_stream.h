// net/body_stream.h - a request's body that is still coming while its request is already handled.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

namespace muster::net {

/// Pieces of a body, in order. Everything happens on the handler's loop.
///
/// Whoever reads says how much it has passed on; the connection pauses while too much is not.
class BodyStream {
public:
    struct Reader {
        std::function<void(std::string piece)> piece;
        std::function<void()> end;     // The body is whole.
        std::function<void()> broken;  // The client is gone before that.
    };

    /// `taken` tells the connection that so many bytes have been passed on.
    explicit BodyStream(std::function<void(std::size_t)> taken) : taken_(std::move(taken)) {}

    /// From here on pieces go to the reader, those that came before first.
    void read(Reader reader);
    void taken(std::size_t bytes) const { taken_(bytes); }

    // From the connection:
    void piece_came(std::string piece);
    void ended();
    void broke();

private:
    enum class State { coming, whole, broken };
    void tell_end();

    std::function<void(std::size_t)> taken_;
    Reader reader_;
    bool has_reader_ = false;
    State state_ = State::coming;
    std::deque<std::string> early_;  // Came before there was a reader.
};

}  // namespace muster::net
