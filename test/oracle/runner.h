// test/oracle/runner.h - plays a scenario: its user, and the part of the job controllers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"
#include "kube/cache.h"
#include "test/oracle/case.h"
#include "test/oracle/outcome.h"

namespace muster::oracle {

/// Something that serves the objects and decides over them.
class Cluster {
public:
    virtual ~Cluster() = default;

    // Each answers with an HTTP status code.
    virtual int create(const api::GroupResource& resource, api::Value object) = 0;
    virtual int merge(const api::Key& key, const api::Value& patch,
                      const std::string& subresource) = 0;
    virtual int remove(const api::Key& key) = 0;
    /// Null when it is not there.
    virtual kube::ObjectPtr find(const api::Key& key) = 0;
    /// All of a kind, by namespace and name.
    virtual std::vector<kube::ObjectPtr> list(const api::GroupResource& resource) = 0;

    /// Lets time pass.
    virtual void pass(Duration span) = 0;
    /// Lets the controllers work until nothing moves. False when they do not come to rest.
    virtual bool rest() = 0;
    virtual Time now() const = 0;

    /// Of what `muster why` suggests to each that waits: how much of it there is, and in words what
    /// does not start it, or is not needed for that.
    struct Remedies {
        std::int64_t waiting = 0;
        std::int64_t suggested = 0;
        /// By why they wait: how many, and how many of them have a suggestion.
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_reason;
        std::vector<std::string> wrong;
    };
    virtual Remedies try_remedies() { return {}; }
};

/// What a run came to.
struct Outcome {
    std::vector<api::Value> steps;
    std::string unsettled;  // Why the run was given up; empty: it was not.
    Cluster::Remedies remedies;
};

enum class Trying { nothing, remedies };
/// What one action does to several workloads: written one behind the other, or each when what
/// followed from the one before has come to rest, as it is for a slow client.
enum class Several { together, apart };

/// Plays the case as the recorder did: `seq` steps rest after each action, `batch` steps at their
/// end; evicted Workloads give their quota back one at a time, by name, when the rest is at rest.
/// With `remedies` what is suggested to those that wait is tried after each step, on copies.
Outcome play(const Case& recorded, Cluster& cluster, Trying trying = Trying::nothing,
             Several several = Several::together);

}  // namespace muster::oracle
