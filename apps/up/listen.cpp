// apps/up/listen.cpp - takes an address and its port apart.
#include "apps/up/listen.h"

#include "base/text.h"

namespace muster::up {

std::optional<Listen> parse_listen(std::string_view text) {
    Listen listen;
    std::string_view port = text;
    if (const auto halves = split_last(text, ':')) {
        listen.address = halves->before;
        port = halves->after;
    }
    if (listen.address.starts_with('[') && listen.address.ends_with(']'))
        listen.address = listen.address.substr(1, listen.address.size() - 2);
    const auto number = parse_integer(port);
    if (!number || *number < 0 || *number > 65535) return std::nullopt;
    listen.port = static_cast<int>(*number);
    return listen;
}

}  // namespace muster::up
