// net/rope.h - a long text in pieces that is made once and shared by all answers that carry it, and
// what an answer has still to send.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "net/ledger.h"

namespace muster::net {

/// Bytes handed to a session and not yet taken by its socket.
struct Flow {
    Flow() = default;
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;
    ~Flow() { took(waiting); }

    void add(std::size_t bytes) {
        waiting += bytes;
        if (account) account->add(bytes);
    }
    void took(std::size_t bytes) {
        waiting -= bytes;
        if (account) account->give_back(bytes);
    }
    /// Much waits, and others want the room.
    bool is_too_much() const { return waiting > 64 << 10 && account && account->is_over(); }

    std::atomic<std::size_t> waiting{0};
    /// Who the bytes are held for, when nothing else counts them. Set before anything is added.
    std::shared_ptr<Account> account;
};

/// The text. It does not change once it is shared.
class Rope {
public:
    /// The first `size` of some bytes, which may be anybody's.
    struct Piece {
        Bytes bytes;
        std::size_t size = 0;
    };

    void add(std::string_view text);
    /// Long bytes are shared, short ones copied: a piece costs as much as some ten characters.
    void add(const Bytes& bytes, std::size_t size);
    /// No more is added from here on.
    void seal();

    const std::vector<Piece>& pieces() const { return pieces_; }
    std::size_t size() const { return size_; }
    /// The part of `size` that is in pieces which their giver has as well.
    std::size_t shared_size() const { return shared_size_; }
    std::string text() const;
    /// All of it packed by gzip; made once, by the first who asks. Any thread.
    const Bytes& packed() const;

private:
    std::vector<Piece> pieces_;
    std::string last_;  // Copied text that is not a piece yet.
    std::size_t size_ = 0;
    std::size_t shared_size_ = 0;
    mutable std::once_flag packed_once_;
    mutable Bytes packed_;
};
using RopePtr = std::shared_ptr<const Rope>;

/// What is still to be sent, in order.
class Outgoing {
public:
    /// `flow`: who is told as it goes; may be null.
    void add(Bytes bytes, std::shared_ptr<Flow> flow = nullptr);
    void add(RopePtr rope);
    bool empty() const { return items_.empty(); }
    /// Copies the next bytes out, `most` at most; how many there were.
    std::size_t take(char* out, std::size_t most);
    void append_to(std::string& out, std::size_t most);
    /// Drops all.
    void clear();

private:
    struct Item {
        Bytes bytes;
        RopePtr rope;
        std::size_t piece = 0;
        std::size_t sent = 0;  // Of the bytes, or of that piece.
        std::shared_ptr<Flow> flow;
    };
    std::string_view next() const;
    void took(std::size_t bytes);

    std::deque<Item> items_;
};

}  // namespace muster::net
