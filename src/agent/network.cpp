// agent/network.cpp - see network.h.
#include "agent/network.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "agent/files.h"
#include "agent/holder.h"
#include "agent/unix_socket.h"
#include "api/json.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr const char* kHolderVerb = "namespace-holder";
constexpr int kReadyFd = 3;
constexpr int kBusyTries = 500;
constexpr const char* kNoNetwork =
    "the pods' network is gone: the process that held it has ended, and a new one is being made";
constexpr unsigned kBusyMicroseconds = 20'000;

/// Starts this program again as the holder; gives what it said first.
std::string spawn_holder(const std::string& directory) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw Error(Reason::internal_error, std::string("no pipe: ") + std::strerror(errno));
    const Descriptor ours(ends[0]);
    Descriptor theirs(ends[1]);
    const std::string log = directory + "/holder.log";
    const pid_t pid = ::fork();
    if (pid < 0)
        throw Error(Reason::internal_error, std::string("cannot fork: ") + std::strerror(errno));
    if (pid == 0) {
        // Twice forked, so that it is nobody's child and no terminal's.
        ::setsid();
        if (::fork() != 0) ::_exit(0);
        const int null = ::open("/dev/null", O_RDONLY);
        const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(null, 0);
        ::dup2(errors, 1);
        ::dup2(errors, 2);
        if (theirs.get() == kReadyFd)
            ::fcntl(kReadyFd, F_SETFD, 0);
        else
            ::dup2(theirs.get(), kReadyFd);
        ::close_range(kReadyFd + 1, ~0U, 0);
        ::execl("/proc/self/exe", "muster", kHolderVerb, directory.c_str(), nullptr);
        ::_exit(127);
    }
    theirs.reset();
    ::waitpid(pid, nullptr, 0);
    std::string said;
    char piece[1024];
    for (ssize_t got = 0; (got = ::read(ours.get(), piece, sizeof(piece))) > 0;)
        said.append(piece, static_cast<std::size_t>(got));
    return said;
}

api::Value json_of(const std::string& text) {
    auto parsed = api::parse_json(text);
    auto* document = std::get_if<api::Parsed>(&parsed);
    if (!document) throw Error(Reason::internal_error, "the holder's answer cannot be read");
    return std::move(document->value);
}

}  // namespace

std::optional<int> run_hidden_verb(const std::vector<std::string>& arguments) {
    if (arguments.size() != 2 || arguments[0] != kHolderVerb) return std::nullopt;
    return run_holder(arguments[1], kReadyFd);
}

Network::~Network() {
    if (owner_fd_ >= 0) ::close(owner_fd_);
}

std::unique_ptr<Network> Network::open(const std::string& data_directory) {
    const std::string directory = data_directory + "/agent";
    make_directories(directory + "/pods", 0700);
    std::unique_ptr<Network> network(new Network(directory));
    network->own();
    return network;
}

void Network::reopen() {
    ::close(std::exchange(owner_fd_, -1));
    own();
}

/// Finds the holder, or starts it.
Descriptor Network::reach_holder() const {
    Descriptor owner = connect_unix(directory_, "holder.sock");
    for (int tries = 0; !owner; ++tries) {
        const std::string said = spawn_holder(directory_);
        // Another one is on its way: started by a Muster that was killed since, or still ending.
        const bool busy = said == "busy" && tries < kBusyTries;
        if (!busy && said != "ready")
            throw Error(Reason::forbidden,
                        said.starts_with("error ")
                            ? said.substr(6)
                            : "the process that holds the pods' namespaces did not start; see " +
                                  directory_ + "/holder.log");
        if (busy) ::usleep(kBusyMicroseconds);
        owner = connect_unix(directory_, "holder.sock");
        if (!owner && !busy)
            throw Error(Reason::internal_error,
                        "the holder of the pods' namespaces cannot be reached");
    }
    return owner;
}

/// Is the owner of the holder from now on. One that an older Muster started cannot keep pods apart
/// as this one does: it ends with its pods, which are started again in a new one.
void Network::own() {
    Descriptor owner = reach_holder();
    send_message(owner.get(), "own");
    if (!take_description(receive_message(owner.get()).text)) {
        log_warning("agent",
                    "the pods' network is of an older Muster: it is made anew, and the pods "
                    "that ran in it are started again, with empty emptyDir volumes; those whose "
                    "restartPolicy is Never fail");
        send_message(owner.get(), "end");
        while (receive_message(owner.get()).kind == Message::Kind::message) {
        }
        owner = reach_holder();
        send_message(owner.get(), "own");
        if (!take_description(receive_message(owner.get()).text))
            throw Error(Reason::internal_error,
                        "the holder of the pods' namespaces does not answer");
    }
    owner_fd_ = owner.release();
}

/// False when the answer to "own" is not one of this version; see holder.h.
bool Network::take_description(const std::string& answer) {
    const auto lines = split(answer, '\n');
    const auto words = split(lines[0], ' ');
    if (words.size() < 5 || words[0] != "ok" || words[1] != kHolderVersion || lines.size() < 2)
        return false;
    rootless_ = words[2] == "rootless";
    users_.kind = words[3] == "own" ? PodUsers::own : PodUsers::shared;
    limits_.enforced = words[4] == "limits";
    std::size_t start = 5;
    for (std::size_t i = 0; i < 5; ++i)
        start += words[i].size();
    limits_.sentence = lines[0].substr(std::min(start, lines[0].size()));
    users_.sentence =
        users_.kind == PodUsers::own
            ? "the pods of each namespace run as users of their own, who own nothing on the machine"
            : "all pods run as Muster's own user, and only the list of what they see keeps them "
              "from its files: " +
                  std::string(lines[1]);
    return true;
}

std::string Network::ask(const std::string& message, int* received_fd) const {
    const Descriptor fd = connect_unix(directory_, "holder.sock");
    if (!fd || !send_message(fd.get(), message))
        throw Error(Reason::service_unavailable, kNoNetwork);
    Message answer = receive_message(fd.get());
    if (const std::string problem = problem_in(answer.text); !problem.empty()) {
        const auto words = split(answer.text, ' ');
        errno = words.size() > 1 ? static_cast<int>(parse_integer(words[1]).value_or(EIO)) : EIO;
        throw Error(Reason::internal_error, problem);
    }
    if (received_fd) {
        if (answer.descriptors.empty())
            throw Error(Reason::internal_error, "the holder sent no socket");
        *received_fd = answer.descriptors.front().release();
    }
    return answer.text.size() > 3 ? answer.text.substr(3) : "";
}

int Network::listen(const std::string& ip, int port) {
    int fd = -1;
    ask("listen " + ip + " " + std::to_string(port), &fd);
    return fd;
}

int Network::listen_udp(const std::string& ip, int port) {
    int fd = -1;
    ask("listen_udp " + ip + " " + std::to_string(port), &fd);
    return fd;
}

int Network::dial(const std::string& ip, int port) noexcept {
    int fd = -1;
    try {
        ask("dial " + ip + " " + std::to_string(port), &fd);
    } catch (const Error&) {
        return -1;  // errno says why, as the caller of a dialling function expects.
    }
    return fd;
}

Network::Takes Network::takes(const std::string& ip, int port) const noexcept {
    try {
        const std::string said = ask("takes " + ip + " " + std::to_string(port), nullptr);
        return said == "yes" ? Takes::yes : said == "no" ? Takes::no : Takes::unknown;
    } catch (const Error&) {
        return Takes::no;  // The holder is gone, and every pod with it.
    }
}

int Network::start_pod(const std::string& pod_directory) {
    return static_cast<int>(parse_integer(ask("pod " + pod_directory, nullptr)).value_or(0));
}

bool Network::kill_pod(const std::string& pod_directory) noexcept {
    try {
        ask("kill " + pod_directory, nullptr);
        return true;
    } catch (const Error& error) {
        log_warning("agent", std::string("a pod cannot be killed: ") + error.what());
        return false;
    }
}

IdMap Network::fill_pod(const std::string& pod_directory) {
    return id_map_of(json_of(ask("fill " + pod_directory, nullptr)));
}

std::string Network::problem_in(const std::string& answer) {
    if (answer.starts_with("ok")) return "";
    const std::size_t at = answer.find(' ', 6);  // After "error " and a number.
    return at == std::string::npos ? "the holder did not answer" : answer.substr(at + 1);
}

Descriptor Network::begin_removal(const std::vector<std::string>& paths) const {
    Descriptor fd = connect_unix(directory_, "holder.sock", Patience::does_not_wait);
    if (!fd || !send_message(fd.get(), "remove " + join(paths, "\n")))
        throw Error(Reason::service_unavailable, kNoNetwork);
    set_nonblocking(fd.get());
    return fd;
}

api::Value Network::disk_use_of(const std::string& pod_directory) {
    return json_of(ask("usage " + pod_directory, nullptr));
}

void Network::end() {
    ask("end", nullptr);
    // The holder answers first; its end is the end of the owner's connection.
    receive_message(owner_fd_);
}

}  // namespace muster::agent
