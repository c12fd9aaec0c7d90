// agent/machine.h - the seam between the agent's decisions and this machine's processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/probe.h"
#include "agent/uid_ranges.h"
#include "api/value.h"
#include "base/bytes.h"
#include "base/time.h"

namespace muster::agent {

/// How one run of a container stands.
struct RunReport {
    std::string container;
    int attempt = 0;
    bool running = false;  // Its command was started.
    Time started;
    std::optional<Time> finished;
    int code = 0;
    int signal = 0;
    std::string failure;  // Why the command could not be started.
    bool out_of_memory = false;
};

/// A pod found on this machine at start.
struct FoundPod {
    std::string uid;
    api::Value sandbox;  // As it was given to make_sandbox.
    bool alive = false;  // Its init answers.
    std::vector<RunReport> runs;
};

/// What the machine tells. A pod is named by its uid.
struct MachineEvents {
    std::function<void(const std::string& uid, const RunReport&)> run;
    /// The sandbox is gone without being asked.
    std::function<void(const std::string& uid, const std::string& why)> lost;
};

/// Runs pods. Everything is asked and answered on the agent's loop; nothing blocks it.
class Machine {
public:
    using Done = std::function<void(const std::string& problem)>;  // Empty: it went well.
    /// `passed` is exit code 0 or an HTTP status below 400.
    using Answered = std::function<void(bool passed, const std::string& text)>;

    virtual ~Machine() = default;

    /// Sets who is told, then looks for pods of an earlier life. Living ones report their runs.
    virtual std::vector<FoundPod> find_pods(MachineEvents events) = 0;

    /// The pod's folder: volumes/, etc/, logs/, containers/.
    virtual std::string pod_directory(const std::string& uid) const = 0;

    /// Files and folders of the pod, put in place with the owners and modes that they are to have.
    /// The answer has the pod's users, which the sandbox and its containers are to be made with.
    struct PodFiles {
        struct Folder {
            std::string path;  // In the pod's folder.
            int mode = 0755;
            std::int64_t group = -1;  // As the pod sees it; -1: none but root's.
        };
        struct File {
            std::string path;
            Bytes content;
            int mode = 0644;
            std::int64_t group = -1;
        };
        std::string ns;  // The pod's Kubernetes namespace.
        IdsWanted ids;
        std::vector<Folder> folders;
        std::vector<File> files;
    };
    using Filled = std::function<void(const std::string& problem, const IdMap& ids)>;
    virtual void fill(const std::string& uid, const PodFiles& files, Filled filled) = 0;

    virtual void make_sandbox(const std::string& uid, const api::Value& sandbox, Done done) = 0;

    /// Starts a run; `spec` as in pod_init.h. Its end is an event.
    virtual void start(const std::string& uid, const std::string& container, int attempt,
                       const api::Value& spec) = 0;
    virtual void signal(const std::string& uid, const std::string& container, int signal) = 0;

    /// Asks a probe's or hook's question inside the pod.
    virtual void ask(const std::string& uid, const std::string& container, const std::string& ip,
                     const Handler& handler, Duration timeout, Answered answered) = 0;

    /// Frees the disk space of a run that has ended, with its logs when asked.
    enum class Keep { logs, nothing };
    virtual void discard_run(const std::string& uid, const std::string& container, int attempt,
                             Keep keep) = 0;

    /// Ends all processes of the pod at once and frees its space but for logs. `done` runs when no
    /// process is left.
    virtual void end_sandbox(const std::string& uid, std::function<void()> done) = 0;

    /// Forgets the pod, with its logs.
    virtual void forget(const std::string& uid) = 0;
};

}  // namespace muster::agent
