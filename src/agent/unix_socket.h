// agent/unix_socket.h - messages with descriptors between Muster, the holder and the pods' inits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/descriptor.h"

namespace muster::agent {

/// One message of a SOCK_SEQPACKET socket.
struct Message {
    enum class Kind { message, none_now, closed };
    Kind kind = Kind::closed;
    std::string text;
    std::vector<Descriptor> descriptors;
};

/// Listens at directory/name, whatever the length of the path; replaces what a dead process left
/// there. Throws Error.
Descriptor listen_unix(const std::string& directory, const std::string& name);

/// Connects to directory/name; empty with errno when nobody listens. A listener that accepts nobody
/// makes a call wait, or not (EAGAIN).
enum class Patience { waits, does_not_wait };
Descriptor connect_unix(const std::string& directory, const std::string& name,
                        Patience patience = Patience::waits);

constexpr std::size_t kMessageLimit = 64 << 10;

/// Sends one message of at most kMessageLimit without waiting. `no` with errno when it is longer,
/// or the other end is gone.
enum class Passed { yes, not_now, no };
Passed pass_message(int fd, std::string_view text, const std::vector<int>& descriptors = {});

/// The same, waiting while the other end is slow: only between processes of Muster that do not
/// serve others meanwhile; see outbox.h for the others.
bool send_message(int fd, std::string_view text, const std::vector<int>& descriptors = {});

/// How much of what was sent the other end has not read.
std::size_t unread_bytes(int fd);

/// Receives one message; waits for it when the socket is blocking. One that is too long counts as
/// the end of the connection.
Message receive_message(int fd);

/// The lines in parts of which each fits into a message, with room for a word before them.
std::vector<std::vector<std::string>> in_messages(const std::vector<std::string>& lines);

/// Sets O_NONBLOCK.
void set_nonblocking(int fd);

}  // namespace muster::agent
