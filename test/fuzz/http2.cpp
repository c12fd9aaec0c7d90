// test/fuzz/http2.cpp - A connection that speaks HTTP/2.
#include "test/fuzz/loop.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame: its nine bytes of header, and what they announce.
std::string frame(const char (&head)[10], const std::string& payload) {
    return std::string(head, 9) + payload;
}

void take(std::string_view input) {
    feed_session(net::make_http2_session, input);
}

}  // namespace

Target http2_target() {
    return {"http2",
            {preface + frame("\x00\x00\x00\x04\x00\x00\x00\x00\x00", "") +
                 frame("\x00\x00\x06\x01\x05\x00\x00\x00\x01", "\x82\x86\x84\x41\x01x"),
             preface +
                 frame("\x00\x00\x06\x04\x00\x00\x00\x00\x00", std::string("\0\4\0\0\xff\xff", 6)) +
                 frame("\x00\x00\x06\x01\x04\x00\x00\x00\x01", "\x83\x86\x84\x41\x01x") +
                 frame("\x00\x00\x03\x00\x01\x00\x00\x00\x01", "abc") +
                 frame("\x00\x00\x04\x03\x00\x00\x00\x00\x01", std::string("\0\0\0\x8", 4)),
             preface + frame("\x00\x00\x08\x06\x00\x00\x00\x00\x00", "12345678") +
                 frame("\x00\x00\x04\x08\x00\x00\x00\x00\x00", std::string("\0\0\1\0", 4))},
            take};
}

}  // namespace muster::fuzz
