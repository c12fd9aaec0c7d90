// apiserver/admit_rbac.cpp - nobody may give rights that they do not have.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/admit.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {
namespace {

using api::Value;

/// The user's rules, to be asked for one member of a list at a time: of those that have a verb,
/// which have this group, and so on. So a rule is held against them without each combination of its
/// lists being looked at, and `steps` bounds what is.
class OwnedRules {
public:
    explicit OwnedRules(const std::vector<const Rule*>& rules) {
        for (const Rule* rule : rules)
            rules_.push_back({as_set(rule->verbs), as_set(rule->groups), as_set(rule->resources),
                              as_set(rule->names), rule});
    }
    /// Throws StatusError when that takes too long to find out.
    bool cover(const Rule& asked) {
        Some all;
        for (const Owned& rule : rules_)
            all.push_back(&rule);
        const std::set<Some> by_verb = parts(
            {all}, asked.verbs, [](const Owned& rule, Text verb) { return has(rule.verbs, verb); });
        return cover_urls(by_verb, asked) && cover_resources(by_verb, asked);
    }

private:
    using Text = const std::string&;
    using Texts = std::set<std::string_view>;
    struct Owned {
        Texts verbs, groups, resources, names;
        const Rule* rule = nullptr;
    };
    using Some = std::vector<const Owned*>;

    static Texts as_set(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }
    static bool has(const Texts& owned, Text asked) {
        return owned.contains("*") || owned.contains(asked);
    }
    static bool has_resource(const Owned& rule, Text asked) {
        if (has(rule.resources, asked)) return true;
        const std::size_t slash = asked.find('/');
        return slash != std::string::npos && rule.resources.contains("*" + asked.substr(slash));
    }
    static bool has_url(const Owned& rule, Text asked) {
        const auto& urls = rule.rule->urls;
        return std::any_of(urls.begin(), urls.end(), [&](const std::string& url) {
            if (url == "*" || url == asked) return true;
            return !url.empty() && url.back() == '*' &&
                   asked.compare(0, url.size() - 1, url, 0, url.size() - 1) == 0;
        });
    }
    /// The name "*" is a name like any other.
    static bool has_name(const Owned& rule, Text asked) {
        return rule.names.empty() || (!asked.empty() && rule.names.contains(asked));
    }

    void step(std::size_t steps) {
        constexpr std::size_t steps_max = 5'000'000;
        steps_ += steps;
        if (steps_ <= steps_max) return;
        throw StatusError(Reason::forbidden,
                          "the rules are too many to be compared with those of the user: divide "
                          "them among several roles, or use fewer verbs, groups, resources and "
                          "names");
    }

    /// For each of the texts those of the rules that have it; members that the same rules have are
    /// one. It stops at the first that none has.
    template <typename Has>
    std::set<Some> parts(const std::set<Some>& from, const std::vector<std::string>& texts,
                         const Has& has_text) {
        std::set<Some> found;
        for (const Some& some : from) {
            for (const std::string& text : texts) {
                Some those;
                for (const Owned* rule : some) {
                    step(1);
                    if (has_text(*rule, text)) those.push_back(rule);
                }
                const bool none = those.empty();
                found.insert(std::move(those));
                if (none) return found;
            }
        }
        return found;
    }

    bool cover_urls(const std::set<Some>& by_verb, const Rule& asked) {
        const auto with_url = [this](const Owned& rule, Text url) {
            step(rule.rule->urls.size());
            return has_url(rule, url);
        };
        return !parts(by_verb, asked.urls, with_url).contains({});
    }

    bool cover_resources(const std::set<Some>& by_verb, const Rule& asked) {
        const auto with_group = [](const Owned& rule, Text group) {
            return has(rule.groups, group);
        };
        const auto by_group = parts(by_verb, asked.groups, with_group);
        const auto by_resource = parts(by_group, asked.resources, has_resource);
        const std::vector<std::string> any{""};
        return !parts(by_resource, asked.names.empty() ? any : asked.names, has_name).contains({});
    }

    std::vector<Owned> rules_;
    std::size_t steps_ = 0;
};

std::string list_text(const std::vector<std::string>& texts) {
    std::string text = "[";
    for (const std::string& each : texts)
        text += (text == "[" ? "\"" : ", \"") + each + "\"";
    return text + "]";
}

std::string rule_text(const Rule& rule) {
    if (!rule.urls.empty()) {
        return "{NonResourceURLs:" + list_text(rule.urls) + ", Verbs:" + list_text(rule.verbs) +
               "}";
    }
    std::string text =
        "{APIGroups:" + list_text(rule.groups) + ", Resources:" + list_text(rule.resources);
    if (!rule.names.empty()) text += ", ResourceNames:" + list_text(rule.names);
    return text + ", Verbs:" + list_text(rule.verbs) + "}";
}

/// Those of the rules that the user does not have whole, a line for each.
std::string missing_of(const Context& context, const User& user, std::string_view ns,
                       const std::vector<Rule>& rules) {
    OwnedRules owned(context.rbac.rules_for(user, ns));
    std::string missing;
    for (const Rule& rule : rules) {
        if (!owned.cover(rule)) missing += "\n" + rule_text(rule);
    }
    return missing;
}

StatusError refused(const api::Kind& kind, const Value& object, const std::string& why) {
    return forbidden(kind.resource(), object["metadata"]["name"].text_or(""), why);
}

void check_escalation(const Context& context, const User& user, const api::Kind& kind,
                      const Value& object, const std::vector<Rule>& rules) {
    const std::string missing =
        missing_of(context, user, object["metadata"]["namespace"].text_or(""), rules);
    if (missing.empty()) return;
    throw refused(kind, object,
                  "user \"" + user.name + "\" (groups=" + list_text(user.groups) +
                      ") is attempting to grant RBAC permissions not currently held:" + missing);
}

bool may(const Context& context, const User& user, const char* verb, const std::string& resource,
         const std::string& ns, const std::string& name) {
    Attributes attributes;
    attributes.verb = verb;
    attributes.group = "rbac.authorization.k8s.io";
    attributes.resource = resource;
    attributes.ns = ns;
    attributes.name = name;
    return context.rbac.allows(user, attributes);
}

bool aggregates(const Value& role) {
    return !role["aggregationRule"]["clusterRoleSelectors"].empty();
}

/// Without what the server itself keeps, and what the garbage collector writes.
Value without_care(Value object) {
    for (const char* field :
         {"ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"})
        object.at("metadata").erase(field);
    return object;
}

/// A role may be changed by whoever has all that it then gives, labels included: they say into
/// which others it is gathered.
void admit_role(const Context& context, const User& user, const api::Kind& kind,
                const Value& object, const Value& old) {
    if (may(context, user, "escalate", kind.plural, object["metadata"]["namespace"].text(),
            object["metadata"]["name"].text())) {
        return;
    }
    check_escalation(context, user, kind, object, rules_of(object));
    if (!aggregates(object) && !aggregates(old)) return;
    if (!missing_of(context, user, "", all_rights()).empty())
        throw refused(kind, object,
                      "must have cluster-admin privileges to use the aggregationRule");
}

/// What is bound must be there, and the user's own, unless the user may bind it.
void admit_binding(const Context& context, const User& user, const api::Kind& kind,
                   const Value& object) {
    const std::string ns = object["metadata"]["namespace"].text();
    const Value& ref = object["roleRef"];
    const std::string named = ref["kind"].text();
    if (named != "ClusterRole" && named != "Role") return;  // Validation will say so.
    const std::string of = named == "ClusterRole" ? "clusterroles" : "roles";
    const std::string name = ref["name"].text();
    if (may(context, user, "bind", of, ns, name)) return;
    const auto rules = context.rbac.rules_of_ref(ref, ns);
    if (!rules) throw not_found({kind.group, of}, name);
    check_escalation(context, user, kind, object, *rules);
}

}  // namespace

void admit_rbac(const Context& context, const Exchange& exchange, const api::Kind& kind,
                const Value& object, const Value& old) {
    const User& user = exchange.user;
    if (user.in_group("system:masters")) return;
    if (!old.is_null() && without_care(object) == without_care(old)) return;
    if (kind.plural == "roles" || kind.plural == "clusterroles") {
        admit_role(context, user, kind, object, old);
    } else {
        admit_binding(context, user, kind, object);
    }
}

}  // namespace muster::apiserver
