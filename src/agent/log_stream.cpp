// agent/log_stream.cpp - a container's log on its way to a client.
#include <algorithm>

#include <sys/stat.h>

#include "agent/log_file.h"
#include "agent/log_reader.h"
#include "agent/node_service.h"

namespace muster::agent {

namespace {

/// A followed log is looked at so often while nothing is written.
constexpr Duration kLookPeriod = milliseconds(100);
/// A search is tried again after this long while its namespace has as many as it may.
constexpr Duration kSearchWait = milliseconds(50);
/// A client that takes nothing is asked again after this long first, and ever more seldom.
constexpr Duration kFirstWait = milliseconds(2);
/// What is on its way to one client: many of them may take nothing.
constexpr std::size_t kBufferLimit = 256 << 10;
constexpr std::size_t kPieceLimit = 128 << 10;

std::string log_path(const Chosen& chosen, int attempt) {
    return chosen.directory + "/logs/" + chosen.container + "/" + std::to_string(attempt) + ".log";
}

/// The bytes of all parts.
std::size_t size_of_log(const std::string& path) {
    std::size_t sum = 0;
    for (int part = 0; part < LogFile::kParts; ++part) {
        struct stat status {};
        const std::string file = part == 0 ? path : path + "." + std::to_string(part);
        if (::stat(file.c_str(), &status) == 0) sum += static_cast<std::size_t>(status.st_size);
    }
    return sum;
}

/// Sends a log as fast as its client takes it; it holds no more of it than a piece.
class LogSender : public std::enable_shared_from_this<LogSender> {
public:
    LogSender(std::shared_ptr<Agent::State> state, const LogQuery& query, const Chosen& chosen,
              std::shared_ptr<WayBack> back)
        : state_(std::move(state)),
          query_(query),
          chosen_(chosen),
          back_(std::move(back)),
          printer_(query),
          ticket_(take_stream(*state_, chosen.ns, 1)),
          path_(log_path(chosen, chosen.attempt)),
          reader_(path_),
          left_(size_of_log(path_)) {
        if (!query_.tail_lines) return;
        search_ticket_ = take_stream(*state_, chosen.ns, LogFile::kParts - 1);
        search_.emplace(path_, *query_.tail_lines);
    }

    void step() {
        if (back_->client_gone()) return;
        if (search_) {
            if (!turn_) turn_ = state_->log_searches.take(chosen_.ns);
            if (!turn_) return again(kSearchWait);
            if (!search_->step()) return again(Duration{});
            turn_.reset();
            left_ = search_->behind();
            reader_ = std::move(*search_).reader();
            search_.reset();
            search_ticket_.reset();
        }
        if (back_->buffered() >= kBufferLimit) {
            wait_ = std::min(std::max(wait_ * 2, kFirstWait), kLookPeriod);
            return again(wait_);
        }
        wait_ = Duration{};
        send_piece();
    }

private:
    void send_piece() {
        // Asked first: what was written before the end is read below.
        const bool last = !query_.follow || over();
        const std::string text =
            reader_.read(query_.follow ? kPieceLimit : std::min(kPieceLimit, left_));
        left_ -= std::min(left_, text.size());
        std::string printed = printer_.take(text);
        const bool done =
            printer_.full() || (last && text.empty()) || (!query_.follow && left_ == 0);
        if (done && !begun_) return respond(std::move(printed));
        if (!std::exchange(begun_, true)) back_->begin(head());
        back_->write(std::move(printed));
        if (done) return back_->finish();
        again(text.empty() ? kLookPeriod : Duration{});
    }

    static net::Response head() {
        net::Response head;
        head.headers.set("Content-Type", "text/plain");
        return head;
    }

    /// The whole log was one piece.
    void respond(std::string text) {
        net::Response response = head();
        response.body = make_bytes(std::move(text));
        back_->respond(std::move(response));
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

    void again(Duration delay) {
        state_->loop.after(delay, [self = shared_from_this()] { self->step(); });
    }

    std::shared_ptr<Agent::State> state_;
    LogQuery query_;
    Chosen chosen_;
    std::shared_ptr<WayBack> back_;
    LogPrinter printer_;
    std::shared_ptr<void> ticket_;  // Of the reader's descriptor.
    std::shared_ptr<void> search_ticket_;
    std::string path_;
    LogReader reader_;
    std::optional<TailSearch> search_;
    std::shared_ptr<void> turn_;  // While it searches.
    std::size_t left_;            // So much was there when it was asked for, and is not sent.
    Duration wait_{};
    bool begun_ = false;
};

}  // namespace

void send_log(std::shared_ptr<Agent::State> state, const LogQuery& query, const Chosen& chosen,
              std::shared_ptr<WayBack> back) {
    Chosen wanted = chosen;
    LogQuery asked = query;
    if (query.previous && --wanted.attempt < 0)
        throw Error(Reason::bad_request, "previous terminated container \"" + chosen.container +
                                             "\" in pod \"" + chosen.uid + "\" not found");
    asked.follow = query.follow && !query.previous;  // An ended one writes no more.
    std::make_shared<LogSender>(std::move(state), asked, wanted, std::move(back))->step();
}

}  // namespace muster::agent
