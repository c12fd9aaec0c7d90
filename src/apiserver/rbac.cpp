// apiserver/rbac.cpp - the index of roles and bindings, and the rules' matching.
#include "apiserver/rbac.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "apiserver/selector.h"

namespace muster::apiserver {
namespace {

using api::Value;

std::vector<std::string> texts_of(const Value& list) {
    std::vector<std::string> texts;
    for (const Value& item : list.items())
        texts.push_back(item.text());
    return texts;
}

Value to_list(const std::vector<std::string>& texts) {
    Value list = Value::array();
    for (const std::string& text : texts)
        list.push(text);
    return list;
}

bool holds(const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

bool holds_or_all(const std::vector<std::string>& list, std::string_view item) {
    return holds(list, "*") || holds(list, item);
}

bool resource_allowed(const Rule& rule, const Attributes& attributes) {
    std::string full = attributes.resource;
    if (!attributes.subresource.empty()) full += "/" + attributes.subresource;
    if (holds_or_all(rule.resources, full)) return true;
    return !attributes.subresource.empty() && holds(rule.resources, "*/" + attributes.subresource);
}

bool url_allowed(const Rule& rule, std::string_view path) {
    return std::any_of(rule.urls.begin(), rule.urls.end(), [&](const std::string& url) {
        if (url == "*" || url == path) return true;
        return !url.empty() && url.back() == '*' &&
               path.substr(0, url.size() - 1) == std::string_view(url).substr(0, url.size() - 1);
    });
}

std::string subject_text(const Value& subject, std::string_view ns) {
    const std::string kind = subject["kind"].text();
    const std::string name = subject["name"].text();
    if (kind == "Group") return "G:" + name;
    if (kind != "ServiceAccount") return "U:" + name;
    const std::string_view of = subject["namespace"].text_or(ns);
    return "U:system:serviceaccount:" + std::string(of) + ":" + name;
}

}  // namespace

std::vector<Rule> rules_of(const Value& role) {
    std::vector<Rule> rules;
    for (const Value& rule : role["rules"].items()) {
        rules.push_back({texts_of(rule["verbs"]), texts_of(rule["apiGroups"]),
                         texts_of(rule["resources"]), texts_of(rule["resourceNames"]),
                         texts_of(rule["nonResourceURLs"])});
    }
    return rules;
}

Value to_value(const Rule& rule) {
    Value value = Value::object({{"verbs", to_list(rule.verbs)}});
    if (!rule.groups.empty()) value.set("apiGroups", to_list(rule.groups));
    if (!rule.resources.empty()) value.set("resources", to_list(rule.resources));
    if (!rule.names.empty()) value.set("resourceNames", to_list(rule.names));
    if (!rule.urls.empty()) value.set("nonResourceURLs", to_list(rule.urls));
    return value;
}

std::string denial_text(const User& user, const Attributes& attributes) {
    std::string text = "User \"" + user.name + "\" cannot " + attributes.verb;
    if (!attributes.is_resource) return text + " path \"" + attributes.path + "\"";
    text += " resource \"" + attributes.resource;
    if (!attributes.subresource.empty()) text += "/" + attributes.subresource;
    text += "\" in API group \"" + attributes.group + "\"";
    if (attributes.ns.empty()) return text + " at the cluster scope";
    return text + " in the namespace \"" + attributes.ns + "\"";
}

bool rule_allows(const Rule& rule, const Attributes& attributes) {
    if (!holds_or_all(rule.verbs, attributes.verb)) return false;
    if (!attributes.is_resource) return url_allowed(rule, attributes.path);
    return holds_or_all(rule.groups, attributes.group) && resource_allowed(rule, attributes) &&
           (rule.names.empty() || holds(rule.names, attributes.name));
}

void Rbac::put(std::string_view plural, std::string_view ns, std::string_view name,
               const Value& object) {
    const Place place{std::string(ns), std::string(name)};
    if (plural == "roles") {
        roles_.erase(place);
        if (!object.is_null()) roles_[place] = rules_of(object);
    } else if (plural == "clusterroles") {
        cluster_roles_.erase(place.second);
        if (!object.is_null()) {
            ClusterRole& role = cluster_roles_[place.second];
            role.rules = rules_of(object);
            for (const auto& label : object["metadata"]["labels"].members()) {
                role.labels.emplace_back(label.key, label.value.text());
            }
            role.selectors = object["aggregationRule"]["clusterRoleSelectors"];
        }
        aggregate();
    } else if (plural == "clusterrolebindings") {
        put_binding(cluster_bindings_, place, object);
    } else if (plural == "rolebindings") {
        put_binding(bindings_[place.first], place, object);
    }
}

void Rbac::put_binding(Subjects& subjects, const Place& place, const Value& object) {
    for (auto entry = subjects.begin(); entry != subjects.end();) {
        entry = entry->second.first == place ? subjects.erase(entry) : std::next(entry);
    }
    const Binding binding{object["roleRef"]["kind"].text() == "ClusterRole",
                          object["roleRef"]["name"].text()};
    for (const Value& subject : object["subjects"].items()) {
        subjects.emplace(subject_text(subject, place.first), std::pair(place, binding));
    }
}

/// A role with an aggregation rule has the rules of the roles that it selects, and of those that
/// these select; what stands in it is what was gathered once.
void Rbac::aggregate() {
    effective_.clear();
    for (const auto& [name, role] : cluster_roles_) {
        std::vector<const ClusterRole*> joined{&role};
        for (std::size_t at = 0; at < joined.size(); ++at) {
            const ClusterRole& source = *joined[at];
            std::vector<Rule>& gathered = effective_[name];
            if (source.selectors.empty())
                gathered.insert(gathered.end(), source.rules.begin(), source.rules.end());
            for (const Value& selector : source.selectors.items()) {
                const auto parsed = LabelSelector::from_object(selector);
                for (const auto& [other, candidate] : cluster_roles_) {
                    const bool known =
                        std::find(joined.begin(), joined.end(), &candidate) != joined.end();
                    if (!known && parsed.matches(candidate.labels)) joined.push_back(&candidate);
                }
            }
        }
    }
}

const std::vector<Rule>* Rbac::find_rules(const Binding& binding, const std::string& ns) const {
    if (binding.cluster_role) {
        const auto found = effective_.find(binding.role);
        return found == effective_.end() ? nullptr : &found->second;
    }
    const auto found = roles_.find({ns, binding.role});
    return found == roles_.end() ? nullptr : &found->second;
}

/// Visits the rules of each role bound to the user, cluster-wide and in `ns`, until `visit` says
/// true.
template <typename Visit>
bool Rbac::visit_roles(const User& user, std::string_view ns, Visit visit) const {
    const auto visit_subject = [&](const Subjects& subjects, const std::string& subject) {
        const auto [begin, end] = subjects.equal_range(subject);
        for (auto entry = begin; entry != end; ++entry) {
            const auto& [place, binding] = entry->second;
            const std::vector<Rule>* rules = find_rules(binding, place.first);
            if (rules != nullptr && visit(*rules)) return true;
        }
        return false;
    };
    const auto local = bindings_.find(ns);
    const auto visit_both = [&](const std::string& subject) {
        if (visit_subject(cluster_bindings_, subject)) return true;
        return !ns.empty() && local != bindings_.end() && visit_subject(local->second, subject);
    };
    if (visit_both("U:" + user.name)) return true;
    return std::any_of(user.groups.begin(), user.groups.end(),
                       [&](const std::string& group) { return visit_both("G:" + group); });
}

bool Rbac::allows(const User& user, const Attributes& attributes) const {
    if (user.in_group("system:masters")) return true;
    return visit_roles(user, attributes.is_resource ? attributes.ns : std::string(),
                       [&](const std::vector<Rule>& rules) {
                           return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
                               return rule_allows(rule, attributes);
                           });
                       });
}

const std::vector<Rule>& all_rights() {
    static const std::vector<Rule> rules{{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
    return rules;
}

std::vector<const Rule*> Rbac::rules_for(const User& user, std::string_view ns) const {
    std::vector<const Rule*> found;
    std::set<const std::vector<Rule>*> met;
    const auto add = [&](const std::vector<Rule>& rules) {
        if (!met.insert(&rules).second) return false;
        for (const Rule& rule : rules)
            found.push_back(&rule);
        return false;
    };
    if (user.in_group("system:masters")) add(all_rights());
    visit_roles(user, ns, add);
    return found;
}

std::optional<std::vector<Rule>> Rbac::rules_of_ref(const Value& role_ref,
                                                    std::string_view ns) const {
    const Binding binding{role_ref["kind"].text() == "ClusterRole", role_ref["name"].text()};
    const std::vector<Rule>* rules = find_rules(binding, std::string(ns));
    if (rules == nullptr) return std::nullopt;
    return *rules;
}

}  // namespace muster::apiserver
