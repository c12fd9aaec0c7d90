// apiserver/user.h - who asks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::apiserver {

/// An authenticated (or anonymous) user, as rights are granted to.
struct User {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
    std::vector<std::pair<std::string, std::vector<std::string>>> extra;

    bool in_group(std::string_view group) const {
        return std::find(groups.begin(), groups.end(), group) != groups.end();
    }
    bool is_anonymous() const { return name == "system:anonymous"; }
};

}  // namespace muster::apiserver
