// apps/cli/run_plugin.cpp - a child process whose output is read until its end.
#include "apps/cli/run_plugin.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace muster::cli {
namespace {

constexpr auto patience = std::chrono::seconds(60);
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
    pid_t child = 0;
    const int failed = posix_spawnp(&child, plugin.command.c_str(), &actions, nullptr,
                                    pointers_to(words).data(), pointers_to(variables).data());
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

}  // namespace

std::string run_plugin(const kube::ExecPlugin& plugin) {
    int out = -1;
    const pid_t child = start(plugin, out);
    std::string text;
    const bool whole = read_all(out, text);
    close(out);
    if (!whole) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!whole) refuse(plugin, "did not end within a minute, or printed too much");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    if (WIFEXITED(status)) refuse(plugin, "ended with " + std::to_string(WEXITSTATUS(status)));
    refuse(plugin, "was killed by signal " + std::to_string(WTERMSIG(status)));
}

}  // namespace muster::cli
