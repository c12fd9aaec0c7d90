// agent/dns_message.h - questions and answers of the DNS protocol as bytes (RFC 1035).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/names.h"

namespace muster::agent {

/// The one question of a query.
struct DnsQuestion {
    std::uint16_t id = 0;
    bool recursion_desired = false;
    std::string name;        // "head.default.svc.cluster.local", without the final dot.
    std::uint16_t type = 0;  // 1: A, 28: AAAA
    std::uint16_t klass = 0;
    std::string bytes;  // The question section as it came; the answer repeats it.
};

/// Absent when the datagram is no query that can be answered.
std::optional<DnsQuestion> parse_question(std::string_view datagram);

/// The answer: addresses for A, no data for other types of a name that exists, else "no such name".
std::string make_answer(const DnsQuestion& question, const NameAnswer& answer);

}  // namespace muster::agent
