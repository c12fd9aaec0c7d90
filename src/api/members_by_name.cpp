// api/members_by_name.cpp - see members_by_name.h.
#include "api/members_by_name.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace muster::api {
namespace {

/// Up to this many, looking at each is quicker than keeping an order.
constexpr std::size_t few = 24;

void erase_places(Value::Object& members, std::vector<std::size_t> places) {
    if (places.empty()) return;
    std::sort(places.begin(), places.end());
    auto next = places.begin();
    std::size_t kept = *next;
    for (std::size_t i = kept; i < members.size(); ++i) {
        if (next != places.end() && *next == i) {
            ++next;
        } else {
            members[kept++] = std::move(members[i]);
        }
    }
    members.resize(kept);
}

}  // namespace

MemberIndex::MemberIndex(const Value& object) : members_(object.members()) {
    if (members_.size() <= few) return;
    in_order_.resize(members_.size());
    std::iota(in_order_.begin(), in_order_.end(), 0U);
    const auto less = [this](std::uint32_t a, std::uint32_t b) {
        return members_[a].key.view() < members_[b].key.view();
    };
    if (!std::is_sorted(in_order_.begin(), in_order_.end(), less))
        std::sort(in_order_.begin(), in_order_.end(), less);
}

const Value* MemberIndex::find(std::string_view name) const {
    if (in_order_.empty()) {
        for (const Value::Member& member : members_) {
            if (member.key == name) return &member.value;
        }
        return nullptr;
    }
    const auto found = std::lower_bound(in_order_.begin(), in_order_.end(), name,
                                        [this](std::uint32_t place, std::string_view wanted) {
                                            return members_[place].key.view() < wanted;
                                        });
    if (found == in_order_.end() || members_[*found].key.view() != name) return nullptr;
    return &members_[*found].value;
}

MemberTable::MemberTable(Value& object) : members_(object.mutable_members()) {}

MemberTable::~MemberTable() {
    erase_places(members_, std::move(gone_));
}

/// Once many, they are so to the end: then places hold until the table goes.
bool MemberTable::is_wide() {
    if (!places_.empty() || !gone_.empty()) return true;
    if (members_.size() <= few) return false;
    for (std::size_t i = 0; i < members_.size(); ++i)
        places_.emplace_hint(places_.end(), members_[i].key.view(), i);
    return true;
}

Value* MemberTable::find(std::string_view name) {
    if (is_wide()) {
        const auto found = places_.find(name);
        return found == places_.end() ? nullptr : &members_[found->second].value;
    }
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [&](const Value::Member& each) { return each.key == name; });
    return found == members_.end() ? nullptr : &found->value;
}

Value& MemberTable::at(std::string_view name) {
    if (Value* found = find(name)) return *found;
    const bool wide = is_wide();
    Value::Member& added = members_.emplace_back(Value::Member{name, Value()});
    if (wide) places_.emplace(added.key.view(), members_.size() - 1);
    return added.value;
}

void MemberTable::erase(std::string_view name) {
    if (is_wide()) {
        const auto found = places_.find(name);
        if (found == places_.end()) return;
        gone_.push_back(found->second);
        places_.erase(found);
        return;
    }
    std::erase_if(members_, [&](const Value::Member& each) { return each.key == name; });
}

}  // namespace muster::api
