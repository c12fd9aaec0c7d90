// agent/network.h - Muster's own network namespace: pods, their gateway, service addresses; reached
// from outside through sockets made inside.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/descriptor.h"
#include "agent/identity.h"
#include "agent/uid_ranges.h"
#include "api/value.h"

namespace muster::agent {

inline constexpr const char* api_service_address = "10.96.0.1";  // The service `kubernetes`.
inline constexpr const char* dns_service_address = "10.96.0.10";
inline constexpr const char* service_cidr = "10.96.0.0/12";
inline constexpr const char* pod_cidr = "10.244.0.0/16";

/// The verbs under which the program runs itself again (holder of the namespaces). Call it first
/// in main: when `arguments` (without the program) are such a verb, it runs to its end and gives
/// the exit code.
std::optional<int> run_hidden_verb(const std::vector<std::string>& arguments);

/// The network of one data folder. A small process, the holder, keeps its namespaces and starts
/// the pods in them; it outlives a crash of Muster and is found again by the next one. Methods may
/// be called from any thread.
class Network {
public:
    /// Finds the holder of this data folder or starts one. Throws Error with a sentence for the
    /// user when the machine forbids namespaces.
    static std::unique_ptr<Network> open(const std::string& data_directory);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    /// A socket that listens at ip:port inside the network. Any address of the service range may
    /// be used. Throws Error.
    int listen(const std::string& ip, int port);

    /// A bound UDP socket inside the network. Throws Error.
    int listen_udp(const std::string& ip, int port);

    /// A non-blocking socket that is connecting to ip:port inside the network; -1 with errno when
    /// it cannot. Fits net::ClientOptions::dial.
    int dial(const std::string& ip, int port) noexcept;

    /// Whether something takes connections at ip:port; unknown when the address is no pod's.
    enum class Takes { yes, no, unknown };
    Takes takes(const std::string& ip, int port) const noexcept;

    /// What the holder is asked for a new pod; see pod_init.h. Gives the process id of its init.
    int start_pod(const std::string& pod_directory);

    /// Kills the pod's init, and every process of the pod with it; one that does not run is not
    /// missed.
    bool kill_pod(const std::string& pod_directory) noexcept;

    /// Puts the files of a pod in place, see pod_chores.h; gives the pod's users. Throws Error.
    IdMap fill_pod(const std::string& pod_directory);

    /// Has folders or files beneath the folder of all pods removed, as many paths as one message
    /// takes (see in_messages). Over the connection comes how far that is, and the answer. Throws
    /// Error.
    Descriptor begin_removal(const std::vector<std::string>& paths) const;
    /// What an answer of the holder says is wrong; empty: nothing.
    static std::string problem_in(const std::string& answer);

    /// What the pod takes on the disk; see pod_chores.h. Throws Error.
    api::Value disk_use_of(const std::string& pod_directory);

    /// Readable when the holder is gone, and every pod with it.
    int sign_of_life() const { return owner_fd_; }

    /// A new holder after the old one is gone; sockets made before are of no use any more. On the
    /// thread that watches the sign of life, which has another descriptor afterwards. Throws Error.
    void reopen();

    /// Ends the holder and with it everything that runs in the network.
    void end();

    /// True when the holder runs without being root outside.
    bool rootless() const { return rootless_; }

    /// Whether the pods of each namespace have users of their own, and a sentence for the node's
    /// condition: where they have not, why and what to do.
    struct Users {
        PodUsers kind = PodUsers::own;
        std::string sentence;
    };
    const Users& users() const { return users_; }

    /// Whether cpu and memory limits of pods are enforced, and a sentence for the node's condition.
    struct Limits {
        bool enforced = false;
        std::string sentence;
    };
    const Limits& limits() const { return limits_; }

    const std::string& directory() const { return directory_; }  // "<data>/agent"

private:
    explicit Network(std::string directory) : directory_(std::move(directory)) {}
    void own();
    Descriptor reach_holder() const;
    bool take_description(const std::string& answer);
    std::string ask(const std::string& message, int* received_fd) const;

    std::string directory_;
    int owner_fd_ = -1;  // Open as long as this Muster lives; its end tells the holder.
    bool rootless_ = false;
    Users users_;
    Limits limits_;
};

}  // namespace muster::agent
