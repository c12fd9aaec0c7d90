// net/body_stream.cpp - keeps pieces until somebody reads them.
#include "net/body_stream.h"

#include <utility>

namespace muster::net {

void BodyStream::read(Reader reader) {
    reader_ = std::move(reader);
    has_reader_ = true;
    while (!early_.empty()) {
        std::string piece = std::move(early_.front());
        early_.pop_front();
        reader_.piece(std::move(piece));
    }
    tell_end();
}

void BodyStream::piece_came(std::string piece) {
    if (!has_reader_) {
        early_.push_back(std::move(piece));
    } else if (reader_.piece) {
        reader_.piece(std::move(piece));
    }
}

void BodyStream::ended() {
    if (state_ != State::coming) return;
    state_ = State::whole;
    tell_end();
}

void BodyStream::broke() {
    if (state_ != State::coming) return;
    state_ = State::broken;
    tell_end();
}

void BodyStream::tell_end() {
    if (!has_reader_ || state_ == State::coming) return;
    const Reader reader = std::exchange(reader_, {});  // It may hold what holds this.
    if (state_ == State::whole && reader.end) reader.end();
    if (state_ == State::broken && reader.broken) reader.broken();
}

}  // namespace muster::net
