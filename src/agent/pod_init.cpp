// agent/pod_init.cpp - see pod_init.h.
#include "agent/pod_init.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/container_process.h"
#include "agent/container_run.h"
#include "agent/files.h"
#include "agent/json_file.h"
#include "agent/outbox.h"
#include "agent/unix_socket.h"
#include "agent/user_namespace.h"
#include "api/json.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr int kLonelySeconds = 600;
constexpr int kGraceSeconds = 30;
// A client that does not read the answers is not asked for more requests.
constexpr std::size_t kMostAnswers = 256;
constexpr int kRequestsAtOnce = 64;  // Of a client; then processes are reaped.

std::time_t steady_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

/// Somebody who is connected: a Muster. It may be slow, or stopped: nothing here waits for it.
struct Client {
    Descriptor fd;
    Outbox outbox;
};

struct Exec {
    std::string id;
    std::string container;
    pid_t waiter = -1;
    LineReader status{Descriptor()};
    int owner = -1;
    bool told = false;
};

class PodInit {
public:
    PodInit(std::string directory, int listener, const CgroupTree& groups, Confinement confinement)
        : directory_(std::move(directory)),
          groups_(groups),
          confinement_(std::move(confinement)),
          listener_(listener) {}

    int run();

private:
    void make_folders();
    void wait_and_serve();
    void accept_clients();
    void serve(Client& client);
    void act(Client& client, const api::Value& request, Message& message);
    void start(const std::string& name, std::int64_t attempt);
    void attach(Client& client, const api::Value& request, Message& message);
    void join(Client& client, const api::Value& request, Message& message);
    void read_container(ContainerRun& container);
    void set_state(ContainerRun& container, std::string_view line);
    void end_container(ContainerRun& container, std::int64_t code, std::int64_t signal,
                       const std::string& failure);
    void wait_for_end(ContainerRun& ending);
    void read_exec(Exec& exec);
    static void tell(Client& client, const std::string& text,
                     const std::vector<int>& descriptors = {});
    void publish(const api::Value& event);
    void reap();
    void mind_loneliness();
    ContainerRun* find(const std::string& name);

    std::string directory_;
    CgroupTree groups_;
    Confinement confinement_;
    Descriptor listener_;
    std::list<Client> clients_;
    std::list<ContainerRun> containers_;  // The newest attempt of each name is the last of it.
    std::list<Exec> execs_;
    std::time_t lonely_since_ = 0;
    bool asked_to_end_ = false;
    bool over_ = false;
};

int PodInit::run() {
    ::prctl(PR_SET_NAME, "muster-pod");
    ::signal(SIGPIPE, SIG_IGN);
    make_folders();
    lonely_since_ = steady_seconds();
    while (!over_) {
        wait_and_serve();
        reap();
        mind_loneliness();
    }
    ::kill(-1, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    for (ContainerRun& container : containers_)
        if (container.running) {
            container.drain();
            end_container(container, 137, SIGKILL, "");
        }
    return 0;
}

void PodInit::make_folders() {
    make_directories(directory_ + "/containers");
    make_directories(directory_ + "/logs");
}

void PodInit::wait_and_serve() {
    std::vector<pollfd> waits{{listener_.get(), POLLIN, 0}};
    const auto add = [&waits](int fd) { waits.push_back({fd, POLLIN, 0}); };
    for (const Client& client : clients_) {
        const bool slow = client.outbox.size() >= kMostAnswers;
        const bool waiting = !client.outbox.empty();
        const int events = (slow ? 0 : POLLIN) | (waiting ? POLLOUT : 0);
        waits.push_back({client.fd.get(), static_cast<short>(events), 0});
    }
    for (const ContainerRun& container : containers_)
        container.add_polls(waits);
    for (const Exec& exec : execs_)
        add(exec.status.fd());
    ::poll(waits.data(), waits.size(), 5000);
    std::size_t at = 0;
    for (Client& client : clients_) {
        const short events = waits[++at].revents;
        if ((events & ~POLLOUT) != 0) serve(client);
        if (client.fd && client.outbox.send(client.fd.get()) == Outbox::Sent::closed)
            client.fd.reset();
    }
    clients_.remove_if([](const Client& client) { return !client.fd; });
    for (ContainerRun& container : containers_)
        if (container.running) read_container(container);
    for (Exec& exec : execs_)
        read_exec(exec);
    execs_.remove_if([](const Exec& exec) { return !exec.status.open(); });
    if (waits[0].revents != 0) accept_clients();
}

void PodInit::accept_clients() {
    for (;;) {
        Descriptor fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd) return;
        Client& client = clients_.emplace_back();
        client.fd = std::move(fd);
        for (const ContainerRun& container : containers_)
            tell(client, api::to_json(container.state));
        tell(client, R"({"event":"hello"})");
    }
}

void PodInit::serve(Client& client) {
    for (int served = 0; served < kRequestsAtOnce && client.fd; ++served) {
        Message message = receive_message(client.fd.get());
        if (message.kind == Message::Kind::none_now) return;
        if (message.kind == Message::Kind::closed) return client.fd.reset();
        const auto parsed = api::parse_json(message.text);
        if (const auto* document = std::get_if<api::Parsed>(&parsed))
            act(client, document->value, message);
    }
}

void PodInit::act(Client& client, const api::Value& request, Message& message) {
    const std::string verb = request["do"].text();
    const std::string name = request["container"].text();
    if (verb == "start") {
        start(name, request["attempt"].integer_or(0));
    } else if (verb == "signal") {
        const ContainerRun* container = find(name);
        if (container) container->signal(static_cast<int>(request["signal"].integer_or(SIGTERM)));
    } else if (verb == "exec") {
        join(client, request, message);
    } else if (verb == "attach") {
        attach(client, request, message);
    } else if (verb == "close_input") {
        if (ContainerRun* container = find(name)) container->input.reset();
    } else if (verb == "kill") {
        for (const Exec& exec : execs_)
            if (exec.id == request["id"].text()) ::kill(exec.waiter, SIGKILL);
    } else if (verb == "end") {
        over_ = true;
    }
}

ContainerRun* PodInit::find(const std::string& name) {
    for (auto each = containers_.rbegin(); each != containers_.rend(); ++each)
        if (each->name == name) return &*each;
    return nullptr;
}

void PodInit::start(const std::string& name, std::int64_t attempt) {
    const ContainerRun* newest = find(name);
    if (newest && (newest->running || newest->attempt >= attempt)) return;
    const std::string place = directory_ + "/containers/" + name + "/" + std::to_string(attempt);
    ContainerRun& container = containers_.emplace_back();
    container.name = name;
    container.attempt = attempt;
    container.spec = read_json(place + ".json");
    container.state = api::Value::object({{"event", "state"},
                                          {"container", name},
                                          {"attempt", attempt},
                                          {"started", present().since_epoch}});
    container.running = true;
    try {
        make_directories(place);
        make_directories(directory_ + "/logs/" + name);
        container.log.open(directory_ + "/logs/" + name + "/" + std::to_string(attempt) + ".log");
        container.start(groups_, directory_.substr(directory_.rfind('/') + 1), confinement_);
        replace_file(place + ".state.json", api::to_json(container.state));
    } catch (const Error& error) {
        end_container(container, 128, 0, error.what());
    }
    // A container that has ended is of no use here once a newer attempt is known; disk has it.
    containers_.remove_if(
        [&](const ContainerRun& old) { return old.name == name && old.attempt < attempt; });
}

void PodInit::join(Client& client, const api::Value& request, Message& message) {
    const std::string id = request["id"].text();
    const ContainerRun* container = find(request["container"].text());
    try {
        if (!container || !container->running)
            throw Error(Reason::not_found, "the container is not running");
        if (message.descriptors.size() != (request["tty"].boolean_or(false) ? 1U : 3U))
            throw Error(Reason::bad_request, "an exec comes with three descriptors, or a socket");
        Started started =
            join_container({container->doors, container->spec, request, container->group.folders,
                            confinement_, message.descriptors});
        execs_.push_back({id, container->name, started.pid, LineReader(std::move(started.status)),
                          client.fd.get(), false});
    } catch (const Error& error) {
        tell(client,
             api::to_json(api::Value::object(
                 {{"event", "exec"}, {"id", id}, {"code", 126}, {"failure", error.what()}})));
    }
}

/// Shows a container's output from now on, and gives away an end of its input.
void PodInit::attach(Client& client, const api::Value& request, Message& message) {
    ContainerRun* container = find(request["container"].text());
    api::Value event = api::Value::object({{"event", "attached"}, {"id", request["id"]}});
    std::vector<int> descriptors;
    if (!container || !container->running || message.descriptors.size() != 2) {
        event.set("failure", "the container is not running");
    } else {
        for (const Descriptor& each : message.descriptors)
            set_nonblocking(each.get());
        container->watchers.push_back(
            {std::move(message.descriptors[0]), std::move(message.descriptors[1]), {}, {}});
        if (container->input) descriptors.push_back(container->input.get());
    }
    tell(client, api::to_json(event), descriptors);
}

void PodInit::read_container(ContainerRun& container) {
    container.drain();
    if (!container.status.open()) return;
    std::string last;
    const bool more = container.status.read([&](std::string_view line) {
        if (line.starts_with("started")) {
            container.take_ways_in();
            container.state.set("ready", true);
            publish(container.state);
        } else {
            last = line;
        }
    });
    if (!last.empty()) return set_state(container, last);
    if (!more) end_container(container, 137, SIGKILL, "");
}

void PodInit::set_state(ContainerRun& container, std::string_view line) {
    if (line.starts_with("failed ")) {
        end_container(container, 128, 0, std::string(line.substr(7)));
        return;
    }
    const auto words = split(line, ' ');
    const auto number = [&words](std::size_t at) {
        return words.size() > at ? parse_integer(words[at]).value_or(0) : 0;
    };
    end_container(container, number(1), number(2), "");
}

/// Reaps until the container's first process is gone. That one waits for all of its pid namespace,
/// also for a joined command whose parent has died: that is a child of ours by now.
void PodInit::wait_for_end(ContainerRun& ending) {
    while (ending.pid > 0) {
        const pid_t gone = ::waitpid(-1, nullptr, 0);
        if (gone < 0 && errno == EINTR) continue;
        if (gone < 0) break;
        for (ContainerRun& container : containers_)
            if (container.pid == gone) container.pid = -1;  // The number may be another's soon.
    }
}

void PodInit::end_container(ContainerRun& container, std::int64_t code, std::int64_t signal,
                            const std::string& failure) {
    // Only when nothing of it runs are the pipes at their end.
    for (const Exec& exec : execs_)
        if (exec.container == container.name) ::kill(exec.waiter, SIGKILL);
    container.end();
    wait_for_end(container);
    container.take_ways_in();  // It may have ended before it was seen to start.
    container.drain();
    container.watchers.clear();
    container.input.reset();
    container.doors = {};
    container.log.finish(present());
    container.running = false;
    container.state.set("finished", present().since_epoch);
    container.state.set("code", code);
    container.state.set("signal", signal);
    if (!failure.empty()) container.state.set("failure", failure);
    if (was_out_of_memory(groups_, container.group)) container.state.set("outOfMemory", true);
    remove_run_group(container.group);
    try {
        replace_file(directory_ + "/containers/" + container.name + "/" +
                         std::to_string(container.attempt) + ".state.json",
                     api::to_json(container.state));
    } catch (const Error& error) {
        (void)!::write(2, error.what(), std::char_traits<char>::length(error.what()));
    }
    publish(container.state);
}

void PodInit::read_exec(Exec& exec) {
    std::string last;
    const bool more = exec.status.read([&last](std::string_view line) {
        if (!line.starts_with("started")) last = line;
    });
    if (last.empty() && more) return;
    if (exec.told) return;
    exec.told = true;
    api::Value event = api::Value::object({{"event", "exec"}, {"id", exec.id}});
    const auto words = split(last, ' ');
    if (last.starts_with("exited ") && words.size() > 1) {
        event.set("code", parse_integer(words[1]).value_or(0));
    } else if (last.starts_with("failed ")) {
        event.set("code", 126);
        event.set("failure", last.substr(7));
    } else {
        event.set("code", 137);
    }
    for (Client& client : clients_)
        if (client.fd && client.fd.get() == exec.owner) tell(client, api::to_json(event));
}

void PodInit::publish(const api::Value& event) {
    const std::string text = api::to_json(event);
    for (Client& client : clients_)
        tell(client, text);
}

/// A client that leaves more answers unread than are kept is let go; Muster then ends the pod.
void PodInit::tell(Client& client, const std::string& text, const std::vector<int>& descriptors) {
    if (!client.fd) return;
    const auto added = client.outbox.add(text, descriptors, Outbox::Weight::own);
    if (added == Outbox::Added::full || client.outbox.send(client.fd.get()) == Outbox::Sent::closed)
        client.fd.reset();
}

void PodInit::reap() {
    // Containers' first processes are waited for where their end is noted.
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
        const bool container = std::any_of(
            containers_.begin(), containers_.end(),
            [&](const ContainerRun& each) { return each.running && each.pid == info.si_pid; });
        if (container) return;
        ::waitpid(info.si_pid, nullptr, 0);
    }
}

void PodInit::mind_loneliness() {
    if (!clients_.empty()) {
        lonely_since_ = steady_seconds();
        return;
    }
    const std::time_t lonely = steady_seconds() - lonely_since_;
    if (lonely > kLonelySeconds && !asked_to_end_) {
        asked_to_end_ = true;
        for (const ContainerRun& container : containers_)
            container.signal(SIGTERM);
    }
    const bool quiet = std::none_of(containers_.begin(), containers_.end(),
                                    [](const ContainerRun& each) { return each.running; });
    if (asked_to_end_ && (quiet || lonely > kLonelySeconds + kGraceSeconds)) over_ = true;
}

}  // namespace

Descriptor prepare_pod(const api::Value& sandbox) {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot mount the pod's /proc: ") + std::strerror(errno));
    const IdMap ids = id_map_of(sandbox["ids"]);
    for (const api::Value& volume : sandbox["memoryVolumes"].items()) {
        std::string options = "mode=" + std::string(volume["mode"].text_or("1777"));
        const std::int64_t owner = outside_of(ids.users, 0);
        const std::int64_t group = outside_of(ids.groups, volume["group"].integer_or(0));
        if (owner >= 0) options += ",uid=" + std::to_string(owner);
        if (group >= 0) options += ",gid=" + std::to_string(group);
        if (volume["size"].integer_or(0) > 0)
            options += ",size=" + std::to_string(volume["size"].integer_or(0));
        if (::mount("tmpfs", volume["path"].text().c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                    options.c_str()) != 0)
            throw Error(Reason::internal_error,
                        "cannot mount a volume in memory: " + std::string(std::strerror(errno)));
    }
    return ids.empty() ? Descriptor() : make_user_namespace(ids);
}

int run_pod_init(const std::string& directory, int listener, const CgroupTree& groups,
                 Confinement confinement) {
    return PodInit(directory, listener, groups, std::move(confinement)).run();
}

}  // namespace muster::agent
