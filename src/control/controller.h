// control/controller.h - a controller is a value: what it watches and a pure function from what is
// seen to what to write. The runner owns the queue, retries, conflicts and writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"
#include "kube/cache.h"

namespace muster::control {

/// The most pods that a controller makes, or removes as too many, for one object in one pass. What
/// it has written brings the next pass about.
inline constexpr std::int64_t pods_per_pass = 500;

/// One change to one object, made under the controller's own name.
struct Write {
    enum class Verb {
        create,  // An existing object of that name is taken as success when its controller is ours.
        update,  // Whole object; conflict when `version` is not the server's.
        merge_patch,  // RFC 7386; with `version` set, only if unchanged.
        apply,        // Server-side apply, forced, under the controller's field manager.
        remove,       // Delete with `uid` as precondition when set.
        remove_all,   // Every object of the kind in key.ns (key.name is empty).
        demand_none,  // Writes nothing: the run goes on only if the server has no object of the
                      // kind in key.ns.
    };
    Verb verb = Verb::apply;
    api::Key key;
    std::string api_version;  // "batch/v1"
    std::string subresource;  // "status" or empty.
    api::Value body;
    std::int64_t version = 0;  // 0: none demanded.
    std::string uid;
    std::string
        propagation;  // For remove: "Background", "Foreground", "Orphan"; empty: the default.
    std::optional<std::int64_t> grace_seconds =
        std::nullopt;  // For remove; absent: the object's own.
};

/// A header of a call.
struct Header {
    std::string name;
    std::string value;
};

/// Something outside the API to be asked (a Ray dashboard). Its answer enters the cache as an
/// object of resource "calls" in group "muster.internal", named by `id`: {status: int (0:
/// unreachable), body: text, at: RFC 3339}. "muster:random/N" asks for N bytes that nobody can
/// guess, in base64.
struct Call {
    std::string id;      // Idempotency key: the same id is never in flight twice.
    std::string method;  // GET, POST, DELETE, PUT
    std::string url;     // "http://NAME.NAMESPACE.svc.cluster.local:8265/api/jobs/"
    std::string body;
    api::Key wake;  // Reconciled again when the answer is there.
    std::vector<Header> headers = {};
};

/// The answer to a call, as seen in the cache; null when there is none yet.
const kube::Object* find_answer(const kube::Cache& seen, std::string_view call_id);

/// The last write of this controller to this object that the server refused for good (400, 403, 404
/// of a namespace, 422, ...): {reason, code, message, at}. Null when none; forgotten when a later
/// write to the object succeeds.
const kube::Object* find_refusal(const kube::Cache& seen, std::string_view controller,
                                 const api::Key& key);

/// A Kubernetes Event about an object; equal ones are counted by the runner.
struct Event {
    api::Key about;
    std::string type;  // Normal, Warning
    std::string reason;
    std::string message;
    std::string action;  // events.k8s.io action; may be empty.
    /// Why something could not be done is said although it could not; what was done, when it was.
    enum class Told { when_written, always };
    Told told = Told::when_written;
};

/// What a reconcile wants. Nothing has happened yet when it returns.
struct Reconciled {
    std::vector<Write>
        writes;  // In order; the runner stops at the first that fails and tries the key again.
    std::vector<Call> calls;
    std::vector<Event> events;  // Of a controller: when all writes were taken, but for those told
                                // always; of a planner: at once.
    std::optional<Duration> look_again;  // Absent: only when something watched changes.
    std::vector<api::Key> looks = {};  // Planners only: to be read from the server itself, past the
                                       // cache; see Planner::looked.
};

/// A kind that a controller watches and the keys to reconcile when one of its objects changes.
/// `before` or `after` is null on creation and removal. An empty version means whichever the cache
/// holds: the one that others watch, else the stored one with its metadata only.
struct Watch {
    api::GroupResource resource;
    std::string version;
    std::function<std::vector<api::Key>(const kube::Cache& seen, const kube::Object* before,
                                        const kube::Object* after)>
        wakes;
};

/// A controller. `reconcile` is pure: the same cache, key and time give the same result.
struct Controller {
    std::string name;  // Also the field manager and the source of its events.
    std::vector<Watch> watches;
    std::function<Reconciled(const kube::Cache& seen, const api::Key& key, Time now)> reconcile;
    /// When set, objects of the kinds that users added wake it too: as in Watch.
    std::function<std::vector<api::Key>(const kube::Cache& seen, const kube::Object* before,
                                        const kube::Object* after)>
        wakes_of_added = {};
    /// What it asks the cache for by a word (Cache::by_index).
    std::vector<kube::Index> indexes = {};
};

/// A controller that decides over the whole of what is seen at once (the queues). It keeps a fold
/// of the cache that is updated by differences. `observe` is called for each change of a watched
/// object, in order, on the one control thread; after a burst of changes `plan` runs once. What
/// `plan` decided it must itself treat as done until it observes the object or hears that the write
/// failed, so that nothing is decided twice.
class Planner {
public:
    virtual ~Planner() = default;
    virtual std::string name() const = 0;
    virtual std::vector<std::pair<api::GroupResource, std::string>> watches()
        const = 0;  // With the version; empty as in Watch. Asked once.
    /// Objects of the kinds that users added are observed too, with their metadata only.
    virtual bool watches_added() const { return false; }
    virtual void observe(const kube::Object* before, const kube::Object* after) = 0;
    virtual void failed(const Write& write) = 0;
    /// The server took the write, and it changed nothing: the object will not be observed.
    virtual void unchanged(const Write& write);
    /// What the server said to a look. `found` is null when it has no such object; a look that got
    /// no answer is repeated by the runner until it gets one.
    virtual void looked(const api::Key& key, const kube::Object* found);
    virtual Reconciled plan(const kube::Cache& seen, Time now) = 0;
};

/// Watch mappings that most controllers need: the object itself; its controlling owner of a kind.
Watch watch_self(api::GroupResource resource, std::string version);
Watch watch_owned(api::GroupResource resource, std::string version, api::GroupResource owner);

}  // namespace muster::control
