// agent/local_machine.h - this machine: pods in namespaces, behind the seam of machine.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/machine.h"
#include "agent/network.h"
#include "agent/outbox.h"
#include "agent/removals.h"
#include "agent/unix_socket.h"
#include "net/asio_loop.h"
#include "net/client.h"

namespace muster::agent {

/// The real machine. Lives on `loop`.
class LocalMachine final : public Machine {
public:
    LocalMachine(Network& network, net::AsioLoop& loop);
    ~LocalMachine() override;

    std::vector<FoundPod> find_pods(MachineEvents events) override;
    std::string pod_directory(const std::string& uid) const override;
    void fill(const std::string& uid, const PodFiles& files, Filled filled) override;
    void make_sandbox(const std::string& uid, const api::Value& sandbox, Done done) override;
    void start(const std::string& uid, const std::string& container, int attempt,
               const api::Value& spec) override;
    void signal(const std::string& uid, const std::string& container, int signal) override;
    void ask(const std::string& uid, const std::string& container, const std::string& ip,
             const Handler& handler, Duration timeout, Answered answered) override;
    void discard_run(const std::string& uid, const std::string& container, int attempt,
                     Keep keep) override;
    void end_sandbox(const std::string& uid, std::function<void()> done) override;
    void forget(const std::string& uid) override;

    /// A command inside a container, with its own descriptors (the caller keeps its copies).
    /// `done` gets the exit code, and why it could not be run. Gives an id for `kill_exec`.
    struct Exec {
        std::vector<std::string> command;
        int in = -1;
        int out = -1;
        int error = -1;
        int terminal = -1;  // Instead of the three: a socket over which the terminal comes back.
    };
    using ExecDone = std::function<void(int code, const std::string& failure)>;
    std::string exec(const std::string& uid, const std::string& container, const Exec& exec,
                     ExecDone done);
    void kill_exec(const std::string& uid, const std::string& id);

    /// Shows what a container writes from now on (the caller keeps its copies of the descriptors).
    /// `done` gets a way into its standard input when it has one, and why it did not work.
    using Attached = std::function<void(Descriptor input, const std::string& failure)>;
    void attach(const std::string& uid, const std::string& container, int out, int error,
                Attached done);
    /// Nothing more will be written to the container's standard input.
    void close_input(const std::string& uid, const std::string& container);

    /// Whose files are being removed, and how far that is.
    const Removals& removals() const { return removals_; }

    /// Lets go of all pods; they live on.
    void let_go();

private:
    struct Sandbox {
        Descriptor fd;
        net::AsioLoop::WatchId watch{};
        Outbox outbox;
        bool writing = false;                    // The socket is asked whether it takes more.
        std::optional<Loop::TimerId> next_look;  // While its init has something to read.
        std::string lost;                        // Why it was given up.
        std::function<void()> ended;             // Set while it is being ended.
        std::map<std::string, ExecDone> execs;
        std::map<std::string, Attached> attaching;
    };
    struct Question;

    /// Files of an ended pod that could not be removed.
    struct Leftover {
        std::vector<std::string> paths;
        int tries = 0;
        Loop::TimerId next{};
    };

    bool connect(const std::string& uid);
    void ready(const std::string& uid, net::AsioLoop::Interest interest);
    void clear(const std::string& uid, std::vector<std::string> paths, int tries = 0);
    void cleared(const RemovalJob& job, const std::string& problem);
    void keep_leftover(const RemovalJob& job, const std::string& problem);
    void drop_leftover(const std::string& uid);
    void read(const std::string& uid);
    void take(const std::string& uid, const api::Value& event, std::vector<Descriptor> descriptors);
    void close(const std::string& uid);
    using Refused = std::function<void(const std::string& why)>;
    void say(const std::string& uid, const api::Value& request);
    void say_if_room(const std::string& uid, const api::Value& request,
                     const std::vector<int>& descriptors, const Refused& refused);
    void push(const std::string& uid);
    void look_at_init(const std::string& uid);
    void give_up(const std::string& uid, const std::string& why);
    void kill_init(const std::string& uid);
    void ask_command(const std::string& uid, const std::string& container,
                     const std::vector<std::string>& command, Duration timeout, Answered answered);
    void ask_http(const std::string& ip, const Handler& handler, Duration timeout,
                  Answered answered);
    void ask_tcp(const std::string& ip, const Handler& handler, Duration timeout,
                 Answered answered);

    Network& network_;
    net::AsioLoop& loop_;
    net::AsioLoop spawner_;  // Starting a pod waits for the holder.
    Removals removals_;
    std::unique_ptr<net::Client> client_;
    MachineEvents events_;
    std::map<std::string, Sandbox> sandboxes_;
    std::map<std::string, Leftover> leftovers_;      // By the pod's uid.
    std::map<std::string, std::string> namespaces_;  // Kubernetes' own, by the pod's uid.
    std::uint64_t last_exec_ = 0;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::agent
