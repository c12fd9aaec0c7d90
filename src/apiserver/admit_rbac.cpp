// apiserver/admit_rbac.cpp - nobody may give rights that they do not have.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/admit.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {
namespace {

using api::Value;

bool covers(const std::vector<std::string>& owned, const std::string& asked) {
    return std::find(owned.begin(), owned.end(), "*") != owned.end() ||
           std::find(owned.begin(), owned.end(), asked) != owned.end();
}

bool covers_resource(const std::vector<std::string>& owned, const std::string& asked) {
    if (covers(owned, asked)) return true;
    const std::size_t slash = asked.find('/');
    return slash != std::string::npos &&
           std::find(owned.begin(), owned.end(), "*" + asked.substr(slash)) != owned.end();
}

bool covers_url(const std::vector<std::string>& owned, const std::string& asked) {
    return std::any_of(owned.begin(), owned.end(), [&](const std::string& url) {
        if (url == "*" || url == asked) return true;
        return !url.empty() && url.back() == '*' &&
               asked.compare(0, url.size() - 1, url, 0, url.size() - 1) == 0;
    });
}

/// One verb on one resource (or URL) of a rule.
struct Grant {
    std::string verb;
    std::string group;
    std::string resource;
    std::string name;
    std::string url;
};

std::vector<Grant> grants_of(const Rule& rule) {
    std::vector<Grant> grants;
    const std::vector<std::string> any{""};
    for (const std::string& verb : rule.verbs) {
        for (const std::string& url : rule.urls)
            grants.push_back({verb, "", "", "", url});
        for (const std::string& group : rule.groups) {
            for (const std::string& resource : rule.resources) {
                for (const std::string& name : rule.names.empty() ? any : rule.names) {
                    grants.push_back({verb, group, resource, name, ""});
                }
            }
        }
    }
    return grants;
}

bool rule_covers(const Rule& owned, const Grant& grant) {
    if (!covers(owned.verbs, grant.verb)) return false;
    if (!grant.url.empty()) return covers_url(owned.urls, grant.url);
    if (!covers(owned.groups, grant.group)) return false;
    if (!covers_resource(owned.resources, grant.resource)) return false;
    if (owned.names.empty()) return true;
    // Of names "*" is one like another.
    return !grant.name.empty() &&
           std::find(owned.names.begin(), owned.names.end(), grant.name) != owned.names.end();
}

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
    const std::vector<Rule> owned = context.rbac.rules_for(user, ns);
    std::string missing;
    for (const Rule& rule : rules) {
        const std::vector<Grant> grants = grants_of(rule);
        const bool held = std::all_of(grants.begin(), grants.end(), [&](const Grant& grant) {
            return std::any_of(owned.begin(), owned.end(),
                               [&](const Rule& own) { return rule_covers(own, grant); });
        });
        if (!held) missing += "\n" + rule_text(rule);
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
    const std::vector<Rule> everything{{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
    if (!missing_of(context, user, "", everything).empty())
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
