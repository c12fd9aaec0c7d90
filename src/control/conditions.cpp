// control/conditions.cpp - setting conditions, and differences as merge patches.
#include "control/conditions.h"

#include "api/members_by_name.h"

namespace muster::control {

bool set_condition(api::Value& conditions, const ConditionText& text, Time now) {
    for (api::Value& condition : conditions.mutable_items()) {
        if (condition["type"].text_or("") != text.type) continue;
        const bool turned = condition["status"].text_or("") != text.status;
        if (!turned && condition["reason"].text_or("") == text.reason &&
            condition["message"].text_or("") == text.message) {
            return false;
        }
        condition.set("status", text.status);
        condition.set("reason", text.reason);
        condition.set("message", text.message);
        if (turned) condition.set("lastTransitionTime", to_rfc3339(now));
        return true;
    }
    conditions.push(api::Value::object({{"type", text.type},
                                        {"status", text.status},
                                        {"lastTransitionTime", to_rfc3339(now)},
                                        {"reason", text.reason},
                                        {"message", text.message}}));
    return true;
}

const api::Value& find_condition(const api::Value& conditions, std::string_view type) {
    static const api::Value absent{};
    for (const api::Value& condition : conditions.items()) {
        if (condition["type"].text_or("") == type) return condition;
    }
    return absent;
}

const api::Value& condition_of(const api::Value& status, std::string_view type) {
    return find_condition(status["conditions"], type);
}

bool remove_condition(api::Value& conditions, std::string_view type) {
    return std::erase_if(conditions.mutable_items(), [&](const api::Value& condition) {
               return condition["type"].text_or("") == type;
           }) > 0;
}

api::Value merge_patch_between(const api::Value& before, const api::Value& after) {
    api::Value patch = api::Value::object();
    if (before.is_same(after)) return patch;
    const api::MemberIndex known(before);
    const api::MemberIndex kept(after);
    api::Value::Object& changes = patch.mutable_members();
    for (const auto& [key, value] : after.members()) {
        const api::Value* old = known.find(key);
        if (old == nullptr) {
            if (!value.is_null()) changes.push_back({key, value});
        } else if (old->is_object() && value.is_object()) {
            api::Value inner = merge_patch_between(*old, value);
            if (!inner.empty()) changes.push_back({key, std::move(inner)});
        } else if (!(*old == value)) {
            changes.push_back({key, value});
        }
    }
    for (const auto& [key, value] : before.members()) {
        if (!kept.has(key)) changes.push_back({key, nullptr});
    }
    return patch;
}

}  // namespace muster::control
