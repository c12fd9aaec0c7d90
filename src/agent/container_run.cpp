// agent/container_run.cpp - see container_run.h.
#include "agent/container_run.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/pipe_reading.h"
#include "agent/root_plan.h"
#include "agent/steady_time.h"
#include "agent/unix_socket.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::size_t kWatcherLimit = 8 << 20;  // A watcher that is slower than this is let go.
constexpr std::size_t kReadLimit = 1 << 20;  // Of a stream in one turn; a usual pipe holds no more.
constexpr std::size_t kLinesLimit = 64 << 10;  // Of a status: its lines are short and few.
// A container whose processes are not gone by then leaves them to the pod's end.
constexpr Duration kEndTime = seconds(10);

/// Writes what the pipe takes; false when the watcher is gone or too slow.
bool pass(Descriptor& to, std::string& waiting, std::string_view more) {
    if (!to) return true;
    waiting += more;
    while (!waiting.empty()) {
        const ssize_t wrote = ::write(to.get(), waiting.data(), waiting.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) return waiting.size() <= kWatcherLimit;
        if (wrote < 0) return false;
        waiting.erase(0, static_cast<std::size_t>(wrote));
    }
    return true;
}

/// The processes of this pid namespace below their parents, in order; /proc must show it.
std::vector<std::pair<pid_t, pid_t>> families() {
    std::vector<std::pair<pid_t, pid_t>> families;
    DIR* list = ::opendir("/proc");
    if (!list) return families;
    while (const dirent* entry = ::readdir(list)) {
        const auto pid = parse_integer(entry->d_name);
        if (!pid) continue;
        const auto stat = read_file("/proc/" + std::string(entry->d_name) + "/stat");
        const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
        if (name_end == std::string::npos) continue;
        const auto words = split(std::string_view(*stat).substr(name_end + 2), ' ');
        if (words.size() > 1 && words[0] != "Z")
            families.emplace_back(static_cast<pid_t>(parse_integer(words[1]).value_or(0)),
                                  static_cast<pid_t>(*pid));
    }
    ::closedir(list);
    std::sort(families.begin(), families.end());
    return families;
}

/// Each process is looked at once, however they descend from each other.
std::vector<pid_t> descendants_of(pid_t ancestor) {
    const auto all = families();
    std::vector<pid_t> found{ancestor};
    for (std::size_t at = 0; at < found.size(); ++at) {
        auto child =
            std::lower_bound(all.begin(), all.end(), std::pair<pid_t, pid_t>(found[at], 0));
        for (; child != all.end() && child->first == found[at] && found.size() <= all.size();
             ++child)
            found.push_back(child->second);
    }
    found.erase(found.begin());
    return found;
}

}  // namespace

Time present() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return {std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
}

LineReader::LineReader(Descriptor fd) : fd_(std::move(fd)) {
    if (fd_) set_nonblocking(fd_.get());
}

bool LineReader::read(const std::function<void(std::string_view)>& each) {
    if (fd_ && read_pieces(fd_.get(), kLinesLimit,
                           [this](std::string_view piece) { rest_ += piece; }) == PipeRest::ended)
        fd_.reset();
    if (rest_.size() > 2 * kLinesLimit) fd_.reset();  // No status has a line like that.
    for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
        each(std::string_view(rest_).substr(0, end));
        rest_.erase(0, end + 1);
    }
    return open();
}

/// The container sees its own control group as the machine's, as in a cluster.
void ContainerRun::start(const CgroupTree& groups, const std::string& pod,
                         const Confinement& confinement) {
    group = make_run_group(groups, pod, name + "." + std::to_string(attempt),
                           container_limits_of(spec["limits"]));
    if (!group.mounts.empty()) {
        RootPlan root = root_plan_of(spec["root"]);
        root.mounts.insert(root.mounts.end(), group.mounts.begin(), group.mounts.end());
        spec.set("root", to_value(root));
    }
    if (group.counts_processes) spec.at("limits").set("processes", 0);
    Started started = start_container(spec, group.folders, confinement);
    pid = started.pid;
    status = LineReader(std::move(started.status));
    output = std::move(started.output);
    error = std::move(started.error);
    input = std::move(started.input);
    terminal = std::move(started.terminal);
    doors_socket = std::move(started.doors);
    for (const Descriptor* each : {&output, &error, &terminal})
        if (*each) set_nonblocking(each->get());
}

void ContainerRun::add_polls(std::vector<pollfd>& waits) const {
    if (!running) return;
    for (const int fd : {status.fd(), output.get(), error.get()})
        if (fd >= 0) waits.push_back({fd, POLLIN, 0});
    for (const OutputWatcher& watcher : watchers) {
        if (!watcher.out_waiting.empty()) waits.push_back({watcher.out.get(), POLLOUT, 0});
        if (!watcher.error_waiting.empty()) waits.push_back({watcher.error.get(), POLLOUT, 0});
    }
}

void ContainerRun::drain() {
    read(output, LogFile::Stream::out);
    read(error, LogFile::Stream::error);
    std::erase_if(watchers, [](OutputWatcher& watcher) {
        return !pass(watcher.out, watcher.out_waiting, "") ||
               !pass(watcher.error, watcher.error_waiting, "");
    });
}

void ContainerRun::read(Descriptor& from, LogFile::Stream stream) {
    char piece[64 << 10];
    for (std::size_t taken = 0; from && taken < kReadLimit;) {
        const ssize_t got = ::read(from.get(), piece, sizeof(piece));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {  // A terminal whose last process has ended gives EIO.
            from.reset();
            return;
        }
        taken += static_cast<std::size_t>(got);
        const std::string_view text{piece, static_cast<std::size_t>(got)};
        log.take(stream, text, present());
        std::erase_if(watchers, [&](OutputWatcher& watcher) {
            return stream == LogFile::Stream::out
                       ? !pass(watcher.out, watcher.out_waiting, text)
                       : !pass(watcher.error, watcher.error_waiting, text);
        });
    }
}

void ContainerRun::take_ways_in() {
    if (doors_socket) doors = receive_doors(doors_socket);
    doors_socket.reset();
    if (!terminal) return;
    Message message = receive_message(terminal.get());
    terminal.reset();
    if (message.descriptors.empty()) return;
    output = std::move(message.descriptors.front());
    set_nonblocking(output.get());
    input.reset(::fcntl(output.get(), F_DUPFD_CLOEXEC, 3));
}

void ContainerRun::signal(int number) const {
    if (!running || pid <= 0) return;
    if (number == SIGKILL) return end();
    ::kill(pid, number);
}

/// The first process of a pid namespace takes everything in it with it. In a shared one the
/// container's control group is killed where the kernel can do that; else its descendants are
/// looked for until there are none: it adopts all that lose their parents.
void ContainerRun::end() const {
    if (pid <= 0) return;
    const Time last = steady_now() + kEndTime;
    if (shares_processes() && kill_run_group(group)) {
        while (holds_processes(group) && steady_now() < last)
            ::poll(nullptr, 0, 1);
    } else if (shares_processes()) {
        close_run_group(group);  // What is looked for makes no more of its kind meanwhile.
        while (steady_now() < last) {
            const std::vector<pid_t> left = descendants_of(pid);
            if (left.empty()) break;
            for (const pid_t each : left)
                ::kill(each, SIGKILL);
            ::poll(nullptr, 0, 1);
        }
    }
    ::kill(pid, SIGKILL);
}

}  // namespace muster::agent
