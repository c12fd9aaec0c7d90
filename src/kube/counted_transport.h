// kube/counted_transport.h - a Transport that counts what goes through it, so that an end can wait
// for the writes under way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/metrics.h"
#include "kube/transport.h"

namespace muster::kube {

/// Passes everything on to another one. Lives on one loop; requests may outlive it.
class CountedTransport final : public Transport {
public:
    /// Adds rest_client_requests_total, as every client of Kubernetes has it, when there are
    /// metrics.
    CountedTransport(Transport& inner, const std::shared_ptr<Metrics>& metrics);

    /// Counts requests in the metrics of another one; writes under way are its own.
    CountedTransport(Transport& inner, const CountedTransport& other);

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;

    /// Runs `done` as soon as no write is under way; at once when none is.
    void when_written(std::function<void()> done);

private:
    struct State;
    Transport& inner_;
    std::shared_ptr<State> state_;
};

}  // namespace muster::kube
