// sim/faulty_transport.h - a transport that loses, delays, doubles, reorders and cuts what passes
// through it.
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
///
/// What is late is on `network`, which outlives the caller's process: a request may be applied when
/// whoever sent it has crashed, and to the server that comes after the one it was sent to. An ended
/// stream may go on for a while beside its successor; that is more than a Transport may do, and
/// what follows a resource must bear it.
class FaultyTransport : public kube::Transport {
public:
    FaultyTransport(std::unique_ptr<kube::Transport> inner, Loop& loop, Loop& network,
                    Random& random, const Faults& faults)
        : inner_(std::move(inner)),
          loop_(loop),
          network_(network),
          random_(random),
          faults_(faults) {}

    void send(net::Request request, OnResponse on_response) override;
    StreamId open(net::Request request, Stream stream) override;
    void cancel(StreamId stream) override;

    /// The server has crashed and is back behind another transport: what was under way fails.
    void reconnect(std::unique_ptr<kube::Transport> inner);

    /// Whoever writes through this ends, right before or after one of its writes: nothing more
    /// passes from then on. `crash` is called in the middle of a task of that process.
    void on_crash(std::function<void()> crash) { crash_ = std::move(crash); }

    /// What was written through it, by writer (the User-Agent).
    struct Writes {
        std::int64_t sent = 0;
        std::int64_t cut = 0;  // A crash came while one was under way, or between it and the next.
    };
    const std::map<std::string, Writes>& writes() const { return writes_; }
    /// The process ends now: what is under way is cut.
    void count_cut();

    std::int64_t faults_made() const { return faults_made_; }

private:
    struct Watch {
        Stream stream;
        StreamId inner{};
        std::deque<std::string> held;  // Pieces that are late; what follows waits behind them.
        bool holding = false;
        bool lingers = false;  // Its end was told already.
    };
    bool strikes(int per_mille);
    Duration up_to(Duration most);
    void pass(net::Request request, OnResponse on_response);
    void pass_later(const net::Request& request, const OnResponse& on_response, Duration most);
    OnResponse maybe_late(OnResponse on_response);
    void break_watch(std::uint64_t id);
    bool crashes_at(const std::string& writer);
    void take_piece(std::uint64_t id, std::string_view piece);
    void release(std::uint64_t id);
    OnResponse remember(OnResponse on_response);
    void end(std::uint64_t id);

    std::unique_ptr<kube::Transport> inner_;
    Loop& loop_;
    Loop& network_;
    Random& random_;
    const Faults& faults_;
    std::map<std::uint64_t, Watch> watches_;
    std::map<std::uint64_t, OnResponse> waiting_;
    std::map<std::uint64_t, std::string> writers_;  // Of the waiting writes.
    std::map<std::string, Writes> writes_;
    std::function<void()> crash_;
    bool dead_ = false;
    std::uint64_t last_ = 0;
    std::int64_t faults_made_ = 0;
};

}  // namespace muster::sim
