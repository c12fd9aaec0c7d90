// sim/world.h - the whole of Muster in one thread: server, store, controllers, nodes, a user, and a
// bad day.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/value.h"
#include "apiserver/server.h"
#include "base/random.h"
#include "control/control_plane.h"
#include "control/runner.h"
#include "kube/in_process_transport.h"
#include "sim/broken.h"
#include "sim/checks.h"
#include "sim/fake_node.h"
#include "sim/faults.h"
#include "sim/faulty_transport.h"
#include "sim/virtual_time.h"
#include "store/memory_journal.h"
#include "store/store.h"

namespace muster::sim {

/// Whether the faults of a run strike.
enum class Sky { calm, as_drawn };

/// A run. Everything in it follows from seed, nodes and faults: equal ones give equal traces, byte
/// for byte.
class World {
public:
    static constexpr Time morning{1'700'000'000'000'000'000};

    World(std::uint64_t seed, std::vector<NodeSpec> nodes, Faults faults, Time start = morning);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // What a user does; each waits for the answer. Throws Broken when the server refuses.

    /// Creates the objects of a YAML text.
    void create(const std::string& yaml);
    /// Creates an object of that value.
    void create_object(const api::Value& object);
    /// Replaces an object, or its status with subresource "status", by what `edit` makes of it;
    /// done again when somebody else was quicker.
    void change(const std::string& path, const std::string& subresource,
                const std::function<void(api::Value& object)>& edit);
    /// `path` as in a URL: "/api/v1/namespaces/default/pods/a".
    /// `propagation`: "Background", "Foreground", "Orphan"; empty: the default.
    void remove(const std::string& path, const std::string& propagation = "");
    /// Merges JSON into an object; nothing happens when it is not there.
    void merge(const std::string& path, const std::string& json);
    /// Null when it is not there.
    api::Value get(const std::string& path);

    /// From here on each write of the user is told once it was taken: {"method", "path", "body"},
    /// and of a replacement {"before"}.
    void record(std::function<void(api::Value line)> tell) { told_ = std::move(tell); }

    /// Lets time pass.
    void pass(Duration span);
    /// Lets time pass until `holds`; throws Broken with `what` when it does not within `span`.
    void until(const std::string& what, Duration span, const std::function<bool()>& holds);

    /// From here on nothing goes wrong any more.
    void end_faults();
    /// Nothing goes wrong for a while.
    void set_sky(Sky sky);

    /// While held, the queues see but decide nothing. Not held at first.
    void hold_queues(bool held) { queues_held_ = held; }
    /// Muster starts again with other options of its queues.
    void set_options(const decide::Options& options);
    /// Lets time pass until the controllers have seen and answered all, and no object but
    /// heartbeats has changed for `quiet`. Throws Broken when that does not come about.
    void settle(Duration quiet);

    Time now() const { return time_.now(); }
    /// A hash of every change of every object, in order: two runs of a seed must agree.
    std::uint64_t trace() const { return checks_.trace(); }
    std::int64_t faults_made() const;
    /// Of each controller, by name: how often it wrote, and how often a crash cut its writing.
    std::map<std::string, FaultyTransport::Writes> writes() const;
    std::int64_t changes() const { return checks_.changes(); }
    FakeNode& nodes() { return *nodes_; }
    /// All objects under a store prefix, a line of JSON each: what a failing run leaves to look at.
    std::string dump(std::string_view prefix) const;

private:
    void start_server();
    void answer_questions();
    void start_control();
    /// What the controllers have not seen or answered yet; empty when nothing.
    std::string unrest() const;
    void crash_server();
    void crash_control();
    void plan_faults();
    void every(Duration mean, const std::function<void()>& happen);
    net::Response ask(net::Request request);
    void tell(const net::Request& request, const net::Response& answer, const api::Value& before);

    std::function<void(api::Value line)> told_;
    Random random_;
    VirtualTime time_;
    Faults faults_;
    Faults drawn_;  // What `faults_` are while the sky is not calm.
    std::vector<NodeSpec> specs_;
    control::ControlPlaneOptions options_;
    bool queues_held_ = false;
    Sky sky_ = Sky::as_drawn;
    std::int64_t real_changes_ = 0;  // All but heartbeats.
    std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>();
    Checks checks_;
    VirtualLoop* weather_ = nullptr;  // Where faults are decided; no process of its own.
    VirtualLoop* user_loop_ = nullptr;
    VirtualLoop* node_loop_ = nullptr;
    VirtualLoop* server_loop_ = nullptr;
    VirtualLoop* control_loop_ = nullptr;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<apiserver::Server> server_;
    std::unique_ptr<FaultyTransport> user_;
    std::unique_ptr<FaultyTransport> node_transport_;
    std::unique_ptr<FaultyTransport> control_transport_;
    std::unique_ptr<FakeNode> nodes_;
    std::unique_ptr<control::Runner> runner_;
    std::optional<control::Questions> questions_;
    Faults no_faults_;
    std::int64_t crashes_ = 0;
    std::int64_t past_faults_ = 0;
    std::map<std::string, FaultyTransport::Writes> past_writes_;
    // What has crashed is kept: tasks under way may still hold its parts.
    std::vector<std::unique_ptr<store::Store>> dead_stores_;
    std::vector<std::unique_ptr<apiserver::Server>> dead_servers_;
    std::vector<std::unique_ptr<FaultyTransport>> dead_transports_;
    std::vector<std::unique_ptr<control::Runner>> dead_runners_;
};

}  // namespace muster::sim
