// api/json_patch_between.cpp - compares two documents member by member, item by item.
#include "api/json_patch_between.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/members_by_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

std::string escaped(std::string_view key) {
    return replace_all(replace_all(key, "~", "~0"), "/", "~1");
}

/// Gathers operations; paths are those of the document at that point.
class Comparison {
public:
    void compare(const Value& before, const Value& after, const std::string& path) {
        if (before == after) return;
        if (before.is_object() && after.is_object()) return compare_members(before, after, path);
        if (before.is_array() && after.is_array()) return compare_items(before, after, path);
        add("replace", path, &after);
    }

    Value take() { return std::move(operations_); }

private:
    void compare_members(const Value& before, const Value& after, const std::string& path) {
        const MemberIndex old_members(before);
        const MemberIndex new_members(after);
        for (const Value::Member& member : before.members()) {
            const std::string here = path + "/" + escaped(member.key);
            const Value* now = new_members.find(member.key);
            if (now == nullptr) {
                add("remove", here, nullptr);
            } else {
                compare(member.value, *now, here);
            }
        }
        for (const Value::Member& member : after.members()) {
            if (!old_members.has(member.key))
                add("add", path + "/" + escaped(member.key), &member.value);
        }
    }

    void compare_items(const Value& before, const Value& after, const std::string& path) {
        const std::size_t common = std::min(before.size(), after.size());
        for (std::size_t i = 0; i < common; ++i)
            compare(before[i], after[i], path + "/" + std::to_string(i));
        for (std::size_t i = before.size(); i > common; --i)
            add("remove", path + "/" + std::to_string(i - 1), nullptr);
        for (std::size_t i = common; i < after.size(); ++i)
            add("add", path + "/-", &after[i]);
    }

    void add(const char* kind, const std::string& path, const Value* value) {
        Value operation = Value::object({{"op", kind}, {"path", path}});
        if (value != nullptr) operation.set("value", *value);
        operations_.push(std::move(operation));
    }

    Value operations_ = Value::array();
};

}  // namespace

Value json_patch_between(const Value& before, const Value& after) {
    Comparison comparison;
    comparison.compare(before, after, "");
    return comparison.take();
}

}  // namespace muster::api
