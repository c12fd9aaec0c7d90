// agent/tunnel.cpp - see tunnel.h.
#include "agent/tunnel.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

namespace muster::agent {

namespace {
constexpr Duration kSlow = milliseconds(20);
constexpr std::size_t kReadAtOnce = 1 << 20;  // Then it is another connection's turn.
}  // namespace

void Tunnel::open(Network& network, const std::string& ip, int port) {
    name_ = ip + ":" + std::to_string(port);
    fd_.reset(network.dial(ip, port));
    if (!fd_) return end(std::strerror(errno));
    watching_ = true;
    watch_ = loop_.watch(fd_.get(), {.read = false, .write = true},
                         [weak = weak_from_this()](net::AsioLoop::Interest) {
                             if (const auto self = weak.lock()) self->ready();
                         });
}

void Tunnel::ready() {
    if (!connected_) {
        int fault = 0;
        socklen_t size = sizeof(fault);
        ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &fault, &size);
        if (fault != 0) return end("cannot connect to " + name_ + ": " + std::strerror(fault));
        connected_ = true;
    }
    flush();
    if (fd_) read();
    if (fd_) choose_interest();
}

void Tunnel::write(std::string_view bytes) {
    if (!fd_) return events_.taken(bytes.size());
    to_write_.add(bytes);
    if (!connected_) return;
    flush();
    if (fd_) choose_interest();
}

void Tunnel::end_input() {
    input_ended_ = true;
    if (fd_ && connected_) flush();
}

void Tunnel::flush() {
    while (!to_write_.empty()) {
        const ssize_t sent = ::send(fd_.get(), to_write_.next().data(), to_write_.size(),
                                    MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) return end("");
        to_write_.wrote(static_cast<std::size_t>(sent));
        events_.taken(static_cast<std::size_t>(sent));
    }
    if (input_ended_) ::shutdown(fd_.get(), SHUT_WR);
}

void Tunnel::read() {
    char piece[32 << 10];
    for (std::size_t taken = 0; fd_ && taken < kReadAtOnce;) {
        if (!events_.may_read()) {
            paused_ = true;
            loop_.after(kSlow, [weak = weak_from_this()] {
                const auto self = weak.lock();
                if (!self || !self->fd_) return;
                self->paused_ = false;
                self->ready();
            });
            return;
        }
        const ssize_t got = ::recv(fd_.get(), piece, sizeof(piece), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return end("");
        taken += static_cast<std::size_t>(got);
        events_.bytes({piece, static_cast<std::size_t>(got)});
    }
}

void Tunnel::choose_interest() {
    if (watching_) loop_.change(watch_, {.read = !paused_, .write = !to_write_.empty()});
}

void Tunnel::end(const std::string& problem) {
    stop_watching();
    fd_.reset();
    drop_input();
    if (const auto ended = std::exchange(events_.ended, nullptr)) ended(problem);
}

void Tunnel::close() {
    events_.ended = nullptr;
    stop_watching();
    fd_.reset();
    drop_input();
}

void Tunnel::drop_input() {
    if (const std::size_t left = to_write_.size(); left > 0) events_.taken(left);
    to_write_.clear();
}

void Tunnel::stop_watching() {
    if (watching_) loop_.unwatch(watch_);
    watching_ = false;
}

}  // namespace muster::agent
