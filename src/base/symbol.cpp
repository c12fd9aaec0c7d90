// base/symbol.cpp - the table of kept names: open addressing, filled and never emptied, so that
// reading it takes no lock.
#include "base/symbol.h"

#include <array>

#include "base/hash.h"

namespace muster {

struct SymbolTable {
    using Entry = Symbol::Entry;

    // Half of the slots stay free, so that a search is short.
    static constexpr std::size_t slots = 2 * Symbol::most_kept;
    static_assert((slots & (slots - 1)) == 0);

    // Names may be chosen to stand in one another's way: they cost no more than this.
    static constexpr int tries_max = 64;

    // Constant from the start: names are made before main.
    static inline constinit std::array<std::atomic<Entry*>, slots> table{};
    static inline constinit std::atomic<std::size_t> count{0};

    static Entry* counted(std::string_view text, std::uint64_t hash) {
        return new Entry{std::string(text), hash, false, 0};
    }

    static Entry* find_or_keep(std::string_view text) {
        const std::uint64_t hash = stable_hash(text);
        // A quote is in no field's, kind's or namespace's name, but in the keys of field owners,
        // which name one object each.
        const bool is_name = text.find('"') == std::string_view::npos;
        if (text.size() > Symbol::longest_kept || !is_name) return counted(text, hash);
        std::size_t at = (hash ^ (hash >> 32)) % slots;
        for (int tries = 0; tries < tries_max; ++tries, at = (at + 1) % slots) {
            Entry* there = table[at].load(std::memory_order_acquire);
            if (there == nullptr) {
                // Threads that come at once may go over by their number; half the table is room.
                if (count.load(std::memory_order_relaxed) >= Symbol::most_kept)
                    return counted(text, hash);
                auto* made = new Entry{std::string(text), hash, true, 0};
                if (table[at].compare_exchange_strong(there, made, std::memory_order_acq_rel)) {
                    count.fetch_add(1, std::memory_order_relaxed);
                    return made;
                }
                delete made;  // Another thread has taken the slot, perhaps with this very name.
            }
            if (there->hash == hash && there->text == text) return there;
        }
        return counted(text, hash);
    }
};

Symbol::Symbol(std::string_view text) : entry_(SymbolTable::find_or_keep(text)) {}

std::size_t Symbol::kept() {
    return SymbolTable::count.load(std::memory_order_relaxed);
}

}  // namespace muster
