// net/wire.h - one socket with or without TLS, and the session that speaks on it; for .cpp files of
// net/.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/pace.h"
#include "net/asio_loop.h"
#include "net/openssl.h"
#include "net/session.h"

namespace muster::net {

/// Moves bytes between a socket and its session, on one loop. Owns the descriptor.
///
/// What is to be sent is pulled only when the socket takes it, so pieces stay shared until then.
class Wire final : public Outlet {
public:
    using OnGone = std::function<void()>;

    /// `tls` may be null. `on_gone` runs once, from the loop and never from inside a call, when the
    /// connection is closed; the wire may be destroyed there.
    Wire(AsioLoop& loop, int fd, TlsPtr tls, Peer peer, std::unique_ptr<Session> session,
         OnGone on_gone);
    ~Wire() override;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    /// Waits for a connect under way, shakes hands, then lets the session speak.
    void start(Duration handshake_timeout);

    /// From now on, as long as much comes in little pieces, it is read only this often: then one
    /// look takes many of them. The first pieces after a while are read at once.
    void gather(Duration span);

    /// Closes at once.
    void close(const std::string& why);

    /// Closes when the deadline has passed, or when nothing could be sent for a long time. Call
    /// about every second.
    void tick();

    Session& session() { return *session_; }

    void flush_soon() override;
    void set_deadline(Duration span) override;
    const Peer& peer() const override { return peer_; }
    const std::string& protocol() const override { return protocol_; }

private:
    enum class Phase { connecting, handshake, open, lingering, closed };
    enum class Progress { some, blocked, ended, failed };
    using Clock = std::chrono::steady_clock;

    void on_ready();
    void connected();
    void shake_hands();
    void opened();
    void read();
    void flush();
    void linger();
    void discard();
    void rest();
    bool reads() const { return !rests_ && session_->wants_bytes(); }
    void set_interest(bool read, bool write);
    void later(void (Wire::*step)());
    void ask_again();
    bool other_end_closed() const;
    Progress receive(char* data, std::size_t size, std::size_t& got);
    Progress send(const char* data, std::size_t size, std::size_t& sent);
    Progress judge(int result);

    AsioLoop& loop_;
    int fd_;
    TlsPtr tls_;
    Peer peer_;
    std::string protocol_;
    std::unique_ptr<Session> session_;
    OnGone on_gone_;
    std::shared_ptr<Wire*> self_;  // What posted tasks hold; null inside once the wire is gone.
    AsioLoop::WatchId watch_{};
    AsioLoop::Interest interest_;
    Phase phase_ = Phase::connecting;
    std::string out_;
    std::size_t out_sent_ = 0;
    bool flush_posted_ = false;
    bool asks_again_ = false;  // A look at a session that paused is under way.
    bool rests_ = false;       // What comes gathers in the socket.
    std::optional<Pace> pace_;
    bool busy_ = false;  // Inside the session; flushing waits until it returns.
    Clock::time_point deadline_ = Clock::time_point::max();
    Clock::time_point send_deadline_ = Clock::time_point::max();
};

}  // namespace muster::net
