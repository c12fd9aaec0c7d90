// net/rope.cpp - pieces in, bytes out.
#include "net/rope.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "net/gzip.h"

namespace muster::net {
namespace {

constexpr std::size_t shared_from = 1 << 10;
constexpr std::size_t piece_max = 64 << 10;

}  // namespace

void Rope::add(std::string_view text) {
    size_ += text.size();
    last_ += text;
    if (last_.size() >= piece_max) seal();
}

void Rope::add(const Bytes& bytes, std::size_t size) {
    if (size < shared_from) return add(std::string_view(*bytes).substr(0, size));
    seal();
    size_ += size;
    shared_size_ += size;
    pieces_.push_back({bytes, size});
}

void Rope::seal() {
    if (last_.empty()) return;
    const std::size_t size = last_.size();
    pieces_.push_back({make_bytes(std::exchange(last_, {})), size});
}

std::string Rope::text() const {
    std::string text;
    text.reserve(size_);
    for (const Piece& piece : pieces_)
        text.append(*piece.bytes, 0, piece.size);
    return text;
}

const Bytes& Rope::packed() const {
    std::call_once(packed_once_, [this] { packed_ = make_bytes(gzip(text())); });
    return packed_;
}

void Outgoing::add(Bytes bytes, std::shared_ptr<Flow> flow) {
    if (!bytes->empty()) items_.push_back({std::move(bytes), nullptr, 0, 0, std::move(flow)});
}

void Outgoing::add(RopePtr rope) {
    if (rope->size() > 0) items_.push_back({nullptr, std::move(rope), 0, 0, nullptr});
}

std::string_view Outgoing::next() const {
    const Item& item = items_.front();
    if (item.bytes) return std::string_view(*item.bytes).substr(item.sent);
    const Rope::Piece& piece = item.rope->pieces()[item.piece];
    return std::string_view(*piece.bytes).substr(item.sent, piece.size - item.sent);
}

void Outgoing::took(std::size_t bytes) {
    Item& item = items_.front();
    item.sent += bytes;
    if (item.flow) item.flow->took(bytes);
    if (item.bytes) {
        if (item.sent == item.bytes->size()) items_.pop_front();
    } else if (item.sent == item.rope->pieces()[item.piece].size) {
        item.sent = 0;
        if (++item.piece == item.rope->pieces().size()) items_.pop_front();
    }
}

std::size_t Outgoing::take(char* out, std::size_t most) {
    std::size_t filled = 0;
    while (filled < most && !items_.empty()) {
        const std::string_view bytes = next();
        const std::size_t step = std::min(most - filled, bytes.size());
        std::memcpy(out + filled, bytes.data(), step);
        filled += step;
        took(step);
    }
    return filled;
}

void Outgoing::append_to(std::string& out, std::size_t most) {
    while (most > 0 && !items_.empty()) {
        const std::string_view bytes = next();
        const std::size_t step = std::min(most, bytes.size());
        out.append(bytes.substr(0, step));
        most -= step;
        took(step);
    }
}

void Outgoing::clear() {
    for (const Item& item : items_) {
        if (item.flow) item.flow->took(item.bytes->size() - item.sent);
    }
    items_.clear();
}

}  // namespace muster::net
