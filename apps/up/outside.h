// apps/up/outside.h - how controllers reach what runs in the pods' network: by service name, over
// sockets made inside.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "control/runner.h"
#include "kube/cache.h"
#include "net/client.h"

namespace muster::up {

/// Answers the runner's calls. Lives on the runner's loop.
class Outside {
public:
    using Seen = std::function<const kube::Cache&()>;
    Outside(net::AsioLoop& loop, std::function<int(const std::string& host, int port)> dial,
            Seen seen);

    /// Sends the call to the service that its URL names ("http://NAME.NAMESPACE.svc...").
    void ask(const control::Call& call, std::function<void(int status, std::string body)> done);

private:
    Seen seen_;
    net::Client client_;
};

/// The address of a service's host name ("head-svc.default.svc.cluster.local"): its ClusterIP, or
/// for a headless one the address of its first ready endpoint, or where endpoints are not seen of
/// its first ready pod. Empty when there is none. A host that is no service name is its own
/// address.
std::string service_address(const kube::Cache& seen, const std::string& host);

}  // namespace muster::up
