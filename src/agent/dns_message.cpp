// agent/dns_message.cpp - see dns_message.h.
#include "agent/dns_message.h"

#include <algorithm>

#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::size_t kHeader = 12;
constexpr std::uint16_t kTypeA = 1;
constexpr std::uint32_t kSecondsToLive = 5;
constexpr std::size_t kMostAddresses = 60;  // Fits the datagram that every client accepts.

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint16_t>((static_cast<unsigned char>(bytes[at]) << 8) |
                                      static_cast<unsigned char>(bytes[at + 1]));
}

void append_number(std::string& out, unsigned number) {
    out += static_cast<char>((number >> 8) & 0xff);
    out += static_cast<char>(number & 0xff);
}

}  // namespace

std::optional<DnsQuestion> parse_question(std::string_view datagram) {
    if (datagram.size() < kHeader) return std::nullopt;
    DnsQuestion question;
    question.id = number_at(datagram, 0);
    const std::uint16_t flags = number_at(datagram, 2);
    const bool is_query = (flags & 0x8000) == 0 && ((flags >> 11) & 0xf) == 0;
    if (!is_query || number_at(datagram, 4) != 1) return std::nullopt;
    question.recursion_desired = (flags & 0x0100) != 0;
    std::size_t at = kHeader;
    while (at < datagram.size() && datagram[at] != 0) {
        const auto length = static_cast<unsigned char>(datagram[at]);
        if (length > 63 || at + 1 + length > datagram.size()) return std::nullopt;
        if (!question.name.empty()) question.name += '.';
        question.name += datagram.substr(at + 1, length);
        if (question.name.size() > 255) return std::nullopt;
        at += 1 + static_cast<std::size_t>(length);
    }
    if (at + 5 > datagram.size()) return std::nullopt;
    question.type = number_at(datagram, at + 1);
    question.klass = number_at(datagram, at + 3);
    question.bytes = datagram.substr(kHeader, at + 5 - kHeader);
    return question;
}

std::string make_answer(const DnsQuestion& question, const NameAnswer& answer) {
    const bool found = answer.kind != NameAnswer::Kind::no_such_name;
    const std::size_t count = question.type == kTypeA && question.klass == 1
                                  ? std::min(answer.addresses.size(), kMostAddresses)
                                  : 0;
    std::string out;
    append_number(out, question.id);
    // An authoritative answer; recursion is said to be available, or resolvers look elsewhere.
    append_number(out, 0x8480U | (question.recursion_desired ? 0x0100U : 0U) | (found ? 0U : 3U));
    append_number(out, 1);
    append_number(out, static_cast<unsigned>(count));
    append_number(out, 0);
    append_number(out, 0);
    out += question.bytes;
    for (std::size_t i = 0; i < count; ++i) {
        append_number(out, 0xc000U | kHeader);  // The name of the question.
        append_number(out, kTypeA);
        append_number(out, 1);
        append_number(out, kSecondsToLive >> 16);
        append_number(out, kSecondsToLive & 0xffff);
        append_number(out, 4);
        for (const std::string_view part : split(answer.addresses[i], '.'))
            out += static_cast<char>(parse_integer(part).value_or(0));
    }
    return out;
}

}  // namespace muster::agent
