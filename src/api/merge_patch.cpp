// api/merge_patch.cpp - JSON merge patch, RFC 7386.
#include "api/members_by_name.h"
#include "api/patch.h"

namespace muster::api {
namespace {

/// Beyond the RFC, as the API server: also within a new array, a null member means "none".
void discard_nulls(Value& value) {
    if (value.is_object()) {
        std::erase_if(value.mutable_members(),
                      [](const Value::Member& member) { return member.value.is_null(); });
        for (Value::Member& member : value.mutable_members())
            discard_nulls(member.value);
    } else if (value.is_array()) {
        for (Value& item : value.mutable_items())
            discard_nulls(item);
    }
}

void merge(Value& target, const Value& patch) {
    if (!patch.is_object()) {
        target = patch;
        discard_nulls(target);
        return;
    }
    if (!target.is_object()) target = Value::object();
    MemberTable members(target);
    for (const Value::Member& member : patch.members()) {
        if (member.value.is_null()) {
            members.erase(member.key);
        } else {
            merge(members.at(member.key), member.value);
        }
    }
}

}  // namespace

Patched merge_patch(Value target, const Value& patch) {
    if (!patch.is_object()) return PatchError{"a merge patch must be a JSON object"};
    merge(target, patch);
    return target;
}

}  // namespace muster::api
