// api/builtin/pod_security_parts.cpp - who of a pod sets what, in words; the table of all checks.
#include "api/builtin/pod_security_parts.h"

#include <algorithm>

#include "base/text.h"

namespace muster::api {

std::vector<const Value*> CheckedPod::containers() const {
    std::vector<const Value*> all;
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
        for (const Value& container : spec[list].items())
            all.push_back(&container);
    }
    return all;
}

const std::vector<SecurityCheck>& security_checks() {
    static const std::vector<SecurityCheck> checks = [] {
        std::vector<SecurityCheck> all = pod_security::baseline_checks();
        const std::vector<SecurityCheck> more = pod_security::restricted_checks();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }();
    return checks;
}

namespace pod_security {

std::string quoted_list(const Names& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "\"" : ", \"") + name + "\"";
    return text;
}

std::string quoted_list(const Words& words) {
    return quoted_list(Names(words.begin(), words.end()));
}

std::string plural(std::size_t count, const std::string& one, const std::string& many) {
    return count == 1 ? one : many;
}

std::string containers_text(const Names& names) {
    return plural(names.size(), "container ", "containers ") + quoted_list(names);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

const Value& security_context(const Value& holder) {
    return holder["securityContext"];
}

Names containers_that(const CheckedPod& pod, const std::function<bool(const Value&)>& is_bad) {
    Names names;
    for (const Value* container : pod.containers()) {
        if (is_bad(*container)) names.push_back((*container)["name"].text());
    }
    return names;
}

std::string setters_text(bool pod, const Names& containers) {
    std::string text = pod ? "pod" : "";
    if (!containers.empty()) text += (pod ? " and " : "") + containers_text(containers);
    return text;
}

Seccomp::Seccomp(const CheckedPod& pod) {
    const auto is_good = [](const Value& profile) {
        return is_one_of(profile["type"].text_or(""), {"Localhost", "RuntimeDefault"});
    };
    const Value& of_pod = security_context(pod.spec)["seccompProfile"];
    const bool good_pod = !of_pod.is_null() && is_good(of_pod);
    bad_pod = !of_pod.is_null() && !good_pod;
    if (bad_pod) bad.insert(of_pod["type"].text());
    for (const Value* container : pod.containers()) {
        const Value& own = security_context(*container)["seccompProfile"];
        const std::string name = (*container)["name"].text();
        if (own.is_null()) {
            if (!good_pod) silent_containers.push_back(name);
        } else if (!is_good(own)) {
            bad_containers.push_back(name);
            bad.insert(own["type"].text());
        }
    }
}

Found Seccomp::violation() const {
    if (!bad_pod && bad_containers.empty()) return std::nullopt;
    return SecurityViolation{"seccompProfile",
                             setters_text(bad_pod, bad_containers) +
                                 " must not set securityContext.seccompProfile.type to " +
                                 quoted_list(bad)};
}

Found proc_mount(const CheckedPod& pod) {
    Words bad;
    const Names containers = containers_that(pod, [&](const Value& each) {
        const Value& mount = security_context(each)["procMount"];
        if (mount.is_null() || mount.text_or("") == "Default") return false;
        bad.insert(mount.text());
        return true;
    });
    if (containers.empty()) return std::nullopt;
    return SecurityViolation{"procMount", containers_text(containers) +
                                              " must not set securityContext.procMount to " +
                                              quoted_list(bad)};
}

}  // namespace pod_security
}  // namespace muster::api
