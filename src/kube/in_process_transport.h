// kube/in_process_transport.h - requests to an API server in this program: values over two loops,
// no sockets.
#pragma once

#include <memory>
#include <string>

#include "base/loop.h"
#include "kube/transport.h"
#include "net/http.h"

namespace muster::kube {

/// Hands requests to a handler on the server's loop and brings answers back to the caller's loop.
/// Acts as "system:muster:<who>" in group system:masters. The handler must outlive it.
class InProcessTransport : public Transport {
public:
    InProcessTransport(net::Handler handler, Loop& server_loop, Loop& own_loop, std::string who);
    ~InProcessTransport() override;

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace muster::kube
