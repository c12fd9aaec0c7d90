// agent/log_stream.cpp - a container's log on its way to a client.
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/log_file.h"
#include "agent/node_service.h"

namespace muster::agent {

namespace {

constexpr Duration kLookPeriod = milliseconds(100);
constexpr std::size_t kBufferLimit = 1 << 20;
constexpr std::size_t kPieceLimit = 256 << 10;

std::string log_path(const Chosen& chosen, int attempt) {
    return chosen.directory + "/logs/" + chosen.container + "/" + std::to_string(attempt) + ".log";
}

/// Follows one log file through its rotations.
class Follower : public std::enable_shared_from_this<Follower> {
public:
    Follower(std::shared_ptr<Agent::State> state, const LogQuery& query, const Chosen& chosen,
             std::shared_ptr<WayBack> back)
        : state_(std::move(state)),
          query_(query),
          chosen_(chosen),
          back_(std::move(back)),
          printer_(query),
          path_(log_path(chosen, chosen.attempt)),
          ticket_(take_stream(*state_, chosen.ns, 1)) {}

    void start() {
        net::Response head;
        head.headers.set("Content-Type", "text/plain");
        back_->begin(std::move(head));
        std::string before;
        for (int part = LogFile::kParts; part > 0; --part)
            before += read_file(path_ + "." + std::to_string(part)).value_or("");
        fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        before += read_more();
        const std::string_view wanted =
            query_.tail_lines ? tail_of(before, *query_.tail_lines) : std::string_view(before);
        back_->write(printer_.take(wanted));
        look();
    }

private:
    std::string read_more() {
        std::string text;
        char piece[32 << 10];
        while (fd_ && text.size() < kPieceLimit) {
            const ssize_t got = ::read(fd_.get(), piece, sizeof(piece));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            text.append(piece, static_cast<std::size_t>(got));
        }
        return text;
    }

    bool was_rotated() const {
        struct stat open_one {
        }, named{};
        return fd_ && ::fstat(fd_.get(), &open_one) == 0 && ::stat(path_.c_str(), &named) == 0 &&
               open_one.st_ino != named.st_ino;
    }

    /// The container of this attempt writes no more.
    bool over() const {
        const auto worker = state_->workers.find(chosen_.uid);
        if (worker == state_->workers.end()) return true;
        const auto seen = worker->second->seen().containers.find(chosen_.container);
        return seen == worker->second->seen().containers.end() ||
               seen->second.attempt != chosen_.attempt ||
               seen->second.phase == ContainerSeen::Phase::exited;
    }

    void look() {
        if (back_->client_gone()) return;
        if (back_->buffered() < kBufferLimit) {
            const bool last = over();  // Asked first: what was written before is read below.
            if (!fd_) fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
            const bool rotated = was_rotated();
            const std::string text = read_more();
            back_->write(printer_.take(text));
            const bool more = text.size() >= kPieceLimit;
            if (printer_.full() || (last && !more && !rotated)) return back_->finish();
            if (rotated && !more) fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
            if (more || rotated) return again(Duration{});
        }
        again(kLookPeriod);
    }

    void again(Duration delay) {
        state_->loop.after(delay, [self = shared_from_this()] { self->look(); });
    }

    std::shared_ptr<Agent::State> state_;
    LogQuery query_;
    Chosen chosen_;
    std::shared_ptr<WayBack> back_;
    LogPrinter printer_;
    std::string path_;
    std::shared_ptr<void> ticket_;  // Of its descriptor.
    Descriptor fd_;
};

}  // namespace

void send_log(std::shared_ptr<Agent::State> state, const LogQuery& query, const Chosen& chosen,
              std::shared_ptr<WayBack> back) {
    Chosen wanted = chosen;
    if (query.previous && --wanted.attempt < 0)
        throw Error(Reason::bad_request, "previous terminated container \"" + chosen.container +
                                             "\" in pod \"" + chosen.uid + "\" not found");
    if (query.follow && !query.previous) {
        std::make_shared<Follower>(std::move(state), query, wanted, std::move(back))->start();
        return;
    }
    const std::string path = log_path(wanted, wanted.attempt);
    std::string content;
    for (int part = LogFile::kParts; part > 0; --part)
        content += read_file(path + "." + std::to_string(part)).value_or("");
    content += read_file(path).value_or("");
    const std::string_view selected =
        query.tail_lines ? tail_of(content, *query.tail_lines) : std::string_view(content);
    net::Response response;
    response.headers.set("Content-Type", "text/plain");
    response.body = make_bytes(LogPrinter(query).take(selected));
    back->respond(std::move(response));
}

}  // namespace muster::agent
