// agent/exec_stream.cpp - exec and attach: a WebSocket on one side, a process of a pod on the
// other.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "agent/channel_protocol.h"
#include "agent/node_service.h"

namespace muster::agent {

namespace {

constexpr std::size_t kBufferLimit = 1 << 20;
constexpr Duration kSlowClient = milliseconds(20);
constexpr Duration kLookPeriod = milliseconds(100);

bool flag(const net::Request& request, std::string_view name) {
    const std::string_view value = request.query_value(name);
    return value == "true" || value == "1";
}

/// One exec. Lives on the agent's loop, kept alive by the machine until its process has ended.
class ExecSession : public std::enable_shared_from_this<ExecSession> {
public:
    ExecSession(std::shared_ptr<Agent::State> state, std::shared_ptr<ChannelBack> channel)
        : state_(std::move(state)), channel_(std::move(channel)) {}

    void start(const net::Request& request, const Chosen& chosen);
    void take(const std::string& message);
    void client_gone();

private:
    /// One output of the process.
    struct Output {
        Descriptor fd;
        ExecChannel channel = ExecChannel::out;
        net::AsioLoop::WatchId watch{};
        bool watching = false;
    };

    LocalMachine::Exec open_terminal(LocalMachine::Exec exec, std::vector<Descriptor>& theirs);
    LocalMachine::Exec open_pipes(LocalMachine::Exec exec, const net::Request& request,
                                  std::vector<Descriptor>& theirs);
    void watch(Output& output);
    void read(Output& output);
    void unwatch(Output& output);
    void write_input();
    void ended(int code, const std::string& failure);
    void finish_when_read();

    std::shared_ptr<Agent::State> state_;
    std::shared_ptr<ChannelBack> channel_;
    std::string uid_;
    std::string id_;
    std::array<Output, 2> outputs_;
    Descriptor input_;
    net::AsioLoop::WatchId input_watch_{};
    bool input_watching_ = false;
    std::string to_write_;
    bool input_ended_ = false;
    bool terminal_ = false;
    bool over_ = false;
    bool gone_ = false;
    int code_ = 0;
    std::string failure_;
};

void ExecSession::start(const net::Request& request, const Chosen& chosen) {
    uid_ = chosen.uid;
    terminal_ = flag(request, "tty");
    LocalMachine::Exec exec;
    for (const auto& [name, value] : request.query)
        if (name == "command") exec.command.push_back(value);
    exec.terminal = terminal_;
    std::vector<Descriptor> theirs;
    exec = terminal_ ? open_terminal(exec, theirs) : open_pipes(exec, request, theirs);
    // Tells the client that the connection stands.
    channel_->send(channel_message(ExecChannel::out, ""));
    for (Output& output : outputs_)
        if (output.fd) watch(output);
    id_ = state_->machine.exec(uid_, chosen.container, exec,
                               [self = shared_from_this()](int code, const std::string& failure) {
                                   self->ended(code, failure);
                               });
}

LocalMachine::Exec ExecSession::open_terminal(LocalMachine::Exec exec,
                                              std::vector<Descriptor>& theirs) {
    Descriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    char name[128];
    if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
        ::ptsname_r(master.get(), name, sizeof(name)) != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot make a terminal: ") + std::strerror(errno));
    theirs.emplace_back(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    exec.in = exec.out = exec.error = theirs.back().get();
    set_nonblocking(master.get());
    input_.reset(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
    outputs_[0].fd = std::move(master);
    return exec;
}

LocalMachine::Exec ExecSession::open_pipes(LocalMachine::Exec exec, const net::Request& request,
                                           std::vector<Descriptor>& theirs) {
    const auto pipe = [] {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            throw Error(Reason::internal_error, std::string("no pipe: ") + std::strerror(errno));
        return std::pair(Descriptor(ends[0]), Descriptor(ends[1]));
    };
    if (flag(request, "stdin")) {
        auto [reads, writes] = pipe();
        set_nonblocking(writes.get());
        input_ = std::move(writes);
        theirs.push_back(std::move(reads));
    } else {
        theirs.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    exec.in = theirs.back().get();
    const std::array channels = {ExecChannel::out, ExecChannel::error};
    const std::array wanted = {flag(request, "stdout"), flag(request, "stderr")};
    const std::array places = {&exec.out, &exec.error};
    for (std::size_t i = 0; i < 2; ++i) {
        if (wanted[i]) {
            auto [reads, writes] = pipe();
            set_nonblocking(reads.get());
            outputs_[i].fd = std::move(reads);
            outputs_[i].channel = channels[i];
            theirs.push_back(std::move(writes));
        } else {
            theirs.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        }
        *places[i] = theirs.back().get();
    }
    return exec;
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
    char piece[32 << 10];
    while (output.fd) {
        if (channel_->buffered() > kBufferLimit && !gone_) {
            // The client is slow: the process waits, as it would on a terminal.
            unwatch(output);
            state_->loop.after(kSlowClient, [self = shared_from_this(), &output] {
                if (!output.fd || output.watching) return;
                self->watch(output);
                self->read(output);
            });
            return;
        }
        const ssize_t got = ::read(output.fd.get(), piece, sizeof(piece));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) break;
        if (got <= 0) {  // A terminal whose last process has ended gives EIO.
            unwatch(output);
            output.fd.reset();
            break;
        }
        if (!gone_)
            channel_->send(channel_message(output.channel, {piece, static_cast<std::size_t>(got)}));
    }
    if (over_) finish_when_read();
}

void ExecSession::take(const std::string& message) {
    const ClientMessage parsed = parse_client_message(message);
    if (parsed.kind == ClientMessage::Kind::input && input_) {
        to_write_ += parsed.bytes;
        write_input();
    } else if (parsed.kind == ClientMessage::Kind::end_of_input) {
        input_ended_ = true;
        write_input();
    } else if (parsed.kind == ClientMessage::Kind::resize && terminal_ && input_) {
        winsize size{};
        size.ws_col = static_cast<unsigned short>(parsed.width);
        size.ws_row = static_cast<unsigned short>(parsed.height);
        ::ioctl(input_.get(), TIOCSWINSZ, &size);
    }
}

void ExecSession::write_input() {
    while (input_ && !to_write_.empty()) {
        const ssize_t wrote = ::write(input_.get(), to_write_.data(), to_write_.size());
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
            to_write_.clear();
            input_ended_ = true;
            break;
        }
        to_write_.erase(0, static_cast<std::size_t>(wrote));
    }
    if (input_watching_) state_->loop.unwatch(input_watch_);
    input_watching_ = false;
    if (input_ended_ && !terminal_) input_.reset();
}

void ExecSession::client_gone() {
    gone_ = true;
    if (!over_) state_->machine.kill_exec(uid_, id_);
}

void ExecSession::ended(int code, const std::string& failure) {
    over_ = true;
    code_ = code;
    failure_ = failure;
    for (Output& output : outputs_)
        if (output.fd) read(output);
    finish_when_read();
}

/// What the process wrote comes first. A process that it left behind may keep the pipes open: it is
/// not waited for.
void ExecSession::finish_when_read() {
    if (channel_->buffered() > kBufferLimit && !gone_) return;
    if (!channel_) return;
    for (Output& output : outputs_) {
        unwatch(output);
        output.fd.reset();
    }
    if (input_watching_) state_->loop.unwatch(input_watch_);
    input_watching_ = false;
    input_.reset();
    if (std::exchange(gone_, true)) return;
    channel_->send(channel_message(ExecChannel::status, exit_status(code_, failure_)));
    channel_->close();
}

/// Shows what a container writes from now on.
class AttachSession : public std::enable_shared_from_this<AttachSession> {
public:
    AttachSession(std::shared_ptr<Agent::State> state, std::shared_ptr<ChannelBack> channel,
                  const Chosen& chosen)
        : state_(std::move(state)), channel_(std::move(channel)), chosen_(chosen) {}

    void start() {
        fd_.reset(::open((chosen_.directory + "/logs/" + chosen_.container + "/" +
                          std::to_string(chosen_.attempt) + ".log")
                             .c_str(),
                         O_RDONLY | O_CLOEXEC));
        if (fd_) ::lseek(fd_.get(), 0, SEEK_END);
        channel_->send(channel_message(ExecChannel::out, ""));
        look();
    }
    void client_gone() { gone_ = true; }

private:
    void look() {
        if (gone_) return;
        const auto worker = state_->workers.find(chosen_.uid);
        bool over = worker == state_->workers.end();
        if (!over) {
            const auto seen = worker->second->seen().containers.find(chosen_.container);
            over = seen == worker->second->seen().containers.end() ||
                   seen->second.attempt != chosen_.attempt ||
                   seen->second.phase == ContainerSeen::Phase::exited;
        }
        char piece[32 << 10];
        ssize_t got = 0;
        while (fd_ && (got = ::read(fd_.get(), piece, sizeof(piece))) > 0)
            rest_.append(piece, static_cast<std::size_t>(got));
        send_lines();
        if (over) {
            channel_->send(channel_message(ExecChannel::status, exit_status(0, "")));
            return channel_->close();
        }
        state_->loop.after(kLookPeriod, [self = shared_from_this()] { self->look(); });
    }

    void send_lines() {
        std::size_t at = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', at)) != std::string::npos; at = end + 1) {
            const auto line = parse_log_line(std::string_view(rest_).substr(at, end - at));
            if (!line) continue;
            std::string text(line->text);
            if (!line->partial) text += '\n';
            channel_->send(channel_message(
                line->stream == "stderr" ? ExecChannel::error : ExecChannel::out, text));
        }
        rest_.erase(0, at);
    }

    std::shared_ptr<Agent::State> state_;
    std::shared_ptr<ChannelBack> channel_;
    Chosen chosen_;
    Descriptor fd_;
    std::string rest_;
    bool gone_ = false;
};

/// Upgrades the connection, then makes a session on the agent's loop and joins the two.
template <typename Make>
void upgrade_and_start(const std::shared_ptr<Agent::State>& state, const net::Request& request,
                       const std::shared_ptr<WayBack>& back, Loop& caller, Make make) {
    const std::string protocol =
        choose_protocol(request, {"v5.channel.k8s.io", "v4.channel.k8s.io"});
    if (protocol.empty())
        throw Error(Reason::bad_request,
                    "exec and attach need a WebSocket with subprotocol v5.channel.k8s.io or "
                    "v4.channel.k8s.io (kubectl 1.31 or newer)");
    back->upgrade(protocol, [=, &caller](const std::shared_ptr<net::Channel>& raw) {
        if (!raw) return back->refuse(Reason::bad_request, "Upgrade request required");
        auto channel = std::make_shared<ChannelBack>(caller, raw);
        make(state, channel);
    });
}

}  // namespace

void run_exec(std::shared_ptr<Agent::State> state, const net::Request& request,
              const Chosen& chosen, const std::shared_ptr<WayBack>& back) {
    if (request.query_value("command").empty())
        throw Error(Reason::bad_request, "you must specify at least one command for the container");
    upgrade_and_start(state, request, back, back->caller(),
                      [request, chosen](const std::shared_ptr<Agent::State>& its_state,
                                        const std::shared_ptr<ChannelBack>& channel) {
                          auto session = std::make_shared<ExecSession>(its_state, channel);
                          channel->listen(
                              its_state->loop,
                              [session](const std::string& text) { session->take(text); },
                              [weak = std::weak_ptr(session)] {
                                  if (const auto self = weak.lock()) self->client_gone();
                              });
                          its_state->loop.post([session, request, chosen, channel] {
                              try {
                                  session->start(request, chosen);
                              } catch (const Error& error) {
                                  channel->send(channel_message(ExecChannel::status,
                                                                exit_status(1, error.what())));
                                  channel->close();
                              }
                          });
                      });
}

void run_attach(std::shared_ptr<Agent::State> state, const net::Request& request,
                const Chosen& chosen, const std::shared_ptr<WayBack>& back) {
    if (flag(request, "stdin"))
        throw Error(Reason::bad_request,
                    "containers here have no standard input; attach without --stdin, or use exec");
    upgrade_and_start(state, request, back, back->caller(),
                      [chosen](const std::shared_ptr<Agent::State>& its_state,
                               const std::shared_ptr<ChannelBack>& channel) {
                          auto session =
                              std::make_shared<AttachSession>(its_state, channel, chosen);
                          channel->listen(
                              its_state->loop, [session](const std::string&) {},
                              [weak = std::weak_ptr(session)] {
                                  if (const auto self = weak.lock()) self->client_gone();
                              });
                          its_state->loop.post([session] { session->start(); });
                      });
}

}  // namespace muster::agent
