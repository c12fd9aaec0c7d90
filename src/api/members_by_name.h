// api/members_by_name.h - the members of one object by name, also where a client made very many.
//
// Value::find looks at one member after the other, which is quickest for the objects that there
// are. Who looks n names up in an object of n members uses these instead: otherwise a body of three
// megabytes holds the server for minutes. Names are kept in order and not hashed, since whoever
// chooses them could choose such as collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// Reads. The object must stay as it is meanwhile.
class MemberIndex {
public:
    explicit MemberIndex(const Value& object);

    /// Null pointer when absent.
    const Value* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }

private:
    const Value::Object& members_;
    std::vector<std::uint32_t> in_order_;  // Places in `members_`; none where these are few.
};

/// Changes, with what Value's functions of the same names do. What is erased goes with the table;
/// until then nobody else may change the object's members. What is found stays where it is only
/// until a member is added.
class MemberTable {
public:
    explicit MemberTable(Value& object);  // Requires: null or an object.
    ~MemberTable();
    MemberTable(const MemberTable&) = delete;
    MemberTable& operator=(const MemberTable&) = delete;

    Value* find(std::string_view name);
    Value& at(std::string_view name);
    void set(std::string_view name, Value value) { at(name) = std::move(value); }
    void erase(std::string_view name);

private:
    bool is_wide();

    Value::Object& members_;
    std::map<std::string_view, std::size_t> places_;  // Of all of them, once they are many.
    std::vector<std::size_t> gone_;                   // Places.
};

}  // namespace muster::api
