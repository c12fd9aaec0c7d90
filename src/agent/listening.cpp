// agent/listening.cpp - see listening.h.
#include "agent/listening.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <arpa/inet.h>

#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::string_view kListen = "0A";

/// An IPv4 address as the table writes it: eight digits, the machine's own order of bytes.
std::string table_form(const std::string& ip) {
    in_addr address{};
    ::inet_pton(AF_INET, ip.c_str(), &address);
    char text[16];
    std::snprintf(text, sizeof(text), "%08X", static_cast<unsigned>(address.s_addr));
    return text;
}

}  // namespace

bool listens_on(std::string_view table, const std::string& ip, int port) {
    char port_text[8];
    std::snprintf(port_text, sizeof(port_text), "%04X", static_cast<unsigned>(port) & 0xffff);
    const std::string exact = table_form(ip);
    char mapped_mark[16];
    std::snprintf(mapped_mark, sizeof(mapped_mark), "%08X",
                  static_cast<unsigned>(htonl(0x0000ffffU)));
    const std::string mapped = std::string(16, '0') + mapped_mark + exact;
    for (const std::string_view line : split(table, '\n')) {
        // "  sl  local_address rem_address   st ..."
        std::string_view words[4];
        std::size_t count = 0;
        for (const std::string_view word : split(line, ' '))
            if (!word.empty() && count < 4) words[count++] = word;
        if (count < 4 || words[3] != kListen) continue;
        const auto place = split_first(words[1], ':');
        if (!place || place->after != port_text) continue;
        const std::string_view address = place->before;
        if (address.find_first_not_of('0') == std::string_view::npos) return true;
        if (address == exact || address == mapped) return true;
    }
    return false;
}

}  // namespace muster::agent
