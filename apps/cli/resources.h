// apps/cli/resources.h - which kinds a server has, and which of them a user's word means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/session.h"

namespace muster::cli {

/// A kind as discovery tells it.
struct Resource {
    std::string group;
    std::string version;
    std::string plural;
    std::string singular;
    std::string kind;
    std::vector<std::string> short_names;
    std::vector<std::string> categories;
    std::vector<std::string> verbs;
    bool namespaced = true;

    std::string api_version() const { return group.empty() ? version : group + "/" + version; }
    /// "pods", "jobs.batch": how messages name the resource.
    std::string full_plural() const { return group.empty() ? plural : plural + "." + group; }
    /// "pod", "job.batch": how messages name an object's kind.
    std::string full_singular() const;
    /// The collection, or one object when `name` is not empty. Cluster-scoped kinds ignore `ns`; an
    /// empty `ns` means all.
    std::string path(const std::string& ns, const std::string& name = "") const;
};

/// Everything a server has, in its order.
class Resources {
public:
    explicit Resources(Session& session);

    /// "pods", "po", "pod", "jobs.batch", "jobs.v1.batch". Throws Error as kubectl does when there
    /// is none.
    const Resource& named(const std::string& word) const;
    /// All of a category such as "all"; else the one so named.
    std::vector<const Resource*> all_named(const std::string& word) const;
    const std::vector<Resource>& all() const { return resources_; }
    /// Null when not served.
    const Resource* of_kind(const std::string& api_version, const std::string& kind) const;

private:
    const Resource* find(const std::string& word) const;
    void add_group(const api::Value& group);
    std::vector<Resource> resources_;
};

/// What a user named: kinds and names, in order.
struct Named {
    const Resource* resource = nullptr;
    std::string name;  // Empty: all of the kind.
};

/// "pods", "pods,svc", "pod a b", "pod/a job/b". Throws Error as kubectl does.
std::vector<Named> parse_named(const Resources& resources, const std::vector<std::string>& words);

}  // namespace muster::cli
