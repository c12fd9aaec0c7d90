// agent/local_machine_ask.cpp - probes and hooks: commands, HTTP and TCP inside the pods' network.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/local_machine.h"
#include "agent/pipe_reading.h"

namespace muster::agent {

namespace {
constexpr std::size_t kOutputLimit = 10 << 10;
// Of what a command prints: then it is another pod's turn. What a pipe still holds when its command
// has ended is a part of the answer.
constexpr std::size_t kReadAtOnce = 64 << 10;
}  // namespace

/// One question under way: the first of answer and time-out counts.
struct LocalMachine::Question : std::enable_shared_from_this<LocalMachine::Question> {
    Question(net::AsioLoop& its_loop, Answered its_answered)
        : loop(its_loop), answered(std::move(its_answered)) {}
    ~Question() { stop_watching(); }

    /// `late` runs when the time is over, before the answer is given.
    void start(Duration timeout, std::function<void()> late) {
        timer = loop.after(timeout, [self = shared_from_this(), late = std::move(late)] {
            self->timed = false;
            if (late) late();
        });
        timed = true;
    }
    void answer(bool passed, const std::string& text) {
        if (timed) loop.cancel(timer);
        timed = false;
        stop_watching();
        fd.reset();  // What prints on is told by a broken pipe.
        if (auto once = std::exchange(answered, nullptr)) once(passed, text);
    }
    void drain() {
        if (!fd) return;
        const PipeRest rest = read_pieces(fd.get(), kReadAtOnce, [this](std::string_view piece) {
            output.append(piece.substr(0, kOutputLimit - output.size()));
        });
        if (rest == PipeRest::ended) stop_watching();
    }
    void stop_watching() {
        if (watching) loop.unwatch(watch);
        watching = false;
    }

    net::AsioLoop& loop;
    Answered answered;
    Loop::TimerId timer{};
    bool timed = false;
    net::AsioLoop::WatchId watch{};
    bool watching = false;
    Descriptor fd;
    std::string output;
};

void LocalMachine::ask(const std::string& uid, const std::string& container, const std::string& ip,
                       const Handler& handler, Duration timeout, Answered answered) {
    switch (handler.kind) {
        case Handler::Kind::exec:
            return ask_command(uid, container, handler.command, timeout, std::move(answered));
        case Handler::Kind::http:
            return ask_http(handler.host.empty() ? ip : handler.host, handler, timeout,
                            std::move(answered));
        case Handler::Kind::tcp:
            return ask_tcp(handler.host.empty() ? ip : handler.host, handler, timeout,
                           std::move(answered));
        case Handler::Kind::sleep:
            loop_.after(handler.sleep, [answered] { answered(true, ""); });
            return;
        case Handler::Kind::unsupported:
            loop_.post([answered] {
                answered(false,
                         "gRPC probes are not available on this machine; use exec, httpGet "
                         "or tcpSocket");
            });
            return;
    }
}

void LocalMachine::ask_command(const std::string& uid, const std::string& container,
                               const std::vector<std::string>& command, Duration timeout,
                               Answered answered) {
    auto question = std::make_shared<Question>(loop_, std::move(answered));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        loop_.post([question] { question->answer(false, "no pipe"); });
        return;
    }
    question->fd.reset(ends[0]);
    set_nonblocking(ends[0]);  // The command's end waits for room, as it is used to.
    const Descriptor output(ends[1]);
    const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    question->watching = true;
    question->watch = loop_.watch(question->fd.get(), {.read = true, .write = false},
                                  [weak = std::weak_ptr(question)](net::AsioLoop::Interest) {
                                      if (const auto self = weak.lock()) self->drain();
                                  });
    const std::string id =
        exec(uid, container, {command, null.get(), output.get(), output.get()},
             [question](int code, const std::string& failure) {
                 question->drain();
                 question->answer(code == 0, failure.empty() ? question->output : failure);
             });
    question->start(timeout, [this, question, uid, id, timeout] {
        kill_exec(uid, id);
        question->answer(false, "command timed out after " + go_duration(timeout));
    });
}

void LocalMachine::ask_http(const std::string& ip, const Handler& handler, Duration timeout,
                            Answered answered) {
    auto question = std::make_shared<Question>(loop_, std::move(answered));
    net::Request request;
    request.method = "GET";
    const std::size_t query = handler.path.find('?');
    request.path = handler.path.substr(0, query);
    if (query != std::string::npos)
        request.query = net::parse_query(handler.path.substr(query + 1));
    request.body = make_bytes("");
    request.headers.set("User-Agent", "kube-probe/1.36");
    request.headers.set("Accept", "*/*");
    for (const auto& [name, value] : handler.headers)
        request.headers.set(name, value);
    net::Target target;
    const bool secure = handler.scheme == "HTTPS";
    target.scheme = secure ? net::Target::Scheme::https : net::Target::Scheme::http;
    target.host = ip;
    target.port = handler.port;
    const std::string url =
        (secure ? "https://" : "http://") + ip + ":" + std::to_string(handler.port) + handler.path;
    const auto sent =
        client_->send(target, std::move(request), [question, url](const net::Response& response) {
            if (response.status == 0)
                return question->answer(
                    false,
                    "Get \"" + url + "\": " + (response.body ? *response.body : std::string()));
            if (response.status < 200 || response.status >= 400)
                return question->answer(
                    false, "HTTP probe failed with statuscode: " + std::to_string(response.status));
            question->answer(true, "");
        });
    question->start(timeout, [question, url, cancel = client_->canceller(sent)] {
        cancel();  // Nobody reads the rest of an answer that comes drop by drop.
        question->answer(false, "Get \"" + url + "\": context deadline exceeded");
    });
}

void LocalMachine::ask_tcp(const std::string& ip, const Handler& handler, Duration timeout,
                           Answered answered) {
    auto question = std::make_shared<Question>(loop_, std::move(answered));
    const std::string where = ip + ":" + std::to_string(handler.port);
    question->fd.reset(network_.dial(ip, handler.port));
    if (!question->fd) {
        const std::string text = "dial tcp " + where + ": " + std::strerror(errno);
        loop_.post([question, text] { question->answer(false, text); });
        return;
    }
    question->watching = true;
    question->watch = loop_.watch(
        question->fd.get(), {.read = false, .write = true},
        [weak = std::weak_ptr(question), where](net::AsioLoop::Interest) {
            const auto self = weak.lock();
            if (!self) return;
            int fault = 0;
            socklen_t size = sizeof(fault);
            ::getsockopt(self->fd.get(), SOL_SOCKET, SO_ERROR, &fault, &size);
            self->answer(
                fault == 0,
                fault == 0 ? "" : "dial tcp " + where + ": connect: " + std::strerror(fault));
        });
    question->start(timeout, [question, where] {
        question->answer(false, "dial tcp " + where + ": i/o timeout");
    });
}

}  // namespace muster::agent
