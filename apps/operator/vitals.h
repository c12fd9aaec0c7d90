// apps/operator/vitals.h - what the operator knows of itself, and what probes are told of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/http.h"

namespace muster::on_cluster {

/// Something that must hold, by name; the problem is empty when it does.
struct Check {
    std::string name;
    std::string problem;
};

/// How it stands with the operator at one moment, as its loop sees it. Spans are those of a clock
/// that only goes forward.
struct Vitals {
    enum class Role { starting, following, working, ending };
    Duration beat;  // When this was written.
    Role role = Role::starting;
    enum class Sight { partial, whole };
    Sight sight = Sight::partial;      // Whether all kinds have been seen in full.
    std::string missing;               // Why not, where that is known.
    std::string outages;               // Which kinds nothing is heard of now, and why.
    std::optional<Duration> answered;  // When the API server answered last, and was ready.
    std::string refusal;               // What it said instead, when it refuses.
    std::string complaint;             // What it said instead, when it is not ready itself.
    std::vector<Check> parts;          // What else must work to be ready: webhooks.
};

/// A loop that has not moved for so long is stuck.
constexpr Duration stuck_after = seconds(60);
/// A server that has not answered for so long is out of reach.
constexpr Duration unheard_after = seconds(20);

/// Whether to go on living. Only the loop counts: what a restart would not mend is none of it.
std::vector<Check> liveness(const Vitals& vitals, Duration now);

/// Whether work and webhooks may be left to this one, and what it goes by is what there is. A
/// follower is ready: its turn may come.
std::vector<Check> readiness(const Vitals& vitals, Duration now);

/// Which path asks for what.
struct ProbeNames {
    std::string liveness = "healthz";
    std::string readiness = "readyz";
};

/// The answer to GET /healthz, /livez, /readyz, to one check below them, with ?verbose to all. As
/// in Kubernetes' own programs ?exclude=NAME leaves a check out; it may be there more than once.
net::Response probe_answer(const net::Request& request, const ProbeNames& names,
                           const Vitals& vitals, Duration now);

/// What an API server says that is not ready: "500 [-]etcd failed: ..., ...", "503 ..."; 0: how it
/// cannot be reached.
std::string complaint_of(const net::Response& response);

/// A whole answer of plain text.
net::Response text_answer(int status, std::string text);

}  // namespace muster::on_cluster
