// control/seen.h - what the runner sees: every watched kind in one cache, own writes laid over,
// nothing that is gone brought back.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/kind.h"
#include "base/loop.h"
#include "kube/cache.h"
#include "kube/request.h"
#include "kube/transport.h"
#include "kube/watcher.h"

namespace muster::control {

/// A resource of which nothing is heard, and why.
struct Trouble {
    api::GroupResource resource;
    std::string why;
};

/// Watches and the cache they fill. Lives on the runner's loop.
class Seen {
public:
    /// `before` or `after` is null on creation and removal.
    using OnChange = std::function<void(const kube::Object* before, const kube::Object* after)>;

    Seen(kube::Transport& transport, Loop& loop, OnChange on_change,
         std::function<void()> on_synced)
        : transport_(transport),
          loop_(loop),
          on_change_(std::move(on_change)),
          on_synced_(std::move(on_synced)) {}

    /// Before start(). An empty version: whichever others name, else the stored one with metadata
    /// only.
    void watch(const api::GroupResource& resource, const std::string& version);
    /// Before start().
    void add_index(const kube::Index& index) { cache_.add_index(index); }
    /// Before start(). The kinds that users add are followed as they come and go: metadata only.
    void watch_added();
    bool is_added(const api::GroupResource& resource) const {
        return added_.contains(resource) || guests_.contains(resource);
    }
    /// All that is to be watched, in the versions that it is asked for in.
    std::vector<kube::Target> targets() const;
    void start();
    void stop() { watchers_.clear(); }

    const kube::Cache& cache() const { return cache_; }
    /// Of what is watched, and may be old in the cache. A kind that the server never had is none.
    std::vector<Trouble> troubles() const;
    /// The version in which a resource is held; empty when it is not watched.
    std::string version_of(const api::GroupResource& resource) const;

    /// An object as the answer to a write or look showed it.
    void take_answer(kube::ObjectPtr object);
    /// The server said that our delete of this object has removed it.
    void take_removal(const api::Key& key, const std::string& uid);

    /// The runner's own objects (group "muster.internal"); no change is told.
    void put_local(const std::string& plural, const std::string& name, api::Value value);
    void remove_local(const std::string& plural, const std::string& name);

private:
    void see(kube::ObjectPtr object);
    void see_removal(const api::Key& key, std::int64_t version);
    void see_list(const api::GroupResource& resource, std::int64_t version,
                  const std::function<bool(const api::Key&)>& has);
    void see_rewound(const api::GroupResource& resource);
    void mark_gone(const std::string& uid);
    void tell(const kube::Object* before, const kube::Object* after);
    void follow(const api::Value& definition);
    void leave(const api::GroupResource& resource);
    kube::WatchEvents events_of(const api::GroupResource& resource, bool whole);

    kube::Transport& transport_;
    Loop& loop_;
    OnChange on_change_;
    std::function<void()> on_synced_;
    kube::Cache cache_;
    std::map<api::GroupResource, std::string> versions_;
    std::map<api::GroupResource, std::unique_ptr<kube::Watcher>> watchers_;
    std::set<api::GroupResource> added_;   // Of the watched: those that users added.
    std::set<api::GroupResource> guests_;  // Watched by name, in full; users may add them.
    bool follows_added_ = false;
    std::map<api::GroupResource, std::int64_t> told_;  // How far each watch has come.
    // Uids that are gone for good, the newest of them: an answer or a watch event that is older
    // than the removal may still come, and must not bring the object back.
    std::set<std::string> gone_;
    std::deque<std::string> gone_in_order_;
    std::size_t unsynced_ = 0;
    std::int64_t local_version_ = 0;
};

}  // namespace muster::control
