// api/owner.cpp - owner references, as they stand in metadata.
#include "api/owner.h"

#include <algorithm>

namespace muster::api {

const Value& controller_of(const Value& object) {
    static const Value none{};
    for (const Value& owner : object["metadata"]["ownerReferences"].items()) {
        if (owner["controller"].boolean_or(false)) return owner;
    }
    return none;
}

bool is_owned_by(const Value& object, std::string_view owner_uid) {
    const auto& owners = object["metadata"]["ownerReferences"].items();
    return std::any_of(owners.begin(), owners.end(),
                       [&](const Value& owner) { return owner["uid"].text_or("") == owner_uid; });
}

}  // namespace muster::api
