// api/shared_parts.cpp - a table of the parts that were seen, by hash; those that nobody else has
// any more leave it when it has doubled. Small texts: those seen last.
#include "api/shared_parts.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace muster::api {
namespace {

constexpr std::size_t few_parts = 1024;
// Bytes, about: of a smaller part the table's own entry would cost more than sharing saves.
constexpr std::size_t least_weight = 160;

// Texts that come again and again (a condition's type, reason and second) are small and few; those
// that come once (names, uids) must not fill a table. So each has one place; the last there stays.
constexpr std::size_t text_places = 4096;
constexpr std::size_t longest_text = 128;

/// What a value is, to find its equals, and about how many bytes it takes.
struct Print {
    std::uint64_t hash = 0;
    std::size_t weight = 0;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
    hash = (hash ^ more) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 29);
}

class Parts {
public:
    /// What an object is called and how it fares is its own; what that is made of need not be.
    void share_object(Value& object) {
        if (!object.is_object()) {
            share(object);
            return object.seal();
        }
        for (Value::Member& member : object.mutable_members()) {
            const bool own = member.key == metadata_ || member.key == status_;
            if (!own || !member.value.is_object()) {
                share(member.value);
                continue;
            }
            for (Value::Member& part : member.value.mutable_members())
                share(part.value);
            member.value.seal();
        }
        object.seal();
    }

    std::size_t size() const { return known_.size(); }

private:
    Print share(Value& value) {
        const auto type = static_cast<std::uint64_t>(value.type());
        Print print{mixed(0, type + 1), 0};
        const auto add = [&print](const Print& part) {
            print.hash = mixed(print.hash, part.hash);
            print.weight += part.weight;
        };
        if (value.is_string()) {
            print.hash = mixed(print.hash, stable_hash(value.as_string()));
            print.weight = 2 * sizeof(std::uint64_t) + value.as_string().size();
            find_text(value, print.hash);
        } else if (value.is_boolean()) {
            print.hash = mixed(print.hash, value.as_boolean() ? 1 : 0);
        } else if (value.is_integer()) {
            print.hash = mixed(print.hash, static_cast<std::uint64_t>(value.as_integer()));
        } else if (value.is_number()) {
            print.hash = mixed(print.hash, std::bit_cast<std::uint64_t>(value.as_real()));
        } else if (value.is_array() && !value.empty()) {
            for (Value& item : value.mutable_items())
                add(share(item));
            print.weight += value.size() * sizeof(Value);
            find_twin(value, print);
        } else if (value.is_object() && !value.empty()) {
            for (Value::Member& member : value.mutable_members()) {
                print.hash = mixed(print.hash, member.key.hash());
                add(share(member.value));
            }
            print.weight += value.size() * sizeof(Value::Member);
            find_twin(value, print);
        }
        return print;
    }

    void find_text(Value& value, std::uint64_t hash) {
        if (value.as_string().size() > longest_text) return;
        Value& last = texts_[hash % text_places];
        if (last == value)
            value = last;
        else
            last = value;
    }

    // One part for each hash: who makes up equal hashes only shares less.
    void find_twin(Value& value, const Print& print) {
        value.seal();
        if (print.weight < least_weight) return;
        if (known_.size() >= limit_) forget_unused();
        const auto [at, is_new] = known_.try_emplace(print.hash, value);
        if (!is_new && at->second == value) value = at->second;
    }

    // A part that only another unused one has is found unused when that is gone.
    void forget_unused() {
        const auto unused = [](const auto& entry) { return !entry.second.is_shared(); };
        while (std::erase_if(known_, unused) > 0) {
        }
        limit_ = std::max(few_parts, 2 * known_.size());
    }

    std::vector<Value> texts_ = std::vector<Value>(text_places);
    const Symbol metadata_{"metadata"};
    const Symbol status_{"status"};
    std::unordered_map<std::uint64_t, Value> known_;
    std::size_t limit_ = few_parts;
};

Parts& parts() {
    thread_local Parts of_this_thread;
    return of_this_thread;
}

}  // namespace

void share_parts(Value& value) {
    parts().share_object(value);
}

std::size_t known_parts() {
    return parts().size();
}

}  // namespace muster::api
