// agent/uid_ranges.cpp - see uid_ranges.h.
#include "agent/uid_ranges.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::int64_t kRange = 65'536;
constexpr std::int64_t kNobody = 65'534;
constexpr std::size_t kMostIdsOfPod = 600;
constexpr std::int64_t kMostId = 4'294'967'294;  // 2^32 - 1 stands for "no id".

// A range serves the ids below kSpare, and 65534, as they are. The ids between them stand for
// larger ones that a pod names, such as OpenShift's 1000650000.
constexpr std::int64_t kSpare = 65'280;
constexpr std::int64_t kSpares = kNobody - kSpare;

constexpr std::int64_t kFirstOfRoot = 0x70000000;
constexpr std::int64_t kEndOfRoot = 0x7FFD0000;

/// The most ids of an ordinary user that the pods of one namespace may have, so that no namespace
/// takes those of all. Few ids are not divided: then a namespace hardly has what one pod needs.
std::size_t most_singles(std::int64_t count) {
    constexpr std::int64_t kShares = 16;
    constexpr std::int64_t kEnough = 1000;
    return static_cast<std::size_t>(std::max(count / kShares, std::min(count, kEnough)));
}

bool is_direct(std::int64_t id) {
    return (id >= 0 && id < kSpare) || id == kNobody;
}

void add_wish(const Value& id, std::set<std::int64_t>& wanted) {
    if (id.is_integer() && id.as_integer() >= 0 && id.as_integer() <= kMostId)
        wanted.insert(id.as_integer());
}

Value to_value(const std::vector<IdExtent>& extents) {
    Value list = Value::array();
    for (const IdExtent& each : extents)
        list.push(Value::array({each.inside, each.outside, each.count}));
    return list;
}

std::vector<IdExtent> extents_of(const Value& list) {
    std::vector<IdExtent> extents;
    for (const Value& each : list.items()) {
        const auto& numbers = each.items();
        if (numbers.size() != 3) continue;
        extents.push_back(
            {numbers[0].integer_or(0), numbers[1].integer_or(0), numbers[2].integer_or(0)});
    }
    return extents;
}

Value to_value(const std::set<std::int64_t>& ids) {
    Value list = Value::array();
    for (const std::int64_t id : ids)
        list.push(id);
    return list;
}

template <typename Singles>
Value singles_value(const Singles& singles) {
    Value list = Value::array();
    for (const auto& [inside, place] : singles)
        list.push(Value::array({inside, place}));
    return list;
}

std::map<std::int64_t, std::int64_t> singles_of(const Value& list, std::int64_t count) {
    std::map<std::int64_t, std::int64_t> singles;
    for (const Value& each : list.items()) {
        const auto& pair = each.items();
        if (pair.size() != 2) continue;
        const std::int64_t place = pair[1].integer_or(-1);
        if (place >= 0 && place < count) singles[pair[0].integer_or(0)] = place;
    }
    return singles;
}

/// Runs that follow each other become one extent.
std::vector<IdExtent> extents_of_singles(const std::map<std::int64_t, std::int64_t>& singles,
                                         const std::set<std::int64_t>& wanted, std::int64_t first) {
    std::vector<IdExtent> extents;
    for (const std::int64_t inside : wanted) {
        const std::int64_t outside = first + singles.at(inside);
        const bool follows = !extents.empty() &&
                             extents.back().inside + extents.back().count == inside &&
                             extents.back().outside + extents.back().count == outside;
        if (follows)
            ++extents.back().count;
        else
            extents.push_back({inside, outside, 1});
    }
    return extents;
}

}  // namespace

std::int64_t outside_of(const std::vector<IdExtent>& extents, std::int64_t inside) {
    for (const IdExtent& each : extents)
        if (inside >= each.inside && inside < each.inside + each.count)
            return each.outside + (inside - each.inside);
    return -1;
}

std::string map_text(const std::vector<IdExtent>& extents) {
    std::string text;
    for (const IdExtent& each : extents)
        text += std::to_string(each.inside) + " " + std::to_string(each.outside) + " " +
                std::to_string(each.count) + "\n";
    return text;
}

Value to_value(const IdMap& map) {
    return Value::object({{"users", to_value(map.users)}, {"groups", to_value(map.groups)}});
}

IdMap id_map_of(const Value& value) {
    return {extents_of(value["users"]), extents_of(value["groups"])};
}

IdsWanted ids_wanted(const Value& pod) {
    IdsWanted wanted{{0, kNobody}, {0, kNobody}};
    const auto add = [&wanted](const Value& context) {
        add_wish(context["runAsUser"], wanted.users);
        add_wish(context["runAsGroup"], wanted.groups);
        add_wish(context["fsGroup"], wanted.groups);
        for (const Value& group : context["supplementalGroups"].items())
            add_wish(group, wanted.groups);
        // Images are not read: what must not be root becomes this one, see identity.cpp.
        if (context["runAsNonRoot"].boolean_or(false)) wanted.users.insert(1000);
    };
    const Value& spec = pod["spec"];
    add(spec["securityContext"]);
    for (const char* list : {"containers", "initContainers"})
        for (const Value& container : spec[list].items())
            add(container["securityContext"]);
    return wanted;
}

Value to_value(const IdsWanted& wanted) {
    return Value::object({{"users", to_value(wanted.users)}, {"groups", to_value(wanted.groups)}});
}

IdsWanted ids_wanted_of(const Value& value) {
    IdsWanted wanted{{0, kNobody}, {0, kNobody}};
    for (const Value& id : value["users"].items())
        add_wish(id, wanted.users);
    for (const Value& id : value["groups"].items())
        add_wish(id, wanted.groups);
    return wanted;
}

IdSupply ranges_of_root() {
    return {IdSupply::Kind::ranges, kFirstOfRoot, kFirstOfRoot,
            (kEndOfRoot - kFirstOfRoot) / kRange};
}

void IdTable::restore(const Value& known) {
    const bool ranges = supply_.kind == IdSupply::Kind::ranges;
    if (known["kind"].text() != (ranges ? "ranges" : "singles")) return;
    const std::int64_t singles = ranges ? kSpares : supply_.count;
    std::set<std::int64_t> taken;
    for (const auto& [ns, entry] : known["namespaces"].members()) {
        Given given;
        given.range = entry["range"].integer_or(-1);
        if (ranges &&
            (given.range < 0 || given.range >= supply_.count || !taken.insert(given.range).second))
            continue;
        given.users = singles_of(entry["users"], singles);
        given.groups = singles_of(entry["groups"], singles);
        given.served = entry["served"].integer_or(0);
        clock_ = std::max(clock_, given.served);
        given_[ns] = std::move(given);
    }
}

Value IdTable::to_value() const {
    Value namespaces = Value::object();
    for (const auto& [ns, given] : given_) {
        Value entry = Value::object({{"users", singles_value(given.users)},
                                     {"groups", singles_value(given.groups)},
                                     {"served", given.served}});
        if (given.range >= 0) entry.set("range", given.range);
        namespaces.set(ns, std::move(entry));
    }
    return Value::object({{"kind", supply_.kind == IdSupply::Kind::ranges ? "ranges" : "singles"},
                          {"namespaces", namespaces}});
}

/// Takes all from the namespace that was served longest ago. False when every one is busy.
bool IdTable::drop_oldest(const std::set<std::string>& busy) {
    auto oldest = given_.end();
    for (auto each = given_.begin(); each != given_.end(); ++each) {
        if (busy.contains(each->first)) continue;
        if (oldest == given_.end() || each->second.served < oldest->second.served) oldest = each;
    }
    if (oldest == given_.end()) return false;
    given_.erase(oldest);
    return true;
}

void IdTable::take_range(const std::string& ns, const std::set<std::string>& busy,
                         const MayTake& may_take) {
    std::set<std::int64_t> taken;
    const auto note_taken = [&] {
        taken.clear();
        for (const auto& [name, given] : given_)
            taken.insert(given.range);
    };
    note_taken();
    for (bool again = true; again; again = drop_oldest(busy), note_taken())
        for (std::int64_t range = 0; range < supply_.count; ++range)
            if (!taken.contains(range) && may_take(range)) {
                given_[ns].range = range;
                return;
            }
    throw Error(Reason::internal_error,
                "all " + std::to_string(supply_.count) +
                    " ranges of user ids are in use by pods of other namespaces or by other "
                    "Musters of this machine; end some of them");
}

std::vector<std::int64_t> IdTable::free_singles(Singles Given::*which, std::size_t count) const {
    std::vector<bool> taken(static_cast<std::size_t>(supply_.count));
    for (const auto& [ns, given] : given_)
        for (const auto& [inside, place] : given.*which)
            taken[static_cast<std::size_t>(place)] = true;
    std::vector<std::int64_t> free;
    for (std::size_t place = 0; place < taken.size() && free.size() < count; ++place)
        if (!taken[place]) free.push_back(static_cast<std::int64_t>(place));
    return free;
}

void IdTable::take_singles(const std::string& ns, Singles Given::*which,
                           const std::set<std::int64_t>& ids, const std::set<std::string>& busy) {
    Singles& own = given_[ns].*which;
    std::vector<std::int64_t> missing;
    for (const std::int64_t id : ids)
        if (!own.contains(id)) missing.push_back(id);
    if (missing.empty()) return;
    if (own.size() + missing.size() > most_singles(supply_.count))
        throw Error(Reason::internal_error,
                    "the pods of this namespace would have " +
                        std::to_string(own.size() + missing.size()) +
                        " different users or groups; a namespace may have " +
                        std::to_string(most_singles(supply_.count)) + " of the " +
                        std::to_string(supply_.count) + " that Muster's user has in /etc/subuid");
    for (;;) {
        const std::vector<std::int64_t> free = free_singles(which, missing.size());
        if (free.size() == missing.size()) {
            for (std::size_t i = 0; i < missing.size(); ++i)
                own[missing[i]] = free[i];
            return;
        }
        if (!drop_oldest(busy))
            throw Error(Reason::internal_error,
                        "the " + std::to_string(supply_.count) +
                            " ids of this user in /etc/subuid and /etc/subgid are in use by pods; "
                            "give it more: usermod --add-subuids FIRST-LAST --add-subgids "
                            "FIRST-LAST USER");
    }
}

/// A namespace without pods loses the ids that earlier ones had named when it would have too many.
void IdTable::make_room(const std::string& ns, const IdsWanted& wanted) {
    const auto known = given_.find(ns);
    if (known == given_.end()) return;
    const bool ranges = supply_.kind == IdSupply::Kind::ranges;
    const std::size_t most =
        ranges ? static_cast<std::size_t>(kSpares) : most_singles(supply_.count);
    const auto tidy = [&](Singles& own, const std::set<std::int64_t>& ids) {
        const auto missing = std::count_if(ids.begin(), ids.end(), [&](std::int64_t id) {
            return !own.contains(id) && !(ranges && is_direct(id));
        });
        if (own.size() + static_cast<std::size_t>(missing) > most) own.clear();
    };
    tidy(known->second.users, wanted.users);
    tidy(known->second.groups, wanted.groups);
}

IdMap IdTable::map_of_range(Given& given, const IdsWanted& wanted) const {
    const auto extents = [&](std::map<std::int64_t, std::int64_t>& singles,
                             const std::set<std::int64_t>& ids, std::int64_t first) {
        const std::int64_t base = first + given.range * kRange;
        std::vector<IdExtent> list{{0, base, kSpare}, {kNobody, base + kNobody, 1}};
        for (const std::int64_t id : ids) {
            if (is_direct(id)) continue;
            if (!singles.contains(id)) {
                const auto count = static_cast<std::int64_t>(singles.size());
                if (count >= kSpares)
                    throw Error(Reason::internal_error,
                                "the pods of this namespace have named " + std::to_string(count) +
                                    " different ids above " + std::to_string(kSpare - 1) +
                                    "; no more can be told apart");
                singles[id] = count;
            }
            list.push_back({id, base + kSpare + singles.at(id), 1});
        }
        return list;
    };
    return {extents(given.users, wanted.users, supply_.first_user),
            extents(given.groups, wanted.groups, supply_.first_group)};
}

IdMap IdTable::map_for(const std::string& ns, const IdsWanted& wanted,
                       const std::set<std::string>& busy, const MayTake& may_take) {
    if (supply_.kind == IdSupply::Kind::none) return {};
    // All namespaces share what a user without root may map.
    if (wanted.users.size() + wanted.groups.size() > kMostIdsOfPod)
        throw Error(Reason::invalid,
                    "the pod names more than " + std::to_string(kMostIdsOfPod) +
                        " different users and groups; name fewer supplementalGroups");
    if (!busy.contains(ns)) make_room(ns, wanted);
    std::set<std::string> kept = busy;
    kept.insert(ns);
    if (supply_.kind == IdSupply::Kind::ranges) {
        const auto known = given_.find(ns);
        // A range that another Muster took meanwhile is not this one's any more.
        if (known != given_.end() && !may_take(known->second.range)) given_.erase(known);
        if (!given_.contains(ns)) take_range(ns, kept, may_take);
        Given& given = given_[ns];
        given.served = ++clock_;
        return map_of_range(given, wanted);
    }
    take_singles(ns, &Given::users, wanted.users, kept);
    take_singles(ns, &Given::groups, wanted.groups, kept);
    Given& given = given_[ns];
    given.served = ++clock_;
    return {extents_of_singles(given.users, wanted.users, supply_.first_user),
            extents_of_singles(given.groups, wanted.groups, supply_.first_group)};
}

}  // namespace muster::agent
