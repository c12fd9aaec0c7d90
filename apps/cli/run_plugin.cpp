// apps/cli/run_plugin.cpp - a child process whose output is read until its end.
#include "apps/cli/run_plugin.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::cli {
namespace {

constexpr auto patience = std::chrono::seconds(60);
constexpr Duration end_look = milliseconds(20);
constexpr std::size_t output_max = 2 << 20;

[[noreturn]] void refuse(const kube::ExecPlugin& plugin, const std::string& text) {
    const std::string hint = plugin.install_hint.empty() ? "" : "\n" + plugin.install_hint;
    throw Error(Reason::unauthorized,
                "error: the credential plugin " + plugin.command + " " + text + hint);
}

/// Ours, with the plugin's own variables before those of the same name.
std::vector<std::string> environment_of(const kube::ExecPlugin& plugin) {
    std::vector<std::string> variables = {"KUBERNETES_EXEC_INFO=" + kube::exec_info(plugin)};
    for (const auto& [name, value] : plugin.env)
        variables.emplace_back(name).append("=").append(value);
    const std::size_t own = variables.size();
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view variable(*at);
        const std::string_view name = variable.substr(0, variable.find('=') + 1);
        bool replaced = false;
        for (std::size_t i = 0; i < own; ++i)
            replaced = replaced || (!name.empty() && variables[i].starts_with(name));
        if (!replaced) variables.emplace_back(variable);
    }
    return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// The child's number; its output comes at `out`.
pid_t start(const kube::ExecPlugin& plugin, int& out) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) refuse(plugin, std::string("has no pipe: ") + strerror(errno));
    std::vector<std::string> words = {plugin.command};
    words.insert(words.end(), plugin.args.begin(), plugin.args.end());
    std::vector<std::string> variables = environment_of(plugin);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    // Signals that we take in our own way would not reach it.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t usual = none;
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, plugin.command.c_str(), &actions, &attributes,
                                    pointers_to(words).data(), pointers_to(variables).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out = ends[0];
    if (failed == 0) return child;
    close(out);
    refuse(plugin, std::string("cannot be started: ") + strerror(failed));
}

/// False: it did not come to an end in time, or says too much.
bool read_all(int out, std::string& text) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (text.size() <= output_max) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        pollfd ready{out, POLLIN, 0};
        if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) return false;
        char buffer[8192];
        const ssize_t got = read(out, buffer, sizeof buffer);
        if (got == 0) return true;
        if (got < 0 && errno != EINTR) return false;
        if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    }
    return false;
}

/// What it printed, by how it ended.
std::string checked(const kube::ExecPlugin& plugin, int status, std::string text) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    if (WIFEXITED(status)) refuse(plugin, "ended with " + std::to_string(WEXITSTATUS(status)));
    refuse(plugin, "was killed by signal " + std::to_string(WTERMSIG(status)));
}

void end_child(pid_t child, int& status) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

constexpr const char* not_whole = "did not end within a minute, or printed too much";

}  // namespace

std::string run_plugin(const kube::ExecPlugin& plugin) {
    int out = -1;
    const pid_t child = start(plugin, out);
    std::string text;
    const bool whole = read_all(out, text);
    close(out);
    if (!whole) kill(child, SIGKILL);
    int status = 0;
    end_child(child, status);
    if (!whole) refuse(plugin, not_whole);
    return checked(plugin, status, std::move(text));
}

PluginRunner::~PluginRunner() {
    for (auto& [id, child] : children_) {
        close_output(child);
        kill(child.pid, SIGKILL);
        int status = 0;
        end_child(child.pid, status);
    }
}

void PluginRunner::run(const kube::ExecPlugin& plugin, Done done) {
    const std::uint64_t id = ++last_;
    Child& child = children_[id];
    child.plugin = plugin;
    child.done = std::move(done);
    const auto guarded = [this, alive = std::weak_ptr<int>(alive_), id](auto step) {
        return [this, alive, id, step] {
            if (!alive.expired() && children_.contains(id)) (this->*step)(id);
        };
    };
    try {
        child.pid = start(plugin, child.out);
    } catch (const Error& error) {
        const std::string why = error.what();
        return loop_.post([this, alive = std::weak_ptr<int>(alive_), id, why] {
            if (alive.expired()) return;
            finish(id, [&why]() -> std::string { throw Error(Reason::unauthorized, why); });
        });
    }
    fcntl(child.out, F_SETFL, O_NONBLOCK);
    child.watch = loop_.watch(child.out, {true, false},
                              [this, id](net::AsioLoop::Interest) { read_some(id); });
    loop_.after(seconds(patience.count()), guarded(&PluginRunner::give_up));
}

void PluginRunner::read_some(std::uint64_t id) {
    Child& child = children_.at(id);
    char buffer[8192];
    const ssize_t got = read(child.out, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got > 0) {
        child.printed.append(buffer, static_cast<std::size_t>(got));
        if (child.printed.size() > output_max) give_up(id);
        return;
    }
    close_output(child);
    look_for_end(id);
}

void PluginRunner::close_output(Child& child) {
    if (child.out < 0) return;
    loop_.unwatch(child.watch);
    close(std::exchange(child.out, -1));
}

/// It has closed its output: it has ended, or is about to.
void PluginRunner::look_for_end(std::uint64_t id) {
    Child& child = children_.at(id);
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG) == child.pid) {
        return finish(id, [&child, status] {
            return checked(child.plugin, status, std::move(child.printed));
        });
    }
    loop_.after(end_look, [this, alive = std::weak_ptr<int>(alive_), id] {
        if (!alive.expired() && children_.contains(id)) look_for_end(id);
    });
}

void PluginRunner::give_up(std::uint64_t id) {
    Child& child = children_.at(id);
    close_output(child);
    kill(child.pid, SIGKILL);
    int status = 0;
    end_child(child.pid, status);
    finish(id, [&child]() -> std::string { refuse(child.plugin, not_whole); });
}

void PluginRunner::finish(std::uint64_t id, const std::function<std::string()>& printed) {
    kube::PluginAnswer answer;
    answer.at = loop_.now();
    try {
        answer.printed = printed();
    } catch (const Error& error) {
        answer.problem = error.what();
    }
    const Done done = std::move(children_.at(id).done);
    children_.erase(id);
    done(answer);
}

}  // namespace muster::cli
