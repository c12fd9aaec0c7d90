// apps/cli/exec.cpp - `muster exec`: a command in a container, its input and output over a
// WebSocket.
#include <csignal>
#include <memory>
#include <optional>
#include <variant>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "api/json.h"
#include "apps/cli/pod_target.h"
#include "apps/cli/verbs.h"
#include "base/text.h"

namespace muster::cli {
namespace {

/// The first byte of each message of v5.channel.k8s.io.
constexpr char input_channel = 0;
constexpr char output_channel = 1;
constexpr char error_channel = 2;
constexpr char status_channel = 3;
constexpr char resize_channel = 4;
constexpr Duration look_at_window = milliseconds(200);
constexpr char close_channel = static_cast<char>(0xff);

/// The terminal as the program in the container wants it, and back at the end.
class RawTerminal {
public:
    RawTerminal() {
        if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios raw = before_;
        cfmakeraw(&raw);
        changed_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    ~RawTerminal() {
        if (changed_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

private:
    termios before_{};
    bool changed_ = false;
};

std::string size_message() {
    winsize size{};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return std::string(1, resize_channel) + "{\"Width\":" + std::to_string(size.ws_col) +
           ",\"Height\":" + std::to_string(size.ws_row) + "}";
}

/// How the command ended: the Status on the error channel.
struct Ending {
    int code = 0;
    std::string text;  // Printed when it is not just an exit code.
};

Ending read_ending(std::string_view status_json) {
    const auto parsed = api::parse_json(status_json);
    const auto* document = std::get_if<api::Parsed>(&parsed);
    if (!document) return {1, "error: the server ended the command without a reason"};
    const api::Value& status = document->value;
    if (status["status"].text_or("") == "Success") return {0, ""};
    for (const api::Value& cause : status["details"]["causes"].items()) {
        if (cause["reason"].text_or("") != "ExitCode") continue;
        const auto code = parse_integer(cause["message"].text_or(""));
        return {code ? static_cast<int>(*code) : 1,
                "command terminated with exit code " + cause["message"].text()};
    }
    return {1, "error: " + status["message"].text()};
}

/// One running command.
class Execution {
public:
    Execution(Session& session, const ExecOptions& options)
        : session_(session), options_(options) {}

    int run(net::Request request);

private:
    void opened(std::shared_ptr<net::Channel> channel, const net::Response& answer);
    void message_came(std::string_view message);
    void send_input();
    void tell_size();

    Session& session_;
    const ExecOptions& options_;
    std::shared_ptr<net::Channel> channel_;
    std::optional<net::AsioLoop::WatchId> input_;
    std::string told_size_;
    std::optional<Ending> ending_;
    std::optional<ServerError> refused_;
};

int Execution::run(net::Request request) {
    session_.transport().open_websocket(
        std::move(request), "v5.channel.k8s.io, v4.channel.k8s.io",
        [this](std::shared_ptr<net::Channel> channel, const net::Response& answer) {
            opened(std::move(channel), answer);
        });
    session_.loop().run();
    if (input_) session_.loop().unwatch(*input_);
    if (refused_) throw *refused_;
    if (!ending_) throw Error(Reason::service_unavailable, "error: the connection was lost");
    if (!ending_->text.empty()) print_error(ending_->text + "\n");
    return ending_->code;
}

void Execution::opened(std::shared_ptr<net::Channel> channel, const net::Response& answer) {
    if (!channel) {
        refused_ = error_of(answer);
        return session_.loop().stop();
    }
    channel_ = std::move(channel);
    channel_->on_message([this](std::string_view message) { message_came(message); });
    channel_->on_closed([this] { session_.loop().stop(); });
    if (options_.terminal) tell_size();
    if (!options_.input) return;
    struct stat info {};
    if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode)) {
        for (;;) {  // A file is always ready and cannot be watched.
            char buffer[16384];
            const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
            if (got <= 0) break;
            channel_->send(std::string(1, input_channel) +
                           std::string(buffer, static_cast<std::size_t>(got)));
        }
        channel_->send({close_channel, input_channel});
        return;
    }
    input_ = session_.loop().watch(STDIN_FILENO, {.read = true, .write = false},
                                   [this](net::AsioLoop::Interest) { send_input(); });
}

/// A window is resized now and then; asking for its size costs nothing.
void Execution::tell_size() {
    const std::string size = size_message();
    if (size != told_size_) channel_->send(size);
    told_size_ = size;
    session_.loop().after(look_at_window, [this] {
        if (!ending_) tell_size();
    });
}

void Execution::send_input() {
    char buffer[16384];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got > 0) {
        channel_->send(std::string(1, input_channel) +
                       std::string(buffer, static_cast<std::size_t>(got)));
        return;
    }
    session_.loop().unwatch(*input_);
    input_.reset();
    channel_->send({close_channel, input_channel});
}

void Execution::message_came(std::string_view message) {
    if (message.empty()) return;
    const std::string_view content = message.substr(1);
    switch (message.front()) {
        case output_channel:
            return print(std::string(content));
        case error_channel:
            return print_error(std::string(content));
        case status_channel:
            ending_ = read_ending(content);
            channel_->close();
            return session_.loop().stop();
        default:
            return;
    }
}

}  // namespace

int exec(Command& command, const ExecOptions& options) {
    if (options.target.empty() || options.arguments.empty())
        throw Error(Reason::bad_request,
                    "error: you must specify at least one command for the container: "
                    "muster exec POD -- COMMAND");
    const std::string pod = pod_of(command, options.target);
    net::Request request =
        get_request("/api/v1/namespaces/" + command.ns() + "/pods/" + pod + "/exec");
    for (const std::string& argument : options.arguments)
        request.query.emplace_back("command", argument);
    const std::string container = container_of(command, pod, options.container);
    if (!container.empty()) request.query.emplace_back("container", container);
    if (options.input) request.query.emplace_back("stdin", "true");
    request.query.emplace_back("stdout", "true");
    if (options.terminal) {
        request.query.emplace_back("tty", "true");
    } else {
        request.query.emplace_back("stderr", "true");
    }
    std::optional<RawTerminal> terminal;
    if (options.terminal && isatty(STDIN_FILENO) != 0) terminal.emplace();
    return Execution(command.session(), options).run(std::move(request));
}

}  // namespace muster::cli
