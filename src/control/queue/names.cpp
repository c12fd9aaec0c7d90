// control/queue/names.cpp - the name of a workload.
#include "control/queue/names.h"

#include <cstdint>

#include "base/hash.h"
#include "base/text.h"

namespace muster::control::queue {

std::string workload_name(std::string_view kind, std::string_view group, std::string_view name,
                          std::string_view uid) {
    constexpr std::size_t length_max = 253;
    constexpr int hash_digits = 5;
    std::uint64_t hash = stable_hash(kind);
    for (const std::string_view part : {group, name, uid})
        hash = stable_hash(part, stable_hash("\n", hash));
    std::string text = to_lower(kind) + "-" + std::string(name);
    text.resize(std::min(text.size(), length_max - 1 - hash_digits));
    text += '-';
    for (int i = 0; i < hash_digits; ++i)
        text += "0123456789abcdef"[(hash >> (60 - 4 * i)) & 15U];
    return text;
}

}  // namespace muster::control::queue
