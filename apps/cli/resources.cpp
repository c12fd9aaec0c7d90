// apps/cli/resources.cpp - asks a server's discovery and matches words against it.
#include "apps/cli/resources.h"

#include <algorithm>

#include "base/text.h"

namespace muster::cli {
namespace {

constexpr std::string_view aggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

std::vector<std::string> texts_of(const api::Value& list) {
    std::vector<std::string> texts;
    for (const api::Value& item : list.items())
        texts.push_back(item.text());
    return texts;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

bool answers_to(const Resource& resource, const std::string& word) {
    return word == resource.plural || word == resource.singular ||
           word == to_lower(resource.kind) || contains(resource.short_names, word);
}

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error: " + text);
}

}  // namespace

std::string Resource::full_singular() const {
    const std::string word = singular.empty() ? to_lower(kind) : singular;
    return group.empty() ? word : word + "." + group;
}

std::string Resource::path(const std::string& ns, const std::string& name) const {
    std::string text = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
    if (namespaced && !ns.empty()) text += "/namespaces/" + net::percent_encode(ns);
    text += "/" + plural;
    return name.empty() ? text : text + "/" + net::percent_encode(name);
}

Resources::Resources(Session& session) {
    for (const char* root : {"/api", "/apis"}) {
        const api::Value answer = session.get(root, aggregated);
        if (!answer["items"].is_array())
            throw Error(Reason::not_acceptable, "error: the server is older than Kubernetes 1.30");
        for (const api::Value& group : answer["items"].items())
            add_group(group);
    }
}

void Resources::add_group(const api::Value& group) {
    for (const api::Value& version : group["versions"].items()) {
        for (const api::Value& one : version["resources"].items()) {
            Resource resource;
            resource.group = group["metadata"]["name"].text();
            resource.version = version["version"].text();
            resource.plural = one["resource"].text();
            resource.singular = one["singularResource"].text();
            resource.kind = one["responseKind"]["kind"].text();
            resource.short_names = texts_of(one["shortNames"]);
            resource.categories = texts_of(one["categories"]);
            resource.verbs = texts_of(one["verbs"]);
            resource.namespaced = one["scope"].text_or("") == "Namespaced";
            resources_.push_back(std::move(resource));
        }
    }
}

const Resource* Resources::find(const std::string& word) const {
    const std::string lower = to_lower(word);
    for (const Resource& resource : resources_) {
        if (answers_to(resource, lower)) return &resource;
    }
    // "jobs.batch", "jobs.v1.batch": the plural up to the first dot, then version and group.
    const auto halves = split_first(lower, '.');
    if (!halves) return nullptr;
    const std::string name(halves->before);
    for (const Resource& resource : resources_) {
        const bool group = halves->after == resource.group;
        const bool both = halves->after == resource.version + "." + resource.group;
        if ((group || both) && answers_to(resource, name)) return &resource;
    }
    return nullptr;
}

const Resource& Resources::named(const std::string& word) const {
    if (const Resource* resource = find(word)) return *resource;
    refuse("the server doesn't have a resource type \"" + word + "\"");
}

std::vector<const Resource*> Resources::all_named(const std::string& word) const {
    std::vector<const Resource*> found;
    for (const Resource& resource : resources_) {
        const bool again = std::any_of(found.begin(), found.end(), [&](const Resource* other) {
            return other->group == resource.group && other->plural == resource.plural;
        });
        if (contains(resource.categories, word) && !again) found.push_back(&resource);
    }
    if (found.empty()) found.push_back(&named(word));
    return found;
}

const Resource* Resources::of_kind(const std::string& api_version, const std::string& kind) const {
    for (const Resource& resource : resources_) {
        if (resource.kind == kind && resource.api_version() == api_version) return &resource;
    }
    return nullptr;
}

std::vector<Named> parse_named(const Resources& resources, const std::vector<std::string>& words) {
    std::vector<Named> found;
    if (words.empty()) refuse("Required resource not specified.");
    if (words.front().find('/') != std::string::npos) {
        for (const std::string& word : words) {
            const auto halves = split_first(word, '/');
            if (!halves || halves->before.empty() || halves->after.empty())
                refuse("arguments in resource/name form must have a single resource and name");
            found.push_back(
                {&resources.named(std::string(halves->before)), std::string(halves->after)});
        }
        return found;
    }
    std::vector<const Resource*> kinds;
    for (const std::string_view word : split(words.front(), ',')) {
        for (const Resource* resource : resources.all_named(std::string(word)))
            kinds.push_back(resource);
    }
    for (const Resource* kind : kinds) {
        if (words.size() == 1) found.push_back({kind, ""});
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (words[i].find('/') != std::string::npos)
                refuse(
                    "there is no need to specify a resource type as a separate argument when "
                    "passing arguments in resource/name form");
            found.push_back({kind, words[i]});
        }
    }
    return found;
}

}  // namespace muster::cli
