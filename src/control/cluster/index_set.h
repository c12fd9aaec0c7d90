// control/cluster/index_set.h - sets of completion indexes as a Job's status writes them: "0,2-4".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace muster::control::cluster {

/// A set of indexes, held as runs without gaps: small also when a Job has many.
class IndexSet {
public:
    /// "0,2-4"; what cannot be read, and indexes from `end` on, are left out.
    static IndexSet parse(std::string_view text, std::int64_t end);

    void add(std::int64_t index);
    bool contains(std::int64_t index) const;
    std::int64_t size() const;
    /// How many indexes both have. The time is that of the runs, not of the indexes.
    std::int64_t shared_with(const IndexSet& other) const;
    std::string text() const;

private:
    void add_run(std::int64_t first, std::int64_t last);
    std::map<std::int64_t, std::int64_t> runs_;  // First -> last, disjoint, never adjacent.
};

}  // namespace muster::control::cluster
