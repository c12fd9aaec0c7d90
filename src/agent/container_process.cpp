// agent/container_process.cpp - see container_process.h.
#include "agent/container_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup_tree.h"
#include "agent/container_root.h"
#include "agent/files.h"
#include "agent/identity.h"
#include "agent/seccomp_profile.h"
#include "agent/unix_socket.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

struct Pipe {
    Descriptor read;
    Descriptor write;
};

Pipe make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw Error(Reason::internal_error, std::string("no pipe: ") + std::strerror(errno));
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void say(int fd, const std::string& text) {
    const std::string line = text + "\n";
    (void)!::write(fd, line.data(), line.size());
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> texts_of(const api::Value& list) {
    std::vector<std::string> texts;
    for (const api::Value& item : list.items())
        texts.push_back(item.text());
    return texts;
}

void restore_signals() {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal)
        ::sigaction(signal, &usual, nullptr);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// What a command is.
struct Command {
    std::vector<std::string> arguments;
    std::vector<std::string> variables;
    std::string directory;
    Identity identity;
    std::int64_t processes = 0;  // At most so many of its user; 0: a control group counts them.
    bool terminal = false;
};

Command command_of(const api::Value& spec, const api::Value& what, const api::Value& terminal) {
    Command command{texts_of(what["argv"]),
                    texts_of(spec["env"]),
                    spec["cwd"].text(),
                    identity_of(spec["identity"]),
                    spec["limits"]["processes"].integer_or(0),
                    terminal.boolean_or(false)};
    const auto names_terminal = [](const std::string& each) { return each.starts_with("TERM="); };
    if (command.terminal &&
        std::none_of(command.variables.begin(), command.variables.end(), names_terminal))
        command.variables.emplace_back("TERM=xterm");
    return command;
}

/// Processes are counted by user and user namespace, so no other pod is counted with this one.
void limit_processes(std::int64_t count) {
    if (count <= 0) return;
    const auto most = static_cast<rlim_t>(count);
    const rlimit limit{most, most};
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot limit the number of processes: ") + std::strerror(errno));
}

/// Leaves the privileges of the pod's init behind.
void confine(const Identity& identity, const Descriptor& users,
             const std::vector<sock_filter>& filter) {
    // A change of user forgets what its parent's death means to a process.
    int parent_death = 0;
    ::prctl(PR_GET_PDEATHSIG, &parent_death);
    become(identity, users);
    ::prctl(PR_SET_PDEATHSIG, parent_death);
    obey(filter);
}

/// Who is to be killed first when the machine is out of memory: never Muster itself.
void set_out_of_memory_score(const api::Value& spec) {
    const std::int64_t own =
        parse_integer(trim(read_file("/proc/self/oom_score_adj").value_or("0"))).value_or(0);
    const std::int64_t wanted = std::max(own, spec["oomScoreAdj"].integer_or(own));
    if (wanted != own) write_file("/proc/self/oom_score_adj", std::to_string(wanted));
}

/// What the command itself does before it is the command. Says on `trouble` why it could not be.
[[noreturn]] void become_command(Command command, const Confinement& confinement, int users,
                                 int trouble) {
    auto& [arguments, variables, directory, identity, processes, terminal] = command;
    restore_signals();
    ::setsid();
    if (terminal) ::ioctl(0, TIOCSCTTY, 0);
    const auto give_up = [trouble](const std::string& what) {
        say(trouble, what + ": " + std::strerror(errno));
        ::_exit(127);
    };
    if (arguments.empty()) {
        errno = EINVAL;
        give_up("the container has no command, and images are not read: set `command`");
    }
    try {
        limit_processes(processes);
        confine(identity, Descriptor(users), confinement.filter);
    } catch (const Error& error) {
        say(trouble, error.what());
        ::_exit(127);
    }
    if (::chdir(directory.empty() ? "/" : directory.c_str()) != 0)
        give_up("cannot enter the working directory " + directory);
    ::umask(022);
    const std::vector<char*> argv = pointers_to(arguments);
    std::vector<char*> environment = pointers_to(variables);
    ::environ = environment.data();  // execvp searches the command's own PATH.
    ::execvp(argv[0], argv.data());
    give_up("cannot run \"" + arguments[0] + "\"");
    ::_exit(127);
}

std::array<volatile sig_atomic_t, 1> child_of_init{};

void pass_on(int signal) {
    if (child_of_init[0] > 0) ::kill(static_cast<pid_t>(child_of_init[0]), signal);
}

void pass_signals_on() {
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    // All but those that are its own (and the two that nobody handles).
    for (int signal = 1; signal < NSIG; ++signal) {
        const bool own = signal == SIGCHLD || signal == SIGSEGV || signal == SIGBUS ||
                         signal == SIGILL || signal == SIGFPE || signal == SIGPIPE;
        if (!own) ::sigaction(signal, &action, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Reads what the child said before it became the command; empty when all went well.
std::string trouble_of(const Descriptor& pipe) {
    std::string text;
    char piece[1024];
    for (;;) {
        const ssize_t got = ::read(pipe.get(), piece, sizeof(piece));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(piece, static_cast<std::size_t>(got));
    }
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

std::string exit_line(int status) {
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const int code = signal != 0 ? 128 + signal : WEXITSTATUS(status);
    return "exited " + std::to_string(code) + " " + std::to_string(signal);
}

int wait_for(pid_t child) {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, 0);
        if (ended == child) return status;
        if (ended < 0 && errno == ECHILD) return 0;
    }
}

/// A copy of somebody else's pipe would keep its reader from ever seeing the end.
void close_all_but(std::vector<int> kept) {
    std::sort(kept.begin(), kept.end());
    unsigned from = 3;
    for (const int fd : kept) {
        if (fd < 3) continue;
        const auto number = static_cast<unsigned>(fd);
        if (number > from) ::close_range(from, number - 1, 0);
        from = number + 1;
    }
    ::close_range(from, ~0U, 0);
}

constexpr int kTroubleFd = 3;
constexpr int kUsersFd = 4;

/// Puts descriptors at 0 and what follows; those of kTroubleFd and kUsersFd close themselves when
/// the command begins. Nothing else stays open.
void arrange(const std::array<int, 5>& descriptors) {
    std::array<int, 5> high{};
    for (std::size_t i = 0; i < high.size(); ++i)
        high[i] = descriptors[i] >= 0 ? ::fcntl(descriptors[i], F_DUPFD, 10) : -1;
    for (std::size_t i = 0; i < high.size(); ++i) {
        const int place = static_cast<int>(i);
        if (high[i] >= 0)
            ::dup2(high[i], place);
        else
            ::close(place);
    }
    ::close_range(kUsersFd + 1, ~0U, 0);
    for (const int fd : {kTroubleFd, kUsersFd})
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// Where the pod's user namespace is after `arrange`.
int users_after_arranging(const Confinement& confinement) {
    return confinement.users ? kUsersFd : -1;
}

/// Makes a terminal of the container that this process is in, gives its master away over `socket`
/// and returns the command's end: there its name is true.
Descriptor make_terminal(int socket, std::int64_t owner) {
    const Descriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!master || ::unlockpt(master.get()) != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot make a terminal: ") + std::strerror(errno));
    Descriptor own(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!own || !send_message(socket, "terminal", {master.get()}))
        throw Error(Reason::internal_error,
                    std::string("cannot open the terminal: ") + std::strerror(errno));
    if (owner >= 0 && ::fchown(own.get(), static_cast<uid_t>(owner), static_cast<gid_t>(-1)) != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot give the terminal away: ") + std::strerror(errno));
    return own;
}

/// The container's user as this process sees it; -1: they are the same.
std::int64_t owner_of(const api::Value& spec, const Identity& identity) {
    return outside_of(id_map_of(spec["root"]["ids"]).users, identity.user);
}

/// The container's ends of what start_container made.
struct ContainerEnds {
    Descriptor status;
    Descriptor input;  // Empty: /dev/null.
    Descriptor output;
    Descriptor error;
    Descriptor terminal;  // Empty: none.
    Descriptor doors;
};

/// The ways into this process's container, for those who join it later.
void give_doors_away(const Descriptor& socket) {
    const auto open = [](const char* path) {
        Descriptor fd(::open(path, O_RDONLY | O_CLOEXEC));
        if (!fd)
            throw Error(Reason::internal_error,
                        std::string("cannot open ") + path + ": " + std::strerror(errno));
        return fd;
    };
    const Descriptor root = open("/");
    const Descriptor mounts = open("/proc/self/ns/mnt");
    const Descriptor processes = open("/proc/self/ns/pid");
    const Descriptor groups = open("/proc/self/ns/cgroup");
    if (!send_message(socket.get(), "doors",
                      {root.get(), mounts.get(), processes.get(), groups.get()}))
        throw Error(Reason::internal_error, "the pod's init is gone");
}

/// A container's first process passes signals on to whatever user its command is.
Identity identity_of_init() {
    return {0, 0, {}, Capabilities{1} << CAP_KILL};
}

/// The life of a container's first process.
[[noreturn]] void be_container_init(const api::Value& spec, const std::vector<std::string>& groups,
                                    const Confinement& confinement, ContainerEnds ends) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "muster-init");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // Where it is not process 1 anyway.
    ::setsid();
    const int status = ends.status.release();
    close_all_but({status, ends.input.get(), ends.output.get(), ends.error.get(),
                   ends.terminal.get(), ends.doors.get(), confinement.users.get()});
    try {
        set_out_of_memory_score(spec);
        enter_groups(groups);
        if (::unshare(CLONE_NEWCGROUP) != 0)
            throw Error(
                Reason::internal_error,
                std::string("cannot make a namespace of control groups: ") + std::strerror(errno));
        enter_root(root_plan_of(spec["root"]));
        give_doors_away(ends.doors);
        ends.doors.reset();
        const Command command = command_of(spec, spec, spec["tty"]);
        if (ends.terminal) {
            ends.output = make_terminal(ends.terminal.get(), owner_of(spec, command.identity));
            ends.terminal.reset();
        }
        Pipe trouble = make_pipe();
        const pid_t child = ::fork();
        if (child < 0) throw Error(Reason::internal_error, "cannot fork");
        if (child == 0) {
            const int null = ::open("/dev/null", O_RDONLY);
            const int out = ends.output.get();
            const int in = ends.input ? ends.input.get() : null;
            const int users = confinement.users.get();
            if (command.terminal)
                arrange({out, out, out, trouble.write.get(), users});
            else
                arrange({in, out, ends.error.get(), trouble.write.get(), users});
            become_command(command, confinement, users_after_arranging(confinement), kTroubleFd);
        }
        child_of_init[0] = child;
        pass_signals_on();
        trouble.write.reset();
        ends = {};
        // It lives beside the pod's processes, so it has no more of the machine than they have.
        confine(identity_of_init(), confinement.users, confinement.filter);
        ::prctl(PR_SET_DUMPABLE, 0);  // They may not look into it either.
        const std::string text = trouble_of(trouble.read);
        say(status, text.empty() ? "started " + std::to_string(child) : "failed " + text);
        const int ended = wait_for(child);
        if (text.empty()) say(status, exit_line(ended));
    } catch (const Error& failure) {
        say(status, std::string("failed ") + failure.what());
    }
    // In a shared pid namespace it stays until the others that it adopted have been ended.
    while (spec["sharePid"].boolean_or(false))
        ::pause();
    ::_exit(0);
}

/// The root comes last: until then this process stands where a namespace of mounts begins, which is
/// not the container's root where Muster itself runs in a chroot.
void enter_container(const Joining& joining) {
    const Doors& doors = joining.doors;
    const bool shared = joining.spec["sharePid"].boolean_or(false);
    if (::setns(doors.groups.get(), CLONE_NEWCGROUP) != 0 ||
        (!shared && ::setns(doors.processes.get(), CLONE_NEWPID) != 0) ||
        ::setns(doors.mounts.get(), CLONE_NEWNS) != 0 || ::fchdir(doors.root.get()) != 0 ||
        ::chroot(".") != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot enter the container: ") + std::strerror(errno));
}

/// The life of what waits for a joined command.
[[noreturn]] void be_joiner(const Joining& joining, int status) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Doors& doors = joining.doors;
    std::vector<int> kept{status,
                          joining.confinement.users.get(),
                          doors.root.get(),
                          doors.mounts.get(),
                          doors.processes.get(),
                          doors.groups.get()};
    for (const Descriptor& each : joining.descriptors)
        kept.push_back(each.get());
    close_all_but(std::move(kept));
    Pipe trouble;
    pid_t child = -1;
    try {
        trouble = make_pipe();
        set_out_of_memory_score(joining.spec);
        enter_groups(joining.groups);
        enter_container(joining);
        const Command command = command_of(joining.spec, joining.request, joining.request["tty"]);
        const auto given = [&joining](std::size_t at) { return joining.descriptors[at].get(); };
        Descriptor terminal;
        if (command.terminal)
            terminal = make_terminal(given(0), owner_of(joining.spec, command.identity));
        child = ::fork();
        if (child < 0) throw Error(Reason::internal_error, "cannot fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Ending the joiner ends the command.
            const int own = terminal.get();
            const int users = joining.confinement.users.get();
            if (command.terminal)
                arrange({own, own, own, trouble.write.get(), users});
            else
                arrange({given(0), given(1), given(2), trouble.write.get(), users});
            become_command(command, joining.confinement, users_after_arranging(joining.confinement),
                           kTroubleFd);
        }
        for (const Descriptor& each : joining.descriptors)
            ::close(each.get());
    } catch (const Error& failure) {
        say(status, std::string("failed ") + failure.what());
        ::_exit(1);
    }
    trouble.write.reset();
    const std::string text = trouble_of(trouble.read);
    say(status, text.empty() ? "started " + std::to_string(child) : "failed " + text);
    const int ended = wait_for(child);
    if (text.empty()) say(status, exit_line(ended));
    ::_exit(0);
}

void join_sockets(Descriptor& ours, Descriptor& theirs) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        throw Error(Reason::internal_error, std::string("no socket pair: ") + std::strerror(errno));
    ours.reset(sockets[0]);
    theirs.reset(sockets[1]);
}

}  // namespace

Doors receive_doors(const Descriptor& socket) {
    Doors doors;
    if (!socket) return doors;
    set_nonblocking(socket.get());
    Message message = receive_message(socket.get());
    if (message.descriptors.size() != 4) return doors;
    doors.root = std::move(message.descriptors[0]);
    doors.mounts = std::move(message.descriptors[1]);
    doors.processes = std::move(message.descriptors[2]);
    doors.groups = std::move(message.descriptors[3]);
    return doors;
}

Started start_container(const api::Value& spec, const std::vector<std::string>& groups,
                        const Confinement& confinement) {
    Started started;
    ContainerEnds ends;
    const auto join_ends = [](Descriptor& ours, Descriptor& theirs, bool to_container) {
        Pipe pipe = make_pipe();
        ours = std::move(to_container ? pipe.write : pipe.read);
        theirs = std::move(to_container ? pipe.read : pipe.write);
    };
    join_ends(started.status, ends.status, false);
    join_sockets(started.doors, ends.doors);
    if (spec["tty"].boolean_or(false)) {
        join_sockets(started.terminal, ends.terminal);
    } else {
        join_ends(started.output, ends.output, false);
        join_ends(started.error, ends.error, false);
        if (spec["stdin"].boolean_or(false)) join_ends(started.input, ends.input, true);
    }
    const unsigned long own_pids = spec["sharePid"].boolean_or(false) ? 0 : CLONE_NEWPID;
    const long pid =
        ::syscall(SYS_clone, own_pids | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, 0);
    if (pid < 0)
        throw Error(Reason::internal_error,
                    std::string("cannot make a container's namespaces: ") + std::strerror(errno));
    if (pid == 0) be_container_init(spec, groups, confinement, std::move(ends));
    started.pid = static_cast<pid_t>(pid);
    return started;
}

Started join_container(const Joining& joining) {
    if (!joining.doors) throw Error(Reason::not_found, "the container is not running");
    Pipe status = make_pipe();
    const pid_t pid = ::fork();
    if (pid < 0) throw Error(Reason::internal_error, "cannot fork");
    if (pid == 0) be_joiner(joining, status.write.release());
    Started started;
    started.pid = pid;
    started.status = std::move(status.read);
    return started;
}

}  // namespace muster::agent
