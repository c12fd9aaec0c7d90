// agent/outbox.cpp - see outbox.h.
#include "agent/outbox.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>

#include "agent/unix_socket.h"

namespace muster::agent {

Outbox::Added Outbox::add(std::string text, const std::vector<int>& descriptors, Weight weight,
                          std::function<void()> refused) {
    if (text.size() > kMessageLimit) return Added::too_long;
    const bool crowded = waiting_.size() >= kMostAsked || bytes_ + text.size() > kMostAskedBytes;
    if (waiting_.size() >= kMost || (weight == Weight::asked && crowded)) return Added::full;
    Letter letter{std::move(text), {}, std::move(refused)};
    for (const int each : descriptors) {
        letter.descriptors.emplace_back(::fcntl(each, F_DUPFD_CLOEXEC, 3));
        if (!letter.descriptors.back()) return Added::full;  // No more descriptors are to be had.
    }
    bytes_ += letter.text.size();
    waiting_.push_back(std::move(letter));
    return Added::yes;
}

Outbox::Sent Outbox::send(int fd) {
    // What is sent now would hide that something was read.
    if (const std::size_t unread = unread_bytes(fd); unread < unread_) moved_ = true;
    const Sent sent = send_waiting(fd);
    unread_ = unread_bytes(fd);
    return sent;
}

Outbox::Sent Outbox::send_waiting(int fd) {
    while (!waiting_.empty()) {
        const Letter& first = waiting_.front();
        std::vector<int> descriptors;
        for (const Descriptor& each : first.descriptors)
            descriptors.push_back(each.get());
        const Passed passed = pass_message(fd, first.text, descriptors);
        if (passed == Passed::not_now) {
            crowded_ = true;
            return Sent::some;
        }
        if (passed == Passed::no && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN))
            return Sent::closed;
        if (std::exchange(crowded_, false)) moved_ = true;
        bytes_ -= first.text.size();
        const Letter gone = std::move(waiting_.front());
        waiting_.pop_front();
        if (passed == Passed::no && gone.refused) gone.refused();
    }
    return Sent::all;
}

Outbox::Look Outbox::look(std::size_t unread) {
    const bool idle = unread == 0 && empty();
    const bool moved = std::exchange(moved_, false) || unread < unread_;
    unread_ = unread;
    looks_ = idle || moved ? 0 : looks_ + 1;
    if (idle) return Look::idle;
    return looks_ >= kStuckLooks ? Look::stuck : Look::moving;
}

}  // namespace muster::agent
