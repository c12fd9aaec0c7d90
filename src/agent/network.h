// agent/network.h - Muster's own network namespace: pods, bridge, service addresses; reached from
// outside through sockets made inside.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::agent {

inline constexpr const char* kApiServiceAddress = "10.96.0.1";  // The service `kubernetes`.
inline constexpr const char* kDnsServiceAddress = "10.96.0.10";
inline constexpr const char* kServiceCidr = "10.96.0.0/12";
inline constexpr const char* kPodCidr = "10.244.0.0/16";

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

    /// What the holder is asked for a new pod; see pod_init.h. Gives the process id of its init.
    int start_pod(const std::string& pod_directory);

    /// Ends the holder and with it everything that runs in the network.
    void end();

    /// True when the holder runs without being root outside.
    bool rootless() const { return rootless_; }

    const std::string& directory() const { return directory_; }  // "<data>/agent"

private:
    Network(std::string directory, int owner_fd);
    std::string ask(const std::string& message, int* received_fd) const;

    std::string directory_;
    int owner_fd_;  // Open as long as this Muster lives; its end tells the holder.
    bool rootless_ = false;
};

}  // namespace muster::agent
