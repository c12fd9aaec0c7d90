// agent/exec_stream.cpp - exec and attach: a WebSocket on one side, a process of a pod on the
// other.
//
// Both are one session: outputs that are read, perhaps an input or a terminal that is written to.
// An exec ends with its command, an attach with the container's output.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "agent/channel_protocol.h"
#include "agent/node_service.h"
#include "agent/pending_bytes.h"
#include "net/query_flag.h"

namespace muster::agent {

namespace {

constexpr std::size_t kBufferLimit = 1 << 20;
constexpr Duration kSlowClient = milliseconds(20);
constexpr std::size_t kPipeLimit = 1 << 20;  // No pipe of an ordinary process holds more.

std::pair<Descriptor, Descriptor> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw Error(Reason::internal_error, std::string("no pipe: ") + std::strerror(errno));
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Of a session: two outputs, the input, and a terminal's socket.
constexpr std::size_t kDescriptors = 4;

enum class StreamVerb { exec, attach };

/// One exec or attach. Lives on the agent's loop, kept alive by the machine until its process has
/// ended, or by its outputs.
class ExecSession : public std::enable_shared_from_this<ExecSession> {
public:
    ExecSession(std::shared_ptr<Agent::State> state, std::shared_ptr<ChannelBack> channel)
        : state_(std::move(state)), channel_(std::move(channel)) {}

    void hold(std::shared_ptr<void> ticket) { ticket_ = std::move(ticket); }
    void start(StreamVerb verb, const net::Request& request, const Chosen& chosen);
    void take(const std::string& message);
    void client_gone();
    void abandon();

private:
    /// One output of the process.
    struct Output {
        Descriptor fd;
        ExecChannel channel = ExecChannel::out;
        net::AsioLoop::WatchId watch{};
        bool watching = false;
        std::size_t left = kPipeLimit;  // After the end: so much may still be of the command.
    };

    void start_exec(const net::Request& request, const Chosen& chosen);
    void start_attach(const net::Request& request, const Chosen& chosen);
    Descriptor open_output(std::size_t which, bool wanted);
    Descriptor await_terminal();
    void take_terminal();
    void take_input(Descriptor input, const std::string& failure);
    void resize();
    void watch(Output& output);
    void read(Output& output);
    bool send_on(Output& output, std::size_t& most);
    void unwatch(Output& output);
    void write_input();
    void drop_input();
    void ended(int code, const std::string& failure);
    void finish_when_read();

    std::shared_ptr<Agent::State> state_;
    std::shared_ptr<ChannelBack> channel_;
    StreamVerb verb_ = StreamVerb::exec;
    std::string uid_;
    std::string container_;
    std::string id_;
    std::array<Output, 2> outputs_;
    Descriptor socket_;  // Where the terminal comes from.
    net::AsioLoop::WatchId socket_watch_{};
    Descriptor input_;
    net::AsioLoop::WatchId input_watch_{};
    bool input_watching_ = false;
    PendingBytes to_write_;
    bool input_ended_ = false;
    bool input_coming_ = false;  // What is typed until then is kept.
    bool closes_input_ = false;  // stdinOnce: the container's input ends with this session's.
    bool terminal_ = false;
    winsize size_{};
    bool over_ = false;
    bool gone_ = false;
    int code_ = 0;
    std::string failure_;
    std::shared_ptr<void> ticket_;         // Of its descriptors.
    std::shared_ptr<ExecSession> itself_;  // Until it is over, whoever else has let go.
};

void ExecSession::start(StreamVerb verb, const net::Request& request, const Chosen& chosen) {
    itself_ = shared_from_this();
    verb_ = verb;
    uid_ = chosen.uid;
    container_ = chosen.container;
    outputs_[1].channel = ExecChannel::error;
    // Tells the client that the connection stands.
    channel_->send(channel_message(ExecChannel::out, ""));
    verb == StreamVerb::exec ? start_exec(request, chosen) : start_attach(request, chosen);
    for (Output& output : outputs_)
        if (output.fd && !output.watching) watch(output);
}

void ExecSession::start_exec(const net::Request& request, const Chosen& chosen) {
    terminal_ = net::query_flag(request, "tty");
    LocalMachine::Exec exec;
    for (const auto& [name, value] : request.query)
        if (name == "command") exec.command.push_back(value);
    std::array<Descriptor, 3> theirs;
    if (terminal_) {
        theirs[0] = await_terminal();
        exec.terminal = theirs[0].get();
    } else {
        if (net::query_flag(request, "stdin")) {
            auto [reads, writes] = make_pipe();
            set_nonblocking(writes.get());
            input_ = std::move(writes);
            theirs[0] = std::move(reads);
        } else {
            theirs[0].reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        }
        theirs[1] = open_output(0, net::query_flag(request, "stdout"));
        theirs[2] = open_output(1, net::query_flag(request, "stderr"));
        exec.in = theirs[0].get();
        exec.out = theirs[1].get();
        exec.error = theirs[2].get();
    }
    id_ = state_->machine.exec(uid_, chosen.container, exec,
                               [self = shared_from_this()](int code, const std::string& failure) {
                                   self->ended(code, failure);
                               });
}

void ExecSession::start_attach(const net::Request& request, const Chosen& chosen) {
    const bool wants_input = net::query_flag(request, "stdin");
    terminal_ = chosen.has_terminal;
    closes_input_ = wants_input && chosen.input_once;
    input_coming_ = wants_input;
    const Descriptor out = open_output(0, true);
    const Descriptor error = open_output(1, true);
    state_->machine.attach(
        uid_, container_, out.get(), error.get(),
        [self = shared_from_this(), wants_input](Descriptor input, const std::string& failure) {
            if (!failure.empty()) return self->ended(1, failure);
            if (wants_input || self->terminal_) self->take_input(std::move(input), failure);
        });
}

/// A pipe whose other end is the process's.
Descriptor ExecSession::open_output(std::size_t which, bool wanted) {
    if (!wanted) return Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    auto [reads, writes] = make_pipe();
    set_nonblocking(reads.get());
    outputs_[which].fd = std::move(reads);
    return std::move(writes);
}

/// The terminal is made inside the container, where its name is true, and comes over a socket.
Descriptor ExecSession::await_terminal() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw Error(Reason::internal_error, std::string("no socket pair: ") + std::strerror(errno));
    socket_.reset(ends[0]);
    set_nonblocking(socket_.get());
    input_coming_ = true;
    socket_watch_ = state_->loop.watch(socket_.get(), {.read = true, .write = false},
                                       [weak = weak_from_this()](net::AsioLoop::Interest) {
                                           if (const auto self = weak.lock()) self->take_terminal();
                                       });
    return Descriptor(ends[1]);
}

void ExecSession::take_terminal() {
    if (!socket_) return;
    Message message = receive_message(socket_.get());
    if (message.kind == Message::Kind::none_now) return;
    state_->loop.unwatch(socket_watch_);
    socket_.reset();
    if (message.descriptors.empty() || over_) return;  // It could not be made; `ended` says why.
    Descriptor master = std::move(message.descriptors.front());
    set_nonblocking(master.get());
    take_input(Descriptor(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3)), "");
    outputs_[0].fd = std::move(master);
    watch(outputs_[0]);
}

void ExecSession::take_input(Descriptor input, const std::string& failure) {
    input_coming_ = false;
    if (!input || !failure.empty()) return drop_input();
    set_nonblocking(input.get());
    input_ = std::move(input);
    resize();
    write_input();
}

void ExecSession::resize() {
    if (terminal_ && input_ && size_.ws_col > 0) ::ioctl(input_.get(), TIOCSWINSZ, &size_);
}

void ExecSession::watch(Output& output) {
    output.watching = true;
    output.watch = state_->loop.watch(output.fd.get(), {.read = true, .write = false},
                                      [weak = weak_from_this(), &output](net::AsioLoop::Interest) {
                                          if (const auto self = weak.lock()) self->read(output);
                                      });
}

void ExecSession::unwatch(Output& output) {
    if (output.watching) state_->loop.unwatch(output.watch);
    output.watching = false;
}

void ExecSession::read(Output& output) {
    std::size_t at_once = kPipeLimit;
    if (!send_on(output, at_once)) {
        // The client is slow: the process waits, as it would on a terminal.
        unwatch(output);
        state_->loop.after(kSlowClient, [self = shared_from_this(), &output] {
            if (!output.fd || output.watching || self->over_) return;
            self->watch(output);
            self->read(output);
        });
        return;
    }
    // An attach is over when the container writes no more.
    if (verb_ == StreamVerb::attach && !outputs_[0].fd && !outputs_[1].fd) over_ = true;
    if (over_) finish_when_read();
}

/// Sends on what is there, `most` bytes of it at most. False: a slow client is to be waited for.
bool ExecSession::send_on(Output& output, std::size_t& most) {
    char piece[32 << 10];
    while (output.fd && most > 0) {
        if (channel_->buffered() > kBufferLimit && !gone_) return false;
        const ssize_t got = ::read(output.fd.get(), piece, std::min(sizeof(piece), most));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) break;
        if (got <= 0) {  // A terminal whose last process has ended gives EIO.
            unwatch(output);
            output.fd.reset();
            break;
        }
        most -= static_cast<std::size_t>(got);
        if (!gone_)
            channel_->send(channel_message(output.channel, {piece, static_cast<std::size_t>(got)}));
    }
    return true;
}

void ExecSession::take(const std::string& message) {
    const ClientMessage parsed = parse_client_message(message);
    const bool is_input =
        parsed.kind == ClientMessage::Kind::input && !over_ && (input_ || input_coming_);
    channel_->taken(message.size() - (is_input ? parsed.bytes.size() : 0));
    if (is_input) {
        to_write_.add(parsed.bytes);
        write_input();
    } else if (parsed.kind == ClientMessage::Kind::end_of_input) {
        input_ended_ = true;
        write_input();
    } else if (parsed.kind == ClientMessage::Kind::resize) {
        size_.ws_col = static_cast<unsigned short>(parsed.width);
        size_.ws_row = static_cast<unsigned short>(parsed.height);
        resize();
    }
}

void ExecSession::write_input() {
    while (input_ && !to_write_.empty()) {
        const ssize_t wrote = ::write(input_.get(), to_write_.next().data(), to_write_.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) {
            if (input_watching_) return;
            input_watching_ = true;
            input_watch_ = state_->loop.watch(input_.get(), {.read = false, .write = true},
                                              [weak = weak_from_this()](net::AsioLoop::Interest) {
                                                  if (const auto self = weak.lock())
                                                      self->write_input();
                                              });
            return;
        }
        if (wrote < 0) {
            drop_input();
            input_ended_ = true;
            break;
        }
        to_write_.wrote(static_cast<std::size_t>(wrote));
        channel_->taken(static_cast<std::size_t>(wrote));
    }
    if (input_watching_) state_->loop.unwatch(input_watch_);
    input_watching_ = false;
    if (!input_ended_ || terminal_ || !input_) return;
    input_.reset();
    if (std::exchange(closes_input_, false)) state_->machine.close_input(uid_, container_);
}

/// What was typed and goes nowhere any more.
void ExecSession::drop_input() {
    channel_->taken(to_write_.size());
    to_write_.clear();
}

void ExecSession::client_gone() {
    gone_ = true;
    if (over_) return;
    if (verb_ == StreamVerb::exec) return state_->machine.kill_exec(uid_, id_);
    over_ = true;  // The container runs on.
    if (std::exchange(closes_input_, false)) state_->machine.close_input(uid_, container_);
    finish_when_read();
}

/// It could not be started.
void ExecSession::abandon() {
    gone_ = over_ = true;
    finish_when_read();
}

void ExecSession::ended(int code, const std::string& failure) {
    take_terminal();  // It was sent before the command was started.
    over_ = true;
    code_ = code;
    failure_ = failure;
    for (Output& output : outputs_)
        unwatch(output);
    finish_when_read();
}

/// What the process wrote comes first. A process that it left behind may keep the pipes open: it is
/// not waited for.
void ExecSession::finish_when_read() {
    for (Output& output : outputs_) {
        if (gone_ || send_on(output, output.left)) continue;
        state_->loop.after(kSlowClient, [self = shared_from_this()] { self->finish_when_read(); });
        return;
    }
    for (Output& output : outputs_) {
        unwatch(output);
        output.fd.reset();
    }
    if (input_watching_) state_->loop.unwatch(input_watch_);
    input_watching_ = false;
    input_.reset();
    drop_input();
    if (socket_) state_->loop.unwatch(socket_watch_);
    socket_.reset();
    const auto last = std::exchange(itself_, nullptr);
    if (std::exchange(gone_, true)) return;
    channel_->send(channel_message(ExecChannel::status, exit_status(code_, failure_)));
    channel_->close();
}

/// Upgrades the connection, then makes a session on the agent's loop and joins the two.
void run_stream(const std::shared_ptr<Agent::State>& state, StreamVerb verb,
                const net::Request& request, const Chosen& chosen,
                const std::shared_ptr<WayBack>& back) {
    const std::string protocol =
        choose_protocol(request, {"v5.channel.k8s.io", "v4.channel.k8s.io"});
    if (protocol.empty())
        throw Error(Reason::bad_request,
                    "exec and attach need a WebSocket with subprotocol v5.channel.k8s.io or "
                    "v4.channel.k8s.io (kubectl 1.31 or newer)");
    Loop& caller = back->caller();
    const auto ticket = take_stream(*state, chosen.ns, kDescriptors);
    back->upgrade(protocol, [=, &caller](const std::shared_ptr<net::Channel>& raw) {
        if (!raw) return back->refuse(Reason::bad_request, "Upgrade request required");
        auto channel = std::make_shared<ChannelBack>(caller, raw);
        auto session = std::make_shared<ExecSession>(state, channel);
        session->hold(ticket);
        channel->listen(
            state->loop, [session](const std::string& text) { session->take(text); },
            [weak = std::weak_ptr(session)] {
                if (const auto self = weak.lock()) self->client_gone();
            });
        state->loop.post([session, verb, request, chosen, channel] {
            try {
                session->start(verb, request, chosen);
            } catch (const Error& error) {
                session->abandon();
                channel->send(channel_message(ExecChannel::status, exit_status(1, error.what())));
                channel->close();
            }
        });
    });
}

}  // namespace

void run_exec(std::shared_ptr<Agent::State> state, const net::Request& request,
              const Chosen& chosen, const std::shared_ptr<WayBack>& back) {
    if (request.query_value("command").empty())
        throw Error(Reason::bad_request, "you must specify at least one command for the container");
    run_stream(state, StreamVerb::exec, request, chosen, back);
}

void run_attach(std::shared_ptr<Agent::State> state, const net::Request& request,
                const Chosen& chosen, const std::shared_ptr<WayBack>& back) {
    if (net::query_flag(request, "stdin") && !chosen.has_input)
        throw Error(Reason::bad_request, "container \"" + chosen.container +
                                             "\" has no standard input (its spec does not say "
                                             "stdin: true); attach without --stdin, or use exec");
    run_stream(state, StreamVerb::attach, request, chosen, back);
}

}  // namespace muster::agent
