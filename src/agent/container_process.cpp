// agent/container_process.cpp - see container_process.h.
#include "agent/container_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/container_root.h"
#include "base/error.h"

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

/// What the command itself does before it is the command. Says on `trouble` why it could not be.
[[noreturn]] void become_command(std::vector<std::string> arguments,
                                 std::vector<std::string> variables, const std::string& directory,
                                 bool terminal, int trouble) {
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
        drop_capabilities();
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
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT})
        ::sigaction(signal, &action, nullptr);
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

/// The life of a container's first process.
[[noreturn]] void be_container_init(const api::Value& spec, int status, int out, int error) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "muster-init");
    ::setsid();
    try {
        enter_root(root_plan_of(spec["root"]));
        Pipe trouble = make_pipe();
        const pid_t child = ::fork();
        if (child < 0) throw Error(Reason::internal_error, "cannot fork");
        if (child == 0) {
            const int null = ::open("/dev/null", O_RDONLY);
            ::dup2(null, 0);
            ::dup2(out, 1);
            ::dup2(error, 2);
            ::dup2(trouble.write.get(), 3);
            ::close_range(4, ~0U, 0);
            ::fcntl(3, F_SETFD, FD_CLOEXEC);
            become_command(texts_of(spec["argv"]), texts_of(spec["env"]), spec["cwd"].text(), false,
                           3);
        }
        child_of_init[0] = child;
        pass_signals_on();
        trouble.write.reset();
        ::close(out);
        ::close(error);
        const std::string text = trouble_of(trouble.read);
        say(status, text.empty() ? "started " + std::to_string(child) : "failed " + text);
        const int ended = wait_for(child);
        if (text.empty()) say(status, exit_line(ended));
    } catch (const Error& failure) {
        say(status, std::string("failed ") + failure.what());
    }
    ::_exit(0);
}

int open_process(pid_t pid) {
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

/// The life of what waits for a joined command.
[[noreturn]] void be_joiner(int process, const api::Value& spec, const api::Value& request,
                            int status, const std::array<int, 3>& stdio) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setns(process, CLONE_NEWPID | CLONE_NEWNS) != 0) {
        say(status, std::string("failed cannot enter the container: ") + std::strerror(errno));
        ::_exit(1);
    }
    Pipe trouble = make_pipe();
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Ending the joiner ends the command.
        std::array<int, 4> high{};
        for (std::size_t i = 0; i < 3; ++i)
            high[i] = ::fcntl(stdio[i], F_DUPFD, 10);
        high[3] = ::fcntl(trouble.write.get(), F_DUPFD, 10);
        for (int i = 0; i < 4; ++i)
            ::dup2(high[static_cast<std::size_t>(i)], i);
        ::close_range(4, ~0U, 0);
        ::fcntl(3, F_SETFD, FD_CLOEXEC);
        std::vector<std::string> variables = texts_of(spec["env"]);
        const bool terminal = request["tty"].boolean_or(false);
        if (terminal) variables.emplace_back("TERM=xterm");
        become_command(texts_of(request["argv"]), std::move(variables), spec["cwd"].text(),
                       terminal, 3);
    }
    trouble.write.reset();
    for (const int fd : stdio)
        ::close(fd);
    const std::string text = trouble_of(trouble.read);
    say(status, text.empty() ? "started " + std::to_string(child) : "failed " + text);
    const int ended = wait_for(child);
    if (text.empty()) say(status, exit_line(ended));
    ::_exit(0);
}

}  // namespace

Started start_container(const api::Value& spec) {
    Pipe output = make_pipe();
    Pipe error = make_pipe();
    Pipe status = make_pipe();
    const long pid =
        ::syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, 0);
    if (pid < 0)
        throw Error(Reason::internal_error,
                    std::string("cannot make a container's namespaces: ") + std::strerror(errno));
    if (pid == 0) {
        be_container_init(spec, status.write.release(), output.write.release(),
                          error.write.release());
    }
    return {static_cast<pid_t>(pid), std::move(output.read), std::move(error.read),
            std::move(status.read)};
}

Started join_container(pid_t container, const api::Value& spec, const api::Value& request, int in,
                       int out, int error) {
    const Descriptor process(open_process(container));
    if (!process) throw Error(Reason::not_found, "the container is not running");
    Pipe status = make_pipe();
    const pid_t pid = ::fork();
    if (pid < 0) throw Error(Reason::internal_error, "cannot fork");
    if (pid == 0) be_joiner(process.get(), spec, request, status.write.release(), {in, out, error});
    return {pid, {}, {}, std::move(status.read)};
}

}  // namespace muster::agent
