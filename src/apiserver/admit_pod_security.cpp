// apiserver/admit_pod_security.cpp - what pod_security.h finds, put to writes.
#include "apiserver/admit_pod_security.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin/pod_security.h"
#include "api/owner.h"
#include "apiserver/commit.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "base/log.h"

namespace muster::apiserver {
namespace {

using api::NamespaceSecurity;
using api::SecurityPolicy;
using api::Value;

constexpr std::size_t pods_checked_max = 3000;

bool is_core(const api::Kind& kind, std::string_view plural) {
    return kind.group.empty() && kind.plural == plural;
}

/// Where a kind has its template of pods; absent for kinds without one.
std::optional<std::string> template_path(const api::Kind& kind) {
    if (is_core(kind, "podtemplates")) return "template";
    if (is_core(kind, "replicationcontrollers")) return "spec.template";
    if (kind.group == "batch" && kind.plural == "cronjobs") return "spec.jobTemplate.spec.template";
    static constexpr std::string_view of_apps[] = {"replicasets", "deployments", "statefulsets",
                                                   "daemonsets"};
    const bool apps = kind.group == "apps" && std::find(std::begin(of_apps), std::end(of_apps),
                                                        kind.plural) != std::end(of_apps);
    if (apps || (kind.group == "batch" && kind.plural == "jobs")) return "spec.template";
    return std::nullopt;
}

void warn_once(Exchange& exchange, std::string text) {
    auto& warnings = exchange.warnings;
    if (std::find(warnings.begin(), warnings.end(), text) == warnings.end())
        warnings.push_back(std::move(text));
}

bool is_exempt(const std::set<std::string, std::less<>>& names, std::string_view name) {
    return !name.empty() && names.contains(name);
}

/// What the namespace says now; an unreadable label is as strict as can be.
const NamespaceSecurity& security_in(const Context& context, std::string_view ns) {
    const auto found = context.pod_security.find(ns);
    if (found == context.pod_security.end()) throw not_found({"", "namespaces"}, ns);
    return found->second;
}

/// Warns and writes to the log, of a pod or of a template that pods will be made from.
void tell(Exchange& exchange, const api::Kind& kind, const NamespaceSecurity& security,
          const Value& object, const Value& metadata, const Value& spec) {
    const auto told = [&](const SecurityPolicy& policy) {
        const auto violations = api::security_violations(policy, metadata, spec);
        if (violations.empty()) return std::string();
        return "would violate PodSecurity \"" + policy.text() + "\": " + api::detailed(violations);
    };
    if (std::string text = told(security.audit); !text.empty())
        log_info("pod-security", kind.plural + " " + object["metadata"]["namespace"].text() + "/" +
                                     object["metadata"]["name"].text() + " " + text);
    if (std::string text = told(security.warn); !text.empty()) warn_once(exchange, std::move(text));
}

/// Of a pod that is there only its images can change in a way that counts, and its ephemeral
/// containers.
bool is_significant(const Value& pod, const Value& old) {
    for (const char* list : {"containers", "initContainers"}) {
        const Value& now = pod["spec"][list];
        const Value& before = old["spec"][list];
        if (now.size() != before.size()) return true;
        for (std::size_t i = 0; i < now.size(); ++i) {
            if (!(now[i]["image"] == before[i]["image"])) return true;
        }
    }
    for (const Value& added : pod["spec"]["ephemeralContainers"].items()) {
        const auto& before = old["spec"]["ephemeralContainers"].items();
        const bool same = std::any_of(before.begin(), before.end(), [&](const Value& each) {
            return each["name"] == added["name"] && each["image"] == added["image"];
        });
        if (!same) return true;
    }
    return false;
}

bool is_let_pass(const Context& context, const Exchange& exchange, std::string_view ns,
                 const Value& spec) {
    const api::PodSecurityConfiguration& configured = context.options.pod_security;
    return is_exempt(configured.namespaces, ns) ||
           is_exempt(configured.usernames, exchange.user.name) ||
           is_exempt(configured.runtime_classes, spec["runtimeClassName"].text_or(""));
}

void admit_pod(const Context& context, Exchange& exchange, const api::Kind& kind, const Value& pod,
               const Value& old) {
    const std::string ns = pod["metadata"]["namespace"].text();
    if (is_let_pass(context, exchange, ns, pod["spec"])) return;
    if (!old.is_null() && !is_significant(pod, old)) return;
    const NamespaceSecurity& security = security_in(context, ns);
    if (security.is_all_privileged()) return;
    const auto violations =
        api::security_violations(security.enforce, pod["metadata"], pod["spec"]);
    if (!violations.empty()) {
        throw forbidden(kind.resource(), pod["metadata"]["name"].text_or(""),
                        "violates PodSecurity \"" + security.enforce.text() +
                            "\": " + api::detailed(violations));
    }
    tell(exchange, kind, security, pod, pod["metadata"], pod["spec"]);
}

void admit_template(const Context& context, Exchange& exchange, const api::Kind& kind,
                    const Value& object, const std::string& path) {
    const Value& pods = object.path(path);
    if (!pods["spec"].is_object()) return;
    const std::string ns = object["metadata"]["namespace"].text();
    if (is_let_pass(context, exchange, ns, pods["spec"])) return;
    tell(exchange, kind, security_in(context, ns), object, pods["metadata"], pods["spec"]);
}

/// Of pods of one controller the first speaks for all, should there be too many.
std::vector<Value> pods_in_order(Context& context, std::string_view ns) {
    const api::Kind& kind = *api::find_kind("", "pods");
    std::vector<Value> first, others;
    std::set<std::string> controllers;
    constexpr std::size_t all = 1u << 30;
    for (const store::Entry& entry : context.store.range(key_prefix(kind, ns), "", all)) {
        const auto [object_ns, name] = place_of(entry.key);
        Value pod = newest_of(context, kind, object_ns, name).object;
        if (pod.is_null() || is_exempt(context.options.pod_security.runtime_classes,
                                       pod["spec"]["runtimeClassName"].text_or("")))
            continue;
        const std::string controller = api::controller_of(pod)["uid"].text();
        const bool is_first = controller.empty() || controllers.insert(controller).second;
        (is_first ? first : others).push_back(std::move(pod));
    }
    std::move(others.begin(), others.end(), std::back_inserter(first));
    return first;
}

std::string pods_text(const std::string& first, std::size_t count) {
    if (count == 1) return first;
    if (count == 2) return first + " (and 1 other pod)";
    return first + " (and " + std::to_string(count - 1) + " other pods)";
}

/// What is in the namespace keeps running; its administrator hears what would be refused now.
void warn_of_pods(Context& context, Exchange& exchange, const std::string& ns,
                  const SecurityPolicy& enforced) {
    std::vector<Value> pods = pods_in_order(context, ns);
    const std::size_t total = pods.size();
    if (total > pods_checked_max) {
        pods.resize(pods_checked_max);
        warn_once(exchange, "new PodSecurity enforce level only checked against the first " +
                                std::to_string(pods_checked_max) + " of " + std::to_string(total) +
                                " existing pods");
    }
    std::map<std::string, std::pair<std::string, std::size_t>> named;  // By reasons.
    for (const Value& pod : pods) {
        const auto violations = api::security_violations(enforced, pod["metadata"], pod["spec"]);
        if (violations.empty()) continue;
        const std::string name = pod["metadata"]["name"].text();
        auto& [first, count] = named[api::reasons_of(violations)];
        if (count++ == 0 || name < first) first = name;
    }
    if (named.empty()) return;
    warn_once(exchange, "existing pods in namespace \"" + ns +
                            "\" violate the new PodSecurity enforce level \"" + enforced.text() +
                            "\"");
    std::set<std::string> lines;
    for (const auto& [reasons, who] : named)
        lines.insert(pods_text(who.first, who.second) + ": " + reasons);
    for (const std::string& line : lines)
        warn_once(exchange, line);
}

/// Labels of an exempt namespace mean nothing; whoever sets them is told.
void warn_of_exemption(Exchange& exchange, const std::string& ns, const Value& labels,
                       const NamespaceSecurity& security, const NamespaceSecurity& defaults) {
    const auto alike = [](const SecurityPolicy& a, const SecurityPolicy& b) {
        return a == b || (a.level == api::SecurityLevel::privileged &&
                          b.level == api::SecurityLevel::privileged);
    };
    if (security.is_all_privileged() ||
        (alike(security.enforce, defaults.enforce) && alike(security.audit, defaults.audit) &&
         alike(security.warn, defaults.warn)))
        return;
    std::string said;
    for (const auto& [way, policy] :
         {std::pair("enforce", security.enforce), std::pair("audit", security.audit),
          std::pair("warn", security.warn)}) {
        const std::string label = std::string("pod-security.kubernetes.io/") + way;
        if (policy.level == api::SecurityLevel::privileged ||
            (!labels.has(label) && !labels.has(label + "-version")))
            continue;
        said += (said.empty() ? "" : ", ") + std::string(way) + "=" + policy.text();
    }
    warn_once(exchange, "namespace \"" + ns + "\" is exempt from Pod Security, and the policy (" +
                            said + ") will be ignored");
}

void admit_namespace(Context& context, Exchange& exchange, const api::Kind& kind,
                     const Value& object, const Value& old) {
    const api::PodSecurityConfiguration& configured = context.options.pod_security;
    const std::string name = object["metadata"]["name"].text();
    const Value& labels = object["metadata"]["labels"];
    const auto [now, faults] = api::security_of(labels, configured.defaults);
    if (old.is_null()) {
        if (!faults.empty()) throw invalid(kind, name, faults);
        return;
    }
    const auto [before, old_faults] =
        api::security_of(old["metadata"]["labels"], configured.defaults);
    // What was let in by an older version may stay, but not be made worse.
    const auto same = [](const api::FieldError& a, const api::FieldError& b) {
        return a.field == b.field && a.text == b.text;
    };
    if (!std::equal(faults.begin(), faults.end(), old_faults.begin(), old_faults.end(), same))
        throw invalid(kind, name, faults);
    if (now.enforce == before.enforce || now.enforce.level == api::SecurityLevel::privileged)
        return;
    if (now.enforce.version == before.enforce.version && now.enforce.level <= before.enforce.level)
        return;
    if (is_exempt(configured.namespaces, name)) {
        warn_of_exemption(exchange, name, labels, now, configured.defaults);
    } else {
        warn_of_pods(context, exchange, name, now.enforce);
    }
}

}  // namespace

void admit_pod_security(Context& context, Exchange& exchange, const api::Kind& kind,
                        std::string_view subresource, const Value& object, const Value& old) {
    // Of the subresources only ephemeral containers change what a pod is.
    if (!subresource.empty() && subresource != "ephemeralcontainers") return;
    if (is_core(kind, "pods")) {
        admit_pod(context, exchange, kind, object, old);
    } else if (is_core(kind, "namespaces")) {
        admit_namespace(context, exchange, kind, object, old);
    } else if (const auto path = template_path(kind)) {
        admit_template(context, exchange, kind, object, *path);
    }
}

}  // namespace muster::apiserver
