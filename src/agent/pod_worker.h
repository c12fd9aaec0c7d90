// agent/pod_worker.h - one pod's life: plans its next steps, does them, tells its status.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/gpus.h"
#include "agent/machine.h"
#include "agent/pod_plan.h"
#include "agent/pod_seen.h"
#include "agent/pod_sources.h"
#include "agent/root_plan.h"
#include "agent/shares.h"
#include "agent/volumes.h"
#include "kube/cache.h"

namespace muster::agent {

/// What the workers of all pods share.
struct PodHost {
    Loop& loop;
    kube::Transport& transport;
    Machine& machine;
    const Options& options;
    std::string home;  // Of the user that Muster runs as.
    PodUsers users = PodUsers::own;
    GpuTable& gpus;
    std::function<std::vector<api::Value>(const std::string& ns)> services;
    std::function<std::string(const std::string& node)> node_address;
    /// Empty when all are in use.
    std::function<std::string(const std::string& ns)> take_address;
    std::function<void(const std::string& ip)> free_address;
    std::function<void(const api::Value& pod, const PodEvent&)> record;
    std::function<void(const std::string& uid)> over;  // Nothing is left of this pod.
    Shares sources{std::size_t{256} << 20};  // Bytes of config maps and secrets that pods hold.
};

/// Owns what is seen of one pod. Lives on the agent's loop.
class PodWorker {
public:
    PodWorker(PodHost& host, kube::ObjectPtr pod);
    /// A pod that an earlier Muster had started.
    PodWorker(PodHost& host, kube::ObjectPtr pod, const FoundPod& found);
    ~PodWorker();
    PodWorker(const PodWorker&) = delete;
    PodWorker& operator=(const PodWorker&) = delete;

    void update(kube::ObjectPtr pod);
    /// The object is gone: what runs is ended at once.
    void object_gone();
    void take(const RunReport& report);
    void sandbox_lost(const std::string& why);
    /// The holder of all pods' namespaces is another one; those that ran in the old one are lost,
    /// and say so themselves.
    void holder_changed();
    /// Ends the pod for good; its status tells why.
    void evict(const Verdict& verdict);

    /// Ends what runs, after its preStop hooks and within its grace period, of which `most` is left
    /// at most; the object and its status stay as they are. `done` runs when no process is left.
    void shut_down(Duration most, std::function<void()> done);

    /// Plans and does, until nothing is left to do now.
    void step();

    const api::Value& pod() const { return object_->value; }
    const PodSeen& seen() const { return seen_; }
    const std::string& uid() const { return uid_; }

private:
    std::string directory() const { return host_.machine.pod_directory(uid_); }
    void keep_verdicts();
    void later(Duration delay);
    void act(const Action& action);
    const ContainerSpec* find_spec(const std::string& name);

    // Preparing: pod_worker_prepare.cpp.
    void prepare();
    void fetch();
    void fetch_object(const char* resource, const std::string& name, const KeysNeeded& keys);
    void keep(const char* resource, const std::string& name, api::Value kept);
    void fetch_token(const TokenRequest& request);
    void fetch_next();
    void fetch_next_later();
    void fetched();
    void drop_what_is_written();
    void fetch_later(Duration delay);
    void forget_preparation();
    void fill();
    Machine::PodFiles files() const;
    std::string check_machine_paths() const;
    void filled();
    void check_containers();
    PodPlace place() const;
    std::int64_t memory_of_node() const;  // Bytes; 0: not known.
    PodPlace place_of(const std::string& container) const;

    void make_sandbox();
    void sandbox_failed(const std::string& problem);
    int stop_signal(const std::string& name);
    std::int64_t file_group() const;
    void add_message(const api::Value& container, Ended& ended) const;

    // Starting and asking: pod_worker_start.cpp.
    RootPlan make_root(const api::Value& container, const ImageMapping& image,
                       const Variables& variables) const;
    void start(const std::string& name);
    void start_run(const std::string& name);
    void discard_older_runs(const std::string& name, int newest);
    void run_hook(const std::string& name, const char* field,
                  ContainerSeen::Hook ContainerSeen::*which);
    void ask_probe(const std::string& name, ProbeKind kind);
    void end_sandbox();
    void remove_object();
    void tell_status();
    void record(const std::string& type, const std::string& reason, const std::string& message) {
        host_.record(object_->value, {type, reason, message});
    }

    /// Wraps a callback so that it does nothing once the worker is gone.
    template <typename Function>
    auto guarded(Function function) {
        return
            [alive = std::weak_ptr<int>(alive_), function = std::move(function)](auto&&... given) {
                if (!alive.expired()) function(std::forward<decltype(given)>(given)...);
            };
    }

    PodHost& host_;
    kube::ObjectPtr object_;
    std::string uid_;
    PodSeen seen_;
    std::string address_;
    std::vector<int> gpus_;

    Sources sources_;
    Sources incoming_;  // While they are being fetched.
    VolumesPlan volumes_;
    IdMap ids_;                                     // Of the pod's users.
    std::map<std::string, std::uint64_t> written_;  // Hashes of its files, by path.
    std::vector<std::function<void()>> to_fetch_;
    std::size_t incoming_bytes_ = 0;
    std::string fetch_problem_;  // Why what it refers to is not held.
    /// What these hold of the room for all pods.
    std::vector<std::shared_ptr<void>> incoming_tickets_;
    std::vector<std::shared_ptr<void>> tickets_;
    Duration retry_{};
    bool fetching_ = false;
    bool preparing_ = false;  // Until all of them are answered.
    bool filling_ = false;
    int preparations_ = 0;  // Those that were begun, and not those that came to their end.
    Loop::TimerId fetch_timer_{};
    bool fetching_later_ = false;
    std::string told_problem_;

    std::uint64_t told_status_ = 0;  // Its hash.
    bool telling_ = false;
    bool removing_ = false;
    bool gone_ = false;  // The object is.
    std::function<void()> shut_down_;
    bool stepping_ = false;
    Loop::TimerId timer_{};
    bool timed_ = false;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::agent
