// net/relay.cpp - joins a responder with a client's stream, or two channels with each other.
#include "net/relay.h"

#include <utility>

namespace muster::net {
namespace {

/// What the other server agrees to speak goes through untouched, in both directions.
void relay_upgrade(Client& client, Target target, Request request,
                   const std::shared_ptr<Responder>& responder) {
    const auto agreed = [responder](const std::shared_ptr<Channel>& there, Response answer) {
        if (!there) return responder->respond(std::move(answer));
        const auto here = responder->upgrade_raw(std::move(answer));
        if (!here) {
            there->close();
            Response failed;
            failed.status = 0;
            failed.body = make_bytes("this connection cannot be upgraded");
            return responder->respond(std::move(failed));
        }
        // Each holds the other until one of them closes.
        there->read_no_faster_than(here->backlog());
        here->read_no_faster_than(there->backlog());
        there->on_closed([here] { here->close(); });
        here->on_closed([there] { there->close(); });
        there->on_message([here](std::string_view bytes) { here->send(std::string(bytes)); });
        here->on_message([there](std::string_view bytes) { there->send(std::string(bytes)); });
    };
    client.open_upgrade(std::move(target), std::move(request), agreed);
}

/// Let go of at home, where responders live, and not by whatever the client still holds.
struct Answer {
    std::shared_ptr<Responder> responder;
    bool begun = false;
};

}  // namespace

void relay(Client& client, Target target, Request request,
           const std::shared_ptr<Responder>& responder) {
    if (asks_for_upgrade(request))
        return relay_upgrade(client, std::move(target), std::move(request), responder);
    const auto answer = std::make_shared<Answer>(Answer{responder, false});
    Client::Stream stream;
    stream.on_head = [answer](Response head) {
        answer->begun = head.status != 0;
        if (answer->begun) return answer->responder->begin(std::move(head));
        answer->responder->respond(std::move(head));
    };
    stream.on_piece = [answer](std::string_view piece) {
        answer->responder->write(make_bytes(std::string(piece)));
    };
    // A responder that is let go of without `finish` shows the client that the end is missing.
    stream.on_broken = [answer](const std::string&) { answer->begun = false; };
    stream.on_closed = [answer] {
        const auto last = std::move(answer->responder);
        if (answer->begun) last->finish();
    };
    stream.onward = responder->backlog();
    const auto id = client.open(std::move(target), std::move(request), std::move(stream));
    responder->on_closed([cancel = client.canceller(id), answer] {
        cancel();
        answer->responder.reset();
    });
}

}  // namespace muster::net
