// agent/pod_files.cpp - see pod_files.h.
#include "agent/pod_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/network.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::size_t kHostnameLimit = 63;
constexpr std::size_t kNameserverLimit = 3;
constexpr std::size_t kSearchLimit = 32;

std::string short_name(const Value& pod) {
    std::string name(pod["spec"]["hostname"].text_or(pod["metadata"]["name"].text()));
    name = name.substr(0, kHostnameLimit);
    while (name.ends_with('-') || name.ends_with('.'))
        name.pop_back();
    return name;
}

/// Its name in DNS, when it has one: "NAME.SUBDOMAIN.NAMESPACE.svc.cluster.local".
std::string full_name(const Value& pod) {
    const std::string subdomain = pod["spec"]["subdomain"].text();
    if (subdomain.empty()) return "";
    return short_name(pod) + "." + subdomain + "." + pod["metadata"]["namespace"].text() +
           ".svc.cluster.local";
}

/// What a resolver is told.
struct Resolution {
    std::vector<std::string> nameservers;
    std::vector<std::string> searches;
    std::vector<std::pair<std::string, std::string>> options;

    void add_option(const std::string& name, const std::string& value) {
        for (auto& [known, old] : options)
            if (known == name) {
                old = value;
                return;
            }
        options.emplace_back(name, value);
    }
};

void add_once(std::vector<std::string>& list, const std::string& text, std::size_t limit) {
    if (list.size() < limit && std::find(list.begin(), list.end(), text) == list.end())
        list.push_back(text);
}

void add_machine(Resolution& resolution, std::string_view machine) {
    for (const std::string_view line : split(machine, '\n')) {
        std::vector<std::string> words;
        const std::string spaced = replace_all(line, "\t", " ");
        for (const std::string_view word : split(spaced, ' '))
            if (!word.empty()) words.emplace_back(word);
        if (words.size() < 2) continue;
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (words[0] == "search" || words[0] == "domain")
                add_once(resolution.searches, words[i], kSearchLimit);
            if (words[0] != "options") continue;
            const auto halves = split_first(words[i], ':');
            resolution.add_option(halves ? std::string(halves->before) : words[i],
                                  halves ? std::string(halves->after) : "");
        }
    }
}

}  // namespace

std::string hostname_of(const Value& pod) {
    if (const std::string name = pod["spec"]["hostnameOverride"].text(); !name.empty()) return name;
    const std::string full = full_name(pod);
    if (pod["spec"]["setHostnameAsFQDN"].boolean_or(false) && !full.empty()) return full;
    return short_name(pod);
}

std::string hosts_text(const Value& pod, const std::string& ip) {
    std::string text =
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost "
        "ip6-loopback\n" +
        ip + "\t";
    const std::string full = full_name(pod);
    if (!full.empty()) text += full + "\t";
    text += short_name(pod) + "\n";
    for (const Value& alias : pod["spec"]["hostAliases"].items()) {
        text += alias["ip"].text();
        for (const Value& host : alias["hostnames"].items())
            text += "\t" + host.text();
        text += "\n";
    }
    return text;
}

std::string resolv_text(const Value& pod, std::string_view machine) {
    const std::string ns = pod["metadata"]["namespace"].text();
    const std::string_view policy = pod["spec"]["dnsPolicy"].text_or("ClusterFirst");
    Resolution resolution;
    if (policy != "None") resolution.nameservers = {dns_service_address};
    if (policy == "Default") {
        add_machine(resolution, machine);
    } else if (policy != "None") {
        resolution.searches = {ns + ".svc.cluster.local", "svc.cluster.local", "cluster.local"};
        resolution.options = {{"ndots", "5"}};
    }
    const Value& own = pod["spec"]["dnsConfig"];
    for (const Value& each : own["nameservers"].items())
        add_once(resolution.nameservers, each.text(), kNameserverLimit);
    for (const Value& each : own["searches"].items())
        add_once(resolution.searches, each.text(), kSearchLimit);
    for (const Value& each : own["options"].items())
        resolution.add_option(each["name"].text(), each["value"].text());
    std::string text;
    if (!resolution.searches.empty()) text += "search " + join(resolution.searches, " ") + "\n";
    for (const std::string& each : resolution.nameservers)
        text += "nameserver " + each + "\n";
    std::vector<std::string> options;
    for (const auto& [name, value] : resolution.options)
        options.push_back(value.empty() ? name : name + ":" + value);
    if (!options.empty()) text += "options " + join(options, " ") + "\n";
    return text;
}

}  // namespace muster::agent
