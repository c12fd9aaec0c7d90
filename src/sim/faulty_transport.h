// sim/faulty_transport.h - a transport that loses, delays, doubts and cuts what passes through it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "kube/transport.h"
#include "sim/faults.h"

namespace muster::sim {

/// Wraps another transport. While `faults` says nothing it is transparent. Lives on the caller's
/// loop.
class FaultyTransport : public kube::Transport {
public:
    FaultyTransport(std::unique_ptr<kube::Transport> inner, Loop& loop, Random& random,
                    const Faults& faults)
        : inner_(std::move(inner)), loop_(loop), random_(random), faults_(faults) {}

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;

    /// The server has crashed and is back behind another transport: what was under way fails.
    void reconnect(std::unique_ptr<kube::Transport> inner);

    std::int64_t faults_made() const { return faults_made_; }

private:
    struct Watch {
        Stream stream;
        StreamId inner{};
        std::deque<std::string> held;  // Pieces that are late; what follows waits behind them.
        bool holding = false;
    };
    bool strikes(int per_mille);
    void take_piece(std::uint64_t id, std::string_view piece);
    void release(std::uint64_t id);
    OnResponse remember(OnResponse on_response);
    void end(std::uint64_t id);

    std::unique_ptr<kube::Transport> inner_;
    Loop& loop_;
    Random& random_;
    const Faults& faults_;
    std::map<std::uint64_t, Watch> watches_;
    std::map<std::uint64_t, OnResponse> waiting_;
    std::uint64_t last_ = 0;
    std::int64_t faults_made_ = 0;
};

}  // namespace muster::sim
