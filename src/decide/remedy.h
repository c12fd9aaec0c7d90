// decide/remedy.h - the search for the smallest single change that would let a waiting workload
// start now. Only why.cpp includes this.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decide/why.h"
#include "decide/world.h"

namespace muster::decide {

/// What one pod of each pod set asks for, and how many pods there are, by the workload's shape.
struct Needs {
    std::map<std::string, Amount> of_one;  // The most of any pod set.
    std::map<std::string, Amount> of_all;
    std::int64_t pods = 0;
};
Needs needs_of(const World& world, WorkloadId id);

/// Tries single changes on copies of the state, in the order in which people would rather make
/// them. Of an amount it finds the least: less of it does not suffice.
class RemedySearch {
public:
    /// `explanation` has its reason and constraints.
    RemedySearch(const State& state, const Explanation& explanation, WorkloadId id, Time now);

    /// None when none of those tried helps.
    std::optional<Remedy> find();
    std::int64_t tried() const { return tried_; }

private:
    using Way = std::optional<Remedy> (RemedySearch::*)();

    std::optional<Remedy> needed_first();
    Remedy missing(Remedy::Kind kind) const;
    Remedy of_itself(Remedy::Kind kind) const;
    std::vector<Way> ways() const;
    std::optional<Remedy> raise_quota();
    std::optional<Remedy> raise_borrowing_limit();
    std::optional<Remedy> end_victim();
    std::optional<Remedy> end_head();
    std::optional<Remedy> end_holder();
    std::optional<Remedy> raise_priority();
    std::optional<Remedy> cover_resource();
    std::optional<Remedy> tolerate_taint();
    std::optional<Remedy> fit_flavor();
    std::optional<Remedy> label_namespace();
    std::optional<Remedy> open_gate();
    std::optional<Remedy> fewer_pods();
    std::optional<Remedy> ask_less();
    std::optional<Remedy> grow_node();
    std::optional<Remedy> grow_nodes_of_ledger();
    std::optional<Remedy> add_node();

    std::vector<Remedy> amounts_short(Remedy::Kind kind) const;
    std::vector<std::string> holders_by_size() const;
    std::optional<Remedy> least_of_itself(Remedy::Kind kind);
    std::optional<Remedy> end_one_of(const std::vector<std::string>& candidates);
    std::optional<Remedy> smallest(Remedy remedy, std::int64_t most);
    bool works(const Remedy& remedy);

    const State& state_;
    const World& world_;
    const Explanation& explanation_;
    const WaitReason& reason_;
    WorkloadId id_;
    Time now_;
    std::int64_t tried_ = 0;
};

}  // namespace muster::decide
