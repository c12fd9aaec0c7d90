// agent/holder.cpp - see holder.h.
#include "agent/holder.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup_tree.h"
#include "agent/descriptor.h"
#include "agent/files.h"
#include "agent/holder_ground.h"
#include "agent/json_file.h"
#include "agent/kernel_parameters.h"
#include "agent/listening.h"
#include "agent/network.h"
#include "agent/pod_chores.h"
#include "agent/pod_init.h"
#include "agent/pod_users.h"
#include "agent/seccomp_profile.h"
#include "agent/unix_socket.h"
#include "api/json.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr int kLonelySeconds = 600;
constexpr int kInitMilliseconds = 30'000;  // Until a new pod's init is ready; it takes some 10.

/// A forked child that is process 1 of new namespaces.
pid_t clone_into(int flags) {
    return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

/// Anything but an address and a port would end up as "every address" or "any port".
sockaddr_in inet_address(const std::string& ip, std::string_view port) {
    const auto number = parse_integer(port);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (!number || *number < 1 || *number > 65'535 ||
        ::inet_pton(AF_INET, ip.c_str(), &address.sin_addr) != 1) {
        errno = EINVAL;
        throw Error(Reason::invalid,
                    "\"" + ip + ":" + std::string(port) + "\" is no address and port");
    }
    address.sin_port = htons(static_cast<std::uint16_t>(*number));
    return address;
}

/// What a network namespace of its own lets an unprivileged process do, as container runtimes set
/// it: ports below 1024, and ping. What the pod itself asks for comes after, and is set by a
/// process that may set all of the machine's: only the pod's own parameters are. The name of what
/// could not be set is given back.
std::string set_kernel_parameters(const api::Value& sandbox) {
    const auto set = [](const std::string& name, const std::string& value) {
        const auto path = path_of_own_parameter(name);
        errno = EPERM;
        if (!path) return false;
        const Descriptor fd(::open(("/proc/sys/" + *path).c_str(), O_WRONLY | O_CLOEXEC));
        return fd && ::write(fd.get(), value.data(), value.size()) >= 0;
    };
    set("net.ipv4.ip_unprivileged_port_start", "0");
    if (!set("net.ipv4.ping_group_range", "0 2147483647")) set("net.ipv4.ping_group_range", "0 0");
    for (const api::Value& each : sandbox["sysctls"].items())
        if (!set(each["name"].text(), each["value"].text()))
            return fault("cannot set the sysctl " + each["name"].text());
    return "";
}

/// The child's side of a new pod: waits for its network, then is the pod's init for good.
[[noreturn]] void become_pod(const std::string& directory, const api::Value& sandbox, int listener,
                             int go, const CgroupTree& groups,
                             const std::vector<sock_filter>& filter) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (::read(go, &byte, 1) != 1) ::_exit(1);
    Confinement confinement{{}, filter};
    try {
        make_network_of_pod(sandbox["ip"].text());
        confinement.users = prepare_pod(sandbox);
    } catch (const Error& error) {
        const std::string text = error.what();
        (void)!::write(go, text.data(), text.size());
        ::_exit(1);
    }
    if (const std::string text = set_kernel_parameters(sandbox); !text.empty()) {
        (void)!::write(go, text.data(), text.size());
        ::_exit(1);
    }
    const std::string hostname = sandbox["hostname"].text();
    ::sethostname(hostname.data(), hostname.size());
    (void)!::write(go, "", 1);  // A single zero: ready.
    ::close(go);
    ::_exit(run_pod_init(directory, listener, groups, std::move(confinement)));
}

/// A document that the server left for the holder.
api::Value demand_json(const std::string& path) {
    api::Value document = read_json(path);
    if (!document.is_object()) throw Error(Reason::bad_request, "cannot read " + path);
    return document;
}

/// One holder a directory, for as long as it lives; empty when there is another one.
Descriptor lock_of(const std::string& directory) {
    Descriptor lock(
        ::open((directory + "/holder.lock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!lock) throw Error(Reason::internal_error, fault("cannot open " + directory));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.reset();
    return lock;
}

class Holder {
public:
    Holder(std::string directory, Descriptor lock, CgroupTree groups, Ground ground)
        : directory_(std::move(directory)),
          lock_(std::move(lock)),
          groups_(std::move(groups)),
          ground_(std::move(ground)),
          users_(directory_, ground_.supply),
          filter_(make_seccomp_program()),
          listener_(listen_unix(directory_, "holder.sock")) {
        sigset_t children;
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        ::sigprocmask(SIG_BLOCK, &children, nullptr);
        signals_.reset(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    }

    int run();

private:
    struct Client {
        Descriptor fd;
        bool owner = false;
    };
    struct Pod {
        pid_t pid = -1;
        std::string ip;
        std::string name;  // Of its folder.
        std::string ns;
    };

    void accept_clients();
    void serve(Client& client);
    /// Whether somebody else answers on the connection.
    enum class Given { away, kept };
    Given answer(int client, const std::string& text);
    Descriptor make_socket(const std::vector<std::string_view>& words);
    std::string takes(const std::string& ip, int port) const;
    std::string about_itself() const;
    pid_t start_pod(const std::string& pod_directory);
    bool do_chore(int client, const std::vector<std::string_view>& words, const std::string& text);
    IdMap users_of(const std::string& pod_directory);
    const Pod* find_pod(const std::string& pod_directory) const;
    void work_apart(int client, const std::function<std::string(int own)>& work);
    void reap();
    bool owned() const {
        return std::any_of(clients_.begin(), clients_.end(),
                           [](const Client& client) { return client.owner; });
    }

    std::string directory_;
    Descriptor lock_;
    CgroupTree groups_;
    Ground ground_;
    PodUserTable users_;
    std::vector<sock_filter> filter_;
    Descriptor listener_;
    Descriptor signals_;
    std::vector<Client> clients_;
    std::vector<Pod> pods_;
    std::map<std::string, std::string> filled_;  // Pods not yet started: folder -> namespace.
    unsigned links_ = 0;
    bool ending_ = false;
};

int Holder::run() {
    std::time_t lonely_since = std::time(nullptr);
    while (!ending_) {
        std::vector<pollfd> waits{{listener_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
        for (const Client& client : clients_)
            waits.push_back({client.fd.get(), POLLIN, 0});
        ::poll(waits.data(), waits.size(), 5000);
        reap();
        for (std::size_t i = 0; i < clients_.size(); ++i)
            if (waits[i + 2].revents != 0) serve(clients_[i]);
        std::erase_if(clients_, [](const Client& client) { return !client.fd; });
        if (waits[0].revents != 0) accept_clients();
        if (owned())
            lonely_since = std::time(nullptr);
        else if (std::time(nullptr) - lonely_since > kLonelySeconds)
            ending_ = true;
    }
    for (const Pod& pod : pods_)
        ::kill(pod.pid, SIGKILL);
    for (const Pod& pod : pods_)
        ::waitpid(pod.pid, nullptr, 0);
    remove_groups(groups_);
    return 0;
}

void Holder::accept_clients() {
    for (;;) {
        const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        clients_.push_back({Descriptor(fd), false});
    }
}

void Holder::serve(Client& client) {
    const Message message = receive_message(client.fd.get());
    if (message.kind == Message::Kind::none_now) return;
    if (message.kind == Message::Kind::closed) return client.fd.reset();
    if (message.text == "own") client.owner = true;
    try {
        // The connection is the chore's alone: its end is seen also when it dies without a word.
        if (answer(client.fd.get(), message.text) == Given::away) client.fd.reset();
    } catch (const Error& error) {
        send_message(client.fd.get(),
                     "error " + std::to_string(errno) + " " + std::string(error.what()));
    }
}

Holder::Given Holder::answer(int client, const std::string& text) {
    const std::vector<std::string_view> words = split(text, ' ');
    if (do_chore(client, words, text)) return Given::away;
    if (words[0] == "own") {
        send_message(client, "ok " + std::string(kHolderVersion) + " " + about_itself());
    } else if (words[0] == "pod" && words.size() > 1) {
        send_message(client, "ok " + std::to_string(start_pod(text.substr(4))));
    } else if (words[0] == "kill" && words.size() > 1) {
        if (const Pod* const pod = find_pod(text.substr(5))) ::kill(pod->pid, SIGKILL);
        send_message(client, "ok");
    } else if (words[0] == "end") {
        ending_ = true;
        send_message(client, "ok");
    } else if (words[0] == "takes" && words.size() == 3) {
        const auto port = parse_integer(words[2]).value_or(0);
        send_message(client, "ok " + takes(std::string(words[1]), static_cast<int>(port)));
    } else if (words.size() == 3) {
        const Descriptor made = make_socket(words);
        send_message(client, "ok", {made.get()});
    } else {
        throw Error(Reason::bad_request, "the holder does not know this request");
    }
    return Given::kept;
}

std::string Holder::about_itself() const {
    const bool own = ground_.supply.kind != IdSupply::Kind::none;
    const std::string mode = std::string(ground_.rootless ? "rootless " : "rootful ") +
                             (own ? "own " : "shared ") +
                             (groups_.enforces_all() ? "limits " : "nolimits ");
    const std::string limits =
        groups_.enforces_all()
            ? "limits of cpu and memory are enforced through cgroup " +
                  std::string(groups_.version == CgroupVersion::two ? "v2" : "v1")
            : groups_.problem;
    return mode + limits + "\n" + ground_.users_problem;
}

/// The slow work with pods' files is done beside the holder, which answers others meanwhile.
bool Holder::do_chore(int client, const std::vector<std::string_view>& words,
                      const std::string& text) {
    const std::string rest =
        words.size() > 1 ? text.substr(std::min(words[0].size() + 1, text.size())) : "";
    if (words[0] == "fill" && !rest.empty()) {
        const IdMap ids = users_of(rest);
        work_apart(client, [&](int) {
            fill_pod(rest, ids);
            return api::to_json(to_value(ids));
        });
    } else if (words[0] == "remove" && !rest.empty()) {
        const std::vector<std::string_view> paths = split(rest, '\n');
        for (const std::string_view path : paths)
            filled_.erase(directory_ + "/pods/" + std::string(path));
        work_apart(client, [&](int own) {
            ::prctl(PR_SET_NAME, "muster-remover");
            RemovalTeller teller([own](const std::string& word) { send_message(own, word); });
            remove_all_beneath(directory_ + "/pods", paths,
                               [&teller](std::int64_t bytes) { teller.count(bytes); });
            teller.tell();
            return std::string();
        });
    } else if (words[0] == "usage" && !rest.empty()) {
        const Pod* const pod = find_pod(rest);
        const pid_t init = pod ? pod->pid : 0;
        work_apart(client, [&](int) { return api::to_json(pod_disk_use(rest, init)); });
    } else {
        return false;
    }
    return true;
}

/// The users of the pod whose files are to be written. They are known before the pod runs.
IdMap Holder::users_of(const std::string& pod_directory) {
    const api::Value list = demand_json(pod_directory + "/incoming/list.json");
    const std::string ns = list["namespace"].text();
    std::set<std::string> busy;
    for (const Pod& pod : pods_)
        busy.insert(pod.ns);
    for (const auto& [folder, waiting] : filled_)
        busy.insert(waiting);
    IdMap ids = users_.map_for(ns, ids_wanted_of(list["ids"]), busy);
    if (!find_pod(pod_directory)) filled_[pod_directory] = ns;
    return ids;
}

/// The running pod of a folder.
const Holder::Pod* Holder::find_pod(const std::string& pod_directory) const {
    const auto pod = std::find_if(pods_.begin(), pods_.end(), [&](const Pod& each) {
        return pod_directory.ends_with("/" + each.name);
    });
    return pod == pods_.end() ? nullptr : &*pod;
}

void Holder::work_apart(int client, const std::function<std::string(int own)>& work) {
    const pid_t holder = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) throw Error(Reason::internal_error, fault("cannot fork"));
    if (pid > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != holder) ::_exit(1);
    // The lock that the next holder waits for, and the socket that it listens on, must not outlive
    // this holder in its child.
    const Descriptor own(::fcntl(client, F_DUPFD_CLOEXEC, 3));
    lock_.reset();
    listener_.reset();
    signals_.reset();
    clients_.clear();
    users_.forget_locks();
    std::string answer;
    try {
        answer = "ok " + work(own.get());
    } catch (const std::exception& error) {
        answer = "error " + std::to_string(EIO) + " " + std::string(error.what());
    }
    send_message(own.get(), answer);
    ::_exit(0);
}

/// The kernel's own list is asked: a connection would be noticed by what listens.
std::string Holder::takes(const std::string& ip, int port) const {
    const auto pod =
        std::find_if(pods_.begin(), pods_.end(), [&ip](const Pod& each) { return each.ip == ip; });
    if (pod == pods_.end()) return "unknown";
    if (const auto listens = listens_in_network_of(pod->pid, ip, port))
        return *listens ? "yes" : "no";
    const std::string net = "/proc/" + std::to_string(pod->pid) + "/net/";
    const auto four = read_file(net + "tcp");
    const auto six = read_file(net + "tcp6");
    if (!four && !six) return "unknown";
    const bool listens =
        listens_on(four.value_or(""), ip, port) || listens_on(six.value_or(""), ip, port);
    return listens ? "yes" : "no";
}

Descriptor Holder::make_socket(const std::vector<std::string_view>& words) {
    const std::string what(words[0]);
    const std::string ip(words[1]);
    const sockaddr_in address = inet_address(ip, words[2]);
    const auto* raw = reinterpret_cast<const sockaddr*>(&address);
    const int type = (what == "listen_udp" ? SOCK_DGRAM : SOCK_STREAM);
    Descriptor fd(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    bool good = static_cast<bool>(fd);
    if (good && what == "dial") {
        good = ::connect(fd.get(), raw, sizeof(address)) == 0 || errno == EINPROGRESS;
    } else if (good) {
        ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        good = ::bind(fd.get(), raw, sizeof(address)) == 0 &&
               (what == "listen_udp" || ::listen(fd.get(), 1024) == 0);
    }
    if (!good) throw Error(Reason::internal_error, fault(what + " " + ip));
    return fd;
}

pid_t Holder::start_pod(const std::string& pod_directory) {
    const api::Value sandbox = demand_json(pod_directory + "/sandbox.json");
    Descriptor listener = listen_unix(pod_directory, "init.sock");
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw Error(Reason::internal_error, fault("cannot make a socket pair"));
    Descriptor ours(ends[0]);
    Descriptor theirs(ends[1]);
    const pid_t pid =
        clone_into(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC);
    if (pid < 0) throw Error(Reason::internal_error, fault("cannot make a pod's namespaces"));
    if (pid == 0) {
        ours.reset();
        lock_.reset();
        listener_.reset();
        signals_.reset();
        clients_.clear();
        users_.forget_locks();
        become_pod(pod_directory, sandbox, listener.release(), theirs.release(), groups_, filter_);
    }
    theirs.reset();
    pods_.push_back({pid, sandbox["ip"].text(), pod_directory.substr(pod_directory.rfind('/') + 1),
                     sandbox["namespace"].text()});
    join_pod("p" + std::to_string(++links_), sandbox["ip"].text(), pid);
    (void)!::write(ours.get(), "g", 1);
    char text[4096];
    pollfd wait{ours.get(), POLLIN, 0};
    const bool in_time = ::poll(&wait, 1, kInitMilliseconds) == 1;
    const ssize_t got = in_time ? ::read(ours.get(), text, sizeof(text)) : -1;
    if (got == 1 && text[0] == 0) {
        filled_.erase(pod_directory);  // From here on it holds its ids as a pod that runs.
        return pid;
    }
    ::kill(pid, SIGKILL);
    throw Error(Reason::internal_error, !in_time  ? "the pod's init was not ready within 30 s"
                                        : got > 0 ? std::string(text, static_cast<std::size_t>(got))
                                                  : "the pod's init died");
}

void Holder::reap() {
    signalfd_siginfo info[16];
    while (::read(signals_.get(), info, sizeof(info)) > 0) {
    }
    for (;;) {
        const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
        if (pid <= 0) return;
        const auto gone = std::find_if(pods_.begin(), pods_.end(),
                                       [pid](const Pod& pod) { return pod.pid == pid; });
        if (gone == pods_.end()) continue;
        const std::string name = gone->name;
        pods_.erase(gone);
        // A pod that was started again meanwhile has groups of the same names.
        if (!find_pod("/" + name)) remove_pod_groups(groups_, name);
    }
}

}  // namespace

int run_holder(const std::string& directory, int ready_fd) {
    const auto say = [ready_fd](const std::string& text) {
        (void)!::write(ready_fd, text.data(), text.size());
        ::close(ready_fd);
    };
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_NAME, "muster-holder");
    try {
        Descriptor lock = lock_of(directory);
        if (!lock) {
            say("busy");
            return 1;
        }
        const std::string name = "muster-" + to_digits(stable_hash(directory));
        // Before the namespaces: inside them these files belong to nobody.
        CgroupTree groups = claim_cgroups(name);
        Ground ground = enter_namespaces();
        make_network();
        Holder holder(directory, std::move(lock), std::move(groups), std::move(ground));
        say("ready");
        return holder.run();
    } catch (const Error& error) {
        say(std::string("error ") + error.what());
        return 1;
    }
}

}  // namespace muster::agent
