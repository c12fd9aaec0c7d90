// agent/uid_ranges.h - which users and groups of the machine the pods of a namespace run as.
// Without touching the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/value.h"

namespace muster::agent {

/// `count` ids that follow each other: as pods see them, and as the holder does.
struct IdExtent {
    std::int64_t inside = 0;
    std::int64_t outside = 0;
    std::int64_t count = 0;
    friend bool operator==(const IdExtent&, const IdExtent&) = default;
};

/// The users and groups of a pod's user namespace, as /proc/PID/uid_map and gid_map take them.
struct IdMap {
    std::vector<IdExtent> users;
    std::vector<IdExtent> groups;
    friend bool operator==(const IdMap&, const IdMap&) = default;

    bool empty() const { return users.empty(); }
};
/// An id of the pod as the holder sees it; -1 when the pod has no such id.
std::int64_t outside_of(const std::vector<IdExtent>& extents, std::int64_t inside);
/// The lines of /proc/PID/uid_map.
std::string map_text(const std::vector<IdExtent>& extents);
api::Value to_value(const IdMap& map);
IdMap id_map_of(const api::Value& value);

/// The ids that a pod names in its security contexts, with those that each pod has: 0 and 65534.
struct IdsWanted {
    std::set<std::int64_t> users;
    std::set<std::int64_t> groups;
};
IdsWanted ids_wanted(const api::Value& pod);
api::Value to_value(const IdsWanted& wanted);
IdsWanted ids_wanted_of(const api::Value& value);

/// The ids that one Muster may give to its pods.
struct IdSupply {
    enum class Kind {
        none,     // No id but Muster's own.
        ranges,   // A range of 65,536 for each namespace (root).
        singles,  // One short range for all: each id that a pod names is taken from it singly.
    };
    Kind kind = Kind::none;
    std::int64_t first_user = 0;
    std::int64_t first_group = 0;
    std::int64_t count = 0;  // Of ranges, or of ids.
};
/// Root's ranges: above those of useradd and of systemd-nspawn, below the ids that the kernel or
/// systemd treat as special.
IdSupply ranges_of_root();

/// Remembers what each namespace was given, so that its files stay its own. Invariant: no id of the
/// machine belongs to two namespaces.
class IdTable {
public:
    explicit IdTable(IdSupply supply) : supply_(supply) {}

    /// Takes over the ids given in an earlier life; `known` as to_value gave it for the same kind
    /// of supply.
    void restore(const api::Value& known);
    api::Value to_value() const;

    /// May range number N be used? (Another Muster may have it.)
    using MayTake = std::function<bool(std::int64_t range)>;

    /// The map for a pod of the namespace; what it wants anew is given to it. When all is given
    /// away, the namespace that was served longest ago and is not in `busy` loses its own. Throws
    /// Error when nothing is left, and when the pods of the namespace have named more ids than one
    /// namespace may have.
    IdMap map_for(const std::string& ns, const IdsWanted& wanted, const std::set<std::string>& busy,
                  const MayTake& may_take);

    const IdSupply& supply() const { return supply_; }

private:
    /// Ids that are mapped singly, from an id inside to its place in the supply or range.
    using Singles = std::map<std::int64_t, std::int64_t>;
    struct Given {
        std::int64_t range = -1;
        Singles users;
        Singles groups;
        std::int64_t served = 0;  // Larger: later.
    };

    void take_range(const std::string& ns, const std::set<std::string>& busy,
                    const MayTake& may_take);
    /// The first `count` places that no namespace has; fewer when there are not so many.
    std::vector<std::int64_t> free_singles(Singles Given::*which, std::size_t count) const;
    void take_singles(const std::string& ns, Singles Given::*which,
                      const std::set<std::int64_t>& ids, const std::set<std::string>& busy);
    void make_room(const std::string& ns, const IdsWanted& wanted);
    bool drop_oldest(const std::set<std::string>& busy);
    IdMap map_of_range(Given& given, const IdsWanted& wanted) const;

    IdSupply supply_;
    std::map<std::string, Given> given_;
    std::int64_t clock_ = 0;
};

}  // namespace muster::agent
