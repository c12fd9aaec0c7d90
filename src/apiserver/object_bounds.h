// apiserver/object_bounds.h - how much the objects of one namespace may be.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace muster::apiserver {

/// All objects are held in memory, and some times over by those who watch them: who may write into
/// a namespace must not take all of it. Events have bounds of their own.
struct ObjectBounds {
    std::size_t bytes_per_namespace = std::size_t{1} << 30;  // Of their text as it is stored.
};

/// How much the objects of each namespace are; those of no namespace are not counted.
class ObjectTotals {
public:
    /// Null bytes: it is not there.
    void count(std::string_view ns, const Bytes& before, const Bytes& after) {
        if (ns.empty()) return;
        auto at = bytes_.find(ns);
        if (at == bytes_.end()) at = bytes_.emplace(ns, 0).first;
        at->second += (after ? after->size() : 0) - (before ? before->size() : 0);
        if (at->second == 0) bytes_.erase(at);
    }
    std::size_t of(std::string_view ns) const {
        const auto at = bytes_.find(ns);
        return at == bytes_.end() ? 0 : at->second;
    }

private:
    std::map<std::string, std::size_t, std::less<>> bytes_;
};

}  // namespace muster::apiserver
