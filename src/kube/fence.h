// kube/fence.h - a Transport through which writes go only while their sender leads.
#pragma once

#include <functional>
#include <memory>

#include "base/loop.h"
#include "kube/transport.h"

namespace muster::kube {

/// What a refused write is answered with, as if the server could not be reached.
net::Response not_sent();

/// Passes everything on but writes for which `may_act` says no: those fail here. Null: it never
/// says no. Lives on one loop; requests may outlive it.
class Fence final : public Transport {
public:
    /// `stopwatch`: a clock that only goes forward. Null: the loop's, which may jump.
    Fence(Transport& inner, Loop& loop, std::function<bool()> may_act,
          std::function<Duration()> stopwatch = nullptr);

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;

    /// For how long a write that got no answer, or that of a broken server, may still come true
    /// when none does so later than `late` after it was sent. Zero: all is known.
    Duration in_doubt(Duration late) const;

private:
    struct State;
    Transport& inner_;
    std::shared_ptr<State> state_;
};

}  // namespace muster::kube
