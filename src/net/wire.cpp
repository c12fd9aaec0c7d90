// net/wire.cpp - non-blocking reads and writes, handshakes, deadlines and closing.
#include "net/wire.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/verify.h"
#include "net/tls.h"

namespace muster::net {
namespace {

constexpr std::size_t piece_size = 16 << 10;  // One TLS record.
constexpr std::size_t pull_size = 64 << 10;
constexpr int reads_at_once = 32;       // Then others get their turn.
constexpr std::size_t much = 64 << 10;  // Of one look: then nothing is gained by gathering.
constexpr int looks_at_once = 16;       // After a while of little, before what comes is gathered.
constexpr auto send_patience = std::chrono::seconds(60);
constexpr auto linger_patience = std::chrono::seconds(3);
/// How soon a session that paused reading is asked whether it goes on.
constexpr Duration pause_length = milliseconds(5);

}  // namespace

Wire::Wire(AsioLoop& loop, int fd, TlsPtr tls, Peer peer, std::unique_ptr<Session> session,
           OnGone on_gone)
    : loop_(loop),
      fd_(fd),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      session_(std::move(session)),
      on_gone_(std::move(on_gone)),
      self_(std::make_shared<Wire*>(this)) {}

Wire::~Wire() {
    *self_ = nullptr;
    if (phase_ == Phase::closed) return;
    loop_.unwatch(watch_);
    ::close(fd_);
}

void Wire::start(Duration handshake_timeout) {
    interest_ = {.read = false, .write = true};
    watch_ = loop_.watch(fd_, interest_, [this](AsioLoop::Interest) { on_ready(); });
    set_deadline(handshake_timeout);
}

void Wire::gather(Duration span) {
    pace_.emplace(span, looks_at_once);
}

void Wire::on_ready() {
    switch (phase_) {
        case Phase::connecting:
            return connected();
        case Phase::handshake:
            return shake_hands();
        case Phase::open:
            // Sending first: it makes room, and a session may have paused reading until then.
            flush();
            if (phase_ == Phase::open && interest_.read) read();
            return;
        case Phase::lingering:
            return discard();
        case Phase::closed:
            return;
    }
}

void Wire::connected() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return close(std::strerror(error));
    phase_ = Phase::handshake;
    if (tls_) return shake_hands();
    opened();
}

void Wire::shake_hands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(tls_.get());
    if (result == 1) {
        if (SSL_is_server(tls_.get())) describe_peer(tls_.get(), peer_);
        protocol_ = chosen_protocol(tls_.get());
        return opened();
    }
    switch (SSL_get_error(tls_.get(), result)) {
        case SSL_ERROR_WANT_READ:
            return set_interest(true, false);
        case SSL_ERROR_WANT_WRITE:
            return set_interest(false, true);
        default:
            return close(handshake_problem(tls_.get()));
    }
}

void Wire::opened() {
    phase_ = Phase::open;
    set_deadline({});
    set_interest(true, false);
    busy_ = true;
    session_->opened(*this);
    busy_ = false;
    flush();
    // The handshake may have brought the first bytes along.
    if (phase_ == Phase::open && tls_) read();
}

void Wire::read() {
    char buffer[piece_size];
    std::size_t taken = 0;
    for (int i = 0; i < reads_at_once; ++i) {
        if (phase_ != Phase::open || !reads()) return;
        std::size_t got = 0;
        switch (receive(buffer, sizeof buffer, got)) {
            case Progress::blocked:
                if (taken > 0 && taken < much) rest();
                return;
            case Progress::ended:
                return close("the other end closed the connection");
            case Progress::failed:
                return close("the connection broke");
            case Progress::some:
                break;
        }
        taken += got;
        busy_ = true;
        session_->feed({buffer, got});
        busy_ = false;
        flush();
    }
    // TLS may hold bytes that the socket no longer announces.
    later(&Wire::read);
}

/// All that came has been read. Without a pause every little piece would be one more wake-up.
void Wire::rest() {
    const Duration pause =
        pace_ ? pace_->take(nanoseconds(Clock::now().time_since_epoch().count())) : Duration();
    if (pause.nanoseconds == 0) return;
    rests_ = true;
    set_interest(false, interest_.write);
    loop_.after(pause, [self = self_] {
        Wire* wire = *self;
        if (!wire) return;
        wire->rests_ = false;
        if (wire->phase_ == Phase::open) wire->flush();
    });
}

void Wire::flush() {
    if (busy_ || phase_ != Phase::open) return;
    if (out_sent_ < out_.size() && !session_->may_send_rest())
        return close("ended in the middle of sending");
    for (;;) {
        if (out_sent_ == out_.size()) {
            out_ = {};
            out_sent_ = 0;
            busy_ = true;
            session_->pull(out_, pull_size);
            busy_ = false;
            if (out_.empty()) break;
            send_deadline_ = Clock::now() + send_patience;
        }
        std::size_t sent = 0;
        const Progress progress = send(out_.data() + out_sent_, out_.size() - out_sent_, sent);
        if (progress == Progress::blocked) {
            if (send_deadline_ == Clock::time_point::max())
                send_deadline_ = Clock::now() + send_patience;
            if (!session_->wants_bytes()) ask_again();
            return set_interest(reads(), true);
        }
        if (progress != Progress::some) return close("the connection broke");
        out_sent_ += sent;
        send_deadline_ = Clock::now() + send_patience;
    }
    send_deadline_ = Clock::time_point::max();
    if (session_->finished()) return linger();
    const bool resumed = !interest_.read && reads();
    if (!session_->wants_bytes()) ask_again();
    set_interest(reads(), false);
    if (resumed && tls_) later(&Wire::read);
}

void Wire::ask_again() {
    if (std::exchange(asks_again_, true)) return;
    loop_.after(pause_length, [self = self_] {
        Wire* wire = *self;
        if (!wire) return;
        wire->asks_again_ = false;
        if (wire->phase_ == Phase::open) wire->flush();
    });
}

/// Closing a socket with unread bytes makes the kernel throw away what the other end has not read
/// yet, such as the answer that says why. So: end our direction, then read until it ends its.
void Wire::linger() {
    if (tls_) SSL_shutdown(tls_.get());
    shutdown(fd_, SHUT_WR);
    phase_ = Phase::lingering;
    deadline_ = Clock::now() + linger_patience;
    set_interest(true, false);
}

void Wire::discard() {
    char buffer[piece_size];
    for (int i = 0; i < reads_at_once; ++i) {
        const auto got = recv(fd_, buffer, sizeof buffer, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return close("closed");
    }
}

void Wire::close(const std::string& why) {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    loop_.unwatch(watch_);
    ::close(fd_);
    session_->closed(why);
    loop_.post([self = self_] {
        if (!*self) return;
        const OnGone call = std::move((*self)->on_gone_);  // It destroys the wire.
        call();
    });
}

void Wire::tick() {
    const auto now = Clock::now();
    if (phase_ == Phase::closed) return;
    if (now >= deadline_) {
        close(phase_ == Phase::open || phase_ == Phase::lingering ? "timed out"
                                                                  : "timed out while connecting");
    } else if (phase_ == Phase::open && now >= send_deadline_) {
        close("the other end takes nothing");
    } else if (phase_ == Phase::open && !interest_.read && session_->ends_with_other_end() &&
               other_end_closed()) {
        close("the other end closed the connection");
    } else if (phase_ == Phase::open) {
        session_->tick();
    }
}

/// Also behind bytes that are not read.
bool Wire::other_end_closed() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
    return info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_CLOSE;
}

void Wire::flush_soon() {
    if (flush_posted_ || phase_ != Phase::open) return;
    flush_posted_ = true;
    later(&Wire::flush);
}

void Wire::set_deadline(Duration span) {
    if (span.nanoseconds <= 0) {
        deadline_ = Clock::time_point::max();
    } else {
        deadline_ = Clock::now() + std::chrono::nanoseconds(span.nanoseconds);
    }
}

void Wire::set_interest(bool read, bool write) {
    if (interest_.read == read && interest_.write == write) return;
    interest_ = {.read = read, .write = write};
    loop_.change(watch_, interest_);
}

void Wire::later(void (Wire::*step)()) {
    loop_.post([self = self_, step] {
        Wire* wire = *self;
        if (!wire) return;
        if (step == &Wire::flush) wire->flush_posted_ = false;
        if (wire->phase_ == Phase::open) (wire->*step)();
    });
}

Wire::Progress Wire::receive(char* data, std::size_t size, std::size_t& got) {
    if (!tls_) {
        const auto result = recv(fd_, data, size, 0);
        if (result > 0) got = static_cast<std::size_t>(result);
        if (result > 0) return Progress::some;
        if (result == 0) return Progress::ended;
        return errno == EAGAIN || errno == EINTR ? Progress::blocked : Progress::failed;
    }
    ERR_clear_error();
    return judge(SSL_read_ex(tls_.get(), data, size, &got));
}

Wire::Progress Wire::send(const char* data, std::size_t size, std::size_t& sent) {
    if (!tls_) {
        const auto result = ::send(fd_, data, size, MSG_NOSIGNAL);
        if (result >= 0) sent = static_cast<std::size_t>(result);
        if (result >= 0) return Progress::some;
        return errno == EAGAIN || errno == EINTR ? Progress::blocked : Progress::failed;
    }
    ERR_clear_error();
    return judge(SSL_write_ex(tls_.get(), data, size, &sent));
}

Wire::Progress Wire::judge(int result) {
    if (result == 1) return Progress::some;
    switch (SSL_get_error(tls_.get(), result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return Progress::blocked;
        case SSL_ERROR_ZERO_RETURN:
            return Progress::ended;
        default:
            ERR_clear_error();
            return Progress::failed;
    }
}

}  // namespace muster::net
