// net/relay.h - passes a request on to another server and its answer back, as they come.
#pragma once

#include <memory>

#include "net/client.h"
#include "net/http.h"

namespace muster::net {

/// Sends the request, upgrades and bodies that still come included, and answers with what comes
/// back; neither side is read faster than the other takes it. When nothing answers there, the
/// answer is status 0 with the reason. Called on the client's home, where the responder lives.
void relay(Client& client, Target target, Request request,
           const std::shared_ptr<Responder>& responder);

}  // namespace muster::net
