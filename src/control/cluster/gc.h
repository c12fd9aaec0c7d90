// control/cluster/gc.h - the garbage collector: what belongs to something that is gone goes too.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"

namespace muster::control::cluster {

/// Deletes dependents whose owners are all gone (by uid), deletes dependents first for
/// foregroundDeletion, and frees them for the finalizer `orphan`. Over every registered kind except
/// events.
///
/// An owner is gone when it was seen and then removed, or when the server itself says so: kinds are
/// watched apart, so a dependent may be seen before its owner. Work is done only for objects whose
/// owners, finalizers or dependents changed.
class GarbageCollector : public Planner {
public:
    std::string name() const override { return "generic-garbage-collector"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override;
    bool watches_added() const override { return true; }
    void observe(const kube::Object* before, const kube::Object* after) override;
    void failed(const Write& write) override;
    void looked(const api::Key& key, const kube::Object* found) override;
    Reconciled plan(const kube::Cache& seen, Time now) override;

private:
    enum class Ending { none, plain, foreground, orphan };  // How a terminating object ends.
    struct Owner {
        std::string uid;
        std::string group;
        std::string kind;
        std::string name;
        api::Key key;
        bool known_kind = false;  // Of a kind that is watched; then `key` is.
        bool blocks = false;      // blockOwnerDeletion
        bool misplaced = false;   // A namespaced owner of a cluster-scoped object.
    };
    struct Item {
        api::Key key;
        std::vector<Owner> owners;
        Ending ending = Ending::none;
    };
    enum class State { there, leaving, gone, unclear };

    static Item item_of(const kube::Object& object);
    void find_owners(const std::string& uid, Item& item, const api::Kinds& kinds);
    void forget(const std::string& uid);
    void mark_around(const std::string& uid);
    void mark_gone(const std::string& uid);
    State state_of(const Item& dependent, const Owner& owner) const;
    /// Those of an owner's dependents that it reaches: others only say that they were its.
    std::vector<std::string> dependents_of(const std::string& uid, const api::Key& key) const;
    void look_for(const Owner& owner, Reconciled& result);
    void judge(const std::string& uid, const kube::Cache& seen, Reconciled& result);
    void judge_dependent(const std::string& uid, const Item& item, const kube::Object& object,
                         Reconciled& result);
    void free_dependents(const std::string& uid, const kube::Object& object,
                         const kube::Cache& seen, Reconciled& result);
    void finish_foreground(const std::string& uid, const kube::Object& object, Reconciled& result);

    std::map<std::string, Item> items_;                        // By uid: everything that is seen.
    std::map<std::string, std::set<std::string>> dependents_;  // Owner uid -> uids.
    std::set<std::string> dirty_;
    std::set<std::string> unclear_;   // Uids with owners of kinds that are not known, so far.
    std::set<std::string> deleting_;  // Deletion on its way.
    std::map<api::Key, std::set<std::string>> looks_;  // On their way: key -> owner uids.
    std::set<std::string> gone_;                       // Uids known to be gone for good,
    std::deque<std::string> gone_in_order_;            // the newest of them.
};

}  // namespace muster::control::cluster
