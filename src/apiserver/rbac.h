// apiserver/rbac.h - role-based access control: roles and bindings indexed in memory, and the
// question whether a user may do something.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/value.h"
#include "apiserver/user.h"

namespace muster::apiserver {

/// One PolicyRule.
struct Rule {
    std::vector<std::string> verbs;
    std::vector<std::string> groups;
    std::vector<std::string> resources;
    std::vector<std::string> names;
    std::vector<std::string> urls;
};

std::vector<Rule> rules_of(const api::Value& role);
/// What system:masters may: every verb on every resource and path.
const std::vector<Rule>& all_rights();
api::Value to_value(const Rule& rule);

/// What somebody wants to do.
struct Attributes {
    std::string verb;
    bool is_resource = true;
    std::string path;  // When not a resource.
    std::string group;
    std::string resource;
    std::string subresource;
    std::string ns;
    std::string name;
};

/// "User "x" cannot list resource "pods" in API group "" in the namespace "y"".
std::string denial_text(const User& user, const Attributes& attributes);

bool rule_allows(const Rule& rule, const Attributes& attributes);

/// The index. Told of every write to the four kinds; keeps no object.
class Rbac {
public:
    /// `plural` is roles, clusterroles, rolebindings or clusterrolebindings; a null object is gone.
    void put(std::string_view plural, std::string_view ns, std::string_view name,
             const api::Value& object);

    bool allows(const User& user, const Attributes& attributes) const;

    /// All rules that hold for the user in a namespace ("": cluster-wide ones only); those of a
    /// role once, however often it is bound. They stay where they are until the next `put`.
    std::vector<const Rule*> rules_for(const User& user, std::string_view ns) const;

    /// The rules of a role that a binding in `ns` names by {kind, name}; absent when there is none.
    std::optional<std::vector<Rule>> rules_of_ref(const api::Value& role_ref,
                                                  std::string_view ns) const;

private:
    struct ClusterRole {
        std::vector<Rule> rules;
        std::vector<std::pair<std::string, std::string>> labels;
        api::Value selectors;  // aggregationRule.clusterRoleSelectors, null when there are none.
    };
    struct Binding {
        bool cluster_role = false;
        std::string role;
    };
    using Place = std::pair<std::string, std::string>;  // Namespace and name.
    /// Subject ("U:name", "G:group") to what is bound to it.
    using Subjects = std::multimap<std::string, std::pair<Place, Binding>, std::less<>>;

    const std::vector<Rule>* find_rules(const Binding& binding, const std::string& ns) const;
    void aggregate();
    void put_binding(Subjects& subjects, const Place& place, const api::Value& object);
    template <typename Visit>
    bool visit_roles(const User& user, std::string_view ns, Visit visit) const;

    std::map<std::string, ClusterRole, std::less<>> cluster_roles_;
    std::map<std::string, std::vector<Rule>, std::less<>> effective_;  // With aggregated rules.
    std::map<Place, std::vector<Rule>> roles_;
    Subjects cluster_bindings_;
    std::map<std::string, Subjects, std::less<>> bindings_;  // By namespace.
};

}  // namespace muster::apiserver
