// test/fuzz/http1.cpp - A connection that speaks HTTP/1.1, requests and WebSocket upgrades.
#include "test/fuzz/loop.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    feed_session(net::make_http1_session, input);
}

}  // namespace

Target http1_target() {
    return {
        "http1",
        {"GET /api/v1/pods?watch=1&labelSelector=a%3Db HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
         "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabcGET / "
         "HTTP/1.0\r\n\r\n",
         "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: "
         "v\r\n\r\n",
         "GET /longer HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
         "GET /abc HTTP/1.1\r\nHost: a\r\n folded\r\n\r\nGET /ab HTTP/1.1\r\nHost: x\r\n\r\n",
         "POST /ab HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890"
         "123456789GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
         "GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "
         "websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
         "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x81\x83\x01\x02\x03\x04`bb"},
        take};
}

}  // namespace muster::fuzz
