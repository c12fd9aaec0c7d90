// control/rights.cpp - the watches of the controllers, and the table of their writes.
#include "control/rights.h"

#include "api/kind.h"
#include "base/manual_loop.h"
#include "control/appwrapper/wrapped.h"
#include "control/control_plane.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"

namespace muster::control {
namespace {

using api::GroupResource;

/// Nobody is asked anything: the controllers are never started.
class NoServer final : public kube::Transport {
public:
    void send(net::Request, OnResponse) override {}
    StreamId open(net::Request, Stream) override { return {}; }
    void cancel(StreamId) override {}
};

class Table {
public:
    void allow(const GroupResource& resource, const std::set<std::string>& verbs,
               const std::string& subresource = "") {
        const std::string name = resource.plural + (subresource.empty() ? "" : "/" + subresource);
        rights_[{resource.group, name}].insert(verbs.begin(), verbs.end());
    }
    Rights rights() && { return std::move(rights_); }

private:
    Rights rights_;
};

void allow_watching(Table& table) {
    NoServer server;
    ManualLoop loop;
    Runner runner(server, loop, {});
    add_operator_controllers(runner, {});
    for (const kube::Target& target : runner.watched())
        table.allow(target.resource, {"get", "list", "watch"});
}

/// Whoever makes something with a blocking owner reference must be allowed to say when the owner
/// may go (the admission plugin OwnerReferencesPermissionEnforcement).
void allow_owning(Table& table, const GroupResource& owner) {
    table.allow(owner, {"update"}, "finalizers");
}

void allow_queues(Table& table) {
    using Start = queue::JobKind::Start;
    table.allow(queue::workloads, {"create", "patch", "delete"});
    // Their finalizers: what is in use is not removed.
    for (const GroupResource& resource :
         {queue::cluster_queues, queue::flavors, queue::admission_checks})
        table.allow(resource, {"patch"});
    for (const GroupResource& resource :
         {queue::workloads, queue::cluster_queues, queue::local_queues, queue::cohorts})
        table.allow(resource, {"patch"}, "status");
    for (const queue::JobKind& kind : queue::job_kinds()) {
        if (kind.start != Start::by_pods) table.allow(kind.resource, {"patch", "delete"});
        allow_owning(table, kind.resource);
    }
    table.allow(queue::jobs, {"patch"}, "status");  // The start time of one that waits again.
    table.allow(queue::pods, {"patch"}, "status");  // Why it is ended.
}

void allow_app_wrappers(Table& table) {
    for (const GroupResource& resource : {queue::app_wrappers, queue::old_app_wrappers}) {
        table.allow(resource, {"patch"});
        table.allow(resource, {"update", "patch"}, "status");  // The queues patch it.
        allow_owning(table, resource);
    }
    for (const api::Kind* kind : appwrapper::wrapped_kinds())
        table.allow(kind->resource(), {"create", "delete"});
}

void allow_ray(Table& table) {
    table.allow({"", "pods"}, {"create", "patch", "delete"});
    table.allow({"", "services"}, {"create"});
    table.allow({"", "secrets"}, {"create"});  // Of token authentication.
    table.allow({"batch", "jobs"}, {"create", "delete"});
    table.allow(queue::ray_clusters, {"create", "update", "delete"});
    table.allow(queue::ray_jobs, {"patch", "delete"});
    for (const GroupResource& resource : {queue::ray_clusters, queue::ray_jobs}) {
        table.allow(resource, {"update"}, "status");
        allow_owning(table, resource);
    }
}

}  // namespace

Rights operator_rights() {
    Table table;
    allow_watching(table);
    allow_queues(table);
    allow_app_wrappers(table);
    allow_ray(table);
    table.allow({"", "events"}, {"create", "patch"});
    return std::move(table).rights();
}

}  // namespace muster::control
