// control/cluster/scheduler.h - the pod scheduler: gives each waiting pod a node, or says why none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "decide/place/place.h"

namespace muster::control::cluster {

/// Binds pods of the scheduler "default-scheduler" that have no node, by decide::place.
///
/// Pods are tried when they come, and again exactly when room may have appeared: a node was added
/// or changed, a seated pod is gone, a pod was seated that another wants to be near to. A pod keeps
/// its room until its processes are gone: while it terminates it is still seated, Succeeded and
/// Failed ones are not. A decided seat counts as taken until the pod is seen bound, or the server
/// has said after a failed binding that it is not.
class Scheduler : public Planner {
public:
    std::string name() const override { return "default-scheduler"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override;
    void observe(const kube::Object* before, const kube::Object* after) override;
    void failed(const Write& write) override;
    void looked(const api::Key& key, const kube::Object* found) override;
    Reconciled plan(const kube::Cache& seen, Time now) override;

private:
    /// A pod without a node. `tried`: it found none since anything that could help has happened.
    struct Waiting {
        std::string uid;
        api::Value labels;
        api::Value gates;
        bool tried = false;
        bool gate_told = false;
        std::string told{};        // The refusal that was sent last,
        std::int64_t told_at = 0;  // and the version of the pod that it was for.
        std::optional<decide::PodToPlace> folded{};
        bool selects_namespaces = false;
    };
    struct Bound {
        api::Key pod;
        std::string node;
    };

    void observe_pod(const kube::Object* before, const kube::Object* after);
    void wait_for_seat(const kube::Object& pod);
    void seat(decide::SeatedPod pod);
    void unseat(const std::string& name);
    void read_namespaces_again();
    void try_all_again();
    void fold_new(const kube::Cache& seen);
    void tell_gates(const kube::Cache& seen, Time now, Reconciled& result);
    void take_seat(const decide::Seat& seat, Reconciled& result);
    void tell_refusal(const decide::Seat& seat, const kube::Cache& seen, Time now,
                      Reconciled& result);

    std::map<std::string, decide::Node> nodes_;
    std::vector<decide::SeatedPod> seated_;
    std::map<std::string, std::size_t> seat_of_;  // Name -> index in `seated_`.
    std::map<std::string, api::Key> unfolded_;    // Bound pods whose shape is not read yet.
    std::map<std::string, Waiting> waiting_;
    std::map<std::string, std::pair<std::string, Waiting>>
        assumed_;                // Binding on its way: name -> node, pod.
    std::set<api::Key> unsure_;  // Their binding failed, and may have been done all the same.
    std::vector<Bound> bound_;   // Seen bound by us; their events are due.
};

}  // namespace muster::control::cluster
