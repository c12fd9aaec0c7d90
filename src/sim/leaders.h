// sim/leaders.h - one API server and two operators of which one leads, on days on which they are
// killed, stand still, hear late, have wrong clocks, and lose their Lease to somebody's hand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "apiserver/server.h"
#include "base/random.h"
#include "control/runner.h"
#include "kube/counted_transport.h"
#include "kube/fence.h"
#include "kube/in_process_transport.h"
#include "kube/lease.h"
#include "sim/broken.h"
#include "sim/checks.h"
#include "sim/virtual_time.h"
#include "store/store.h"

namespace muster::sim {

/// What the documentation promises: within these bounds no two leaders' writes overlap
/// (docs/operator.md, "Who works").
struct LeaderBounds {
    std::int64_t rate_off = 50;          // Of each clock, per mille of the true time.
    Duration late = milliseconds(3500);  // After it was sent a request comes true, at most.
};

enum class Fenced { no, yes };

/// The server, the two, and what is seen from outside. Equal seeds give equal days.
class Leaders {
public:
    explicit Leaders(std::uint64_t seed, Fenced fenced = Fenced::yes);
    ~Leaders();
    Leaders(const Leaders&) = delete;
    Leaders& operator=(const Leaders&) = delete;

    /// Lets work come and go for so long while operators are killed, ended, stopped and their
    /// clocks set. Throws Broken when quota is exceeded, or when something that a former leader
    /// wrote comes true after another one began.
    void play_day(Duration span);

    /// Sends one admission far beyond the bounds: its sender is killed, another one admits somebody
    /// else, and then it comes true. Throws Broken when that is not found, or not undone soon. When
    /// the other one has written to its Workload meanwhile, it is refused instead.
    void play_late_admission();

    struct Numbers {
        int leaders = 0;      // How often one began.
        int admissions = 0;   // Seen from outside.
        int deleted = 0;      // Leases, by hand.
        int refused = 0;      // Writes that their own sender held back at last.
        int late_writes = 0;  // Of a former leader, after another one began.
        int undone = 0;       // Double admissions, of which the later one was evicted.
    };
    const Numbers& numbers() const { return numbers_; }
    std::uint64_t trace() const { return checks_.trace(); }

private:
    class Link;
    struct Operator;
    enum class Fate { under_way, taken, outdated };

    void start_server();
    void start_operator(std::size_t place);
    void end_operator(std::size_t place, Duration pause);
    void start_again(std::size_t place);
    void give_up(std::size_t place);
    void bad_luck();
    void delete_lease();
    net::Response ask(net::Request request);
    void create(const std::string& yaml);
    void create_job(const std::string& name, int cpu, const std::string& priority);
    void remove_job(const std::string& name);
    void pass(Duration span);
    void until(const std::string& what, Duration span, const std::function<bool()>& holds);
    void take(const store::Change& change);
    /// The Workload of a job; null when there is none.
    api::Value workload_of(const std::string& job) const;
    bool is_admitted(const std::string& job) const;
    Fate fate_of(const net::Request& request) const;
    std::optional<std::size_t> leading() const;

    Random random_;
    VirtualTime time_;
    LeaderBounds bounds_;
    Fenced fenced_;
    Checks checks_;
    Numbers numbers_;
    VirtualLoop& weather_;
    VirtualLoop& user_loop_;
    VirtualLoop& server_loop_;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<apiserver::Server> server_;
    std::unique_ptr<kube::InProcessTransport> user_;
    std::vector<std::unique_ptr<Operator>> operators_;  // The two.
    std::vector<std::unique_ptr<Operator>> dead_;       // Tasks under way may still hold them.
    int terms_ = 0;                                     // How often somebody began to lead.
    int processes_ = 0;
    std::optional<Time> lease_deleted_at_;  // Until somebody has taken it.
    bool within_bounds_ = true;
    bool is_exceeded_ = false;
    bool was_exceeded_ = false;
    bool next_admission_is_late_ = false;
    Fate late_one_ = Fate::under_way;
    std::vector<std::string> admitted_;  // Keys of Workloads.
};

/// Plays both with a seed. What is broken, else empty.
std::string play_leaders(std::uint64_t seed, Duration day);

}  // namespace muster::sim
