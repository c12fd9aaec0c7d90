// sim/faulty_transport.cpp - the faults of a network, one request and one piece at a time.
#include "sim/faulty_transport.h"

#include <utility>

namespace muster::sim {
namespace {

net::Response unreachable() {
    net::Response response;
    response.status = 503;
    response.body = make_bytes(
        R"({"kind":"Status","reason":"ServiceUnavailable","message":"simulated fault","code":503})");
    return response;
}

net::Response conflict() {
    net::Response response;
    response.status = 409;
    response.body = make_bytes(
        R"({"kind":"Status","reason":"Conflict","message":"simulated fault","code":409})");
    return response;
}

void nobody(const net::Response&) {}

constexpr Duration late_request_max = seconds(1);
constexpr Duration late_answer_max = seconds(2);
constexpr Duration late_write_max = seconds(3);
constexpr Duration linger = seconds(2);

}  // namespace

bool FaultyTransport::strikes(int per_mille) {
    if (per_mille == 0 || random_.below(1000) >= static_cast<std::uint64_t>(per_mille))
        return false;
    ++faults_made_;
    return true;
}

void FaultyTransport::send(net::Request request, OnResponse on_response) {
    const bool writes = request.method != "GET";
    if (dead_) return;
    const std::string writer(writes ? request.headers.get("User-Agent") : "");
    if (!writer.empty() && crashes_at(writer)) {
        // The write is done and nobody hears of it, or it never was.
        if (random_.below(2) == 0) inner_->send(std::move(request), nobody);
        return;
    }
    const bool changes = request.method == "PUT" || request.method == "PATCH";
    if (strikes(faults_.lost_request)) {
        loop_.after(milliseconds(50), [on_response] { on_response(unreachable()); });
    } else if (changes && strikes(faults_.conflict)) {
        loop_.post([on_response] { on_response(conflict()); });
    } else if (writes && strikes(faults_.late_write)) {
        pass_later(request, nobody, late_write_max);
        loop_.after(milliseconds(50), [on_response] { on_response(unreachable()); });
    } else if (writes && strikes(faults_.lost_answer)) {
        pass(std::move(request), [told = remember(std::move(on_response))](const net::Response&) {
            told(unreachable());
        });
    } else {
        const OnResponse told = remember(std::move(on_response));
        if (!writer.empty()) writers_[last_] = writer;
        // Nobody on the way repeats what makes something.
        const bool may_double = writes && request.method != "POST";
        if (may_double && strikes(faults_.doubled_write))
            pass_later(request, nobody, late_write_max);
        pass(std::move(request), maybe_late(told));
    }
}

Duration FaultyTransport::up_to(Duration most) {
    return nanoseconds(
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.nanoseconds))));
}

void FaultyTransport::pass(net::Request request, OnResponse on_response) {
    if (strikes(faults_.late_request)) return pass_later(request, on_response, late_request_max);
    inner_->send(std::move(request), std::move(on_response));
}

/// To whichever server is there by then.
void FaultyTransport::pass_later(const net::Request& request, const OnResponse& on_response,
                                 Duration most) {
    network_.after(up_to(most),
                   [this, request, on_response] { inner_->send(request, on_response); });
}

kube::Transport::OnResponse FaultyTransport::maybe_late(OnResponse on_response) {
    if (!strikes(faults_.late_answer)) return on_response;
    return [this, on_response = std::move(on_response)](const net::Response& response) {
        loop_.after(up_to(late_answer_max), [on_response, response] { on_response(response); });
    };
}

bool FaultyTransport::crashes_at(const std::string& writer) {
    constexpr int first_writes = 3;
    constexpr int likelier = 10;  // Who writes seldom must be hit too.
    Writes& writes = writes_[writer];
    ++writes.sent;
    if (!crash_) return false;
    const int factor = writes.sent <= first_writes ? likelier : 1;
    if (!strikes(faults_.crash_at_write * factor)) return false;
    ++writes.cut;
    dead_ = true;
    crash_();
    return true;
}

void FaultyTransport::count_cut() {
    for (const auto& [id, writer] : writers_) {
        if (waiting_.contains(id)) ++writes_[writer].cut;
    }
    writers_.clear();
}

kube::Transport::OnResponse FaultyTransport::remember(OnResponse on_response) {
    const std::uint64_t id = ++last_;
    waiting_[id] = std::move(on_response);
    return [this, id](net::Response response) {
        const auto found = waiting_.find(id);
        if (found == waiting_.end()) return;
        const OnResponse told = std::move(found->second);
        waiting_.erase(found);
        writers_.erase(id);
        told(std::move(response));
    };
}

void FaultyTransport::reconnect(std::unique_ptr<kube::Transport> inner) {
    inner_ = std::move(inner);
    for (auto& [id, told] : std::exchange(waiting_, {})) {
        loop_.post([told = std::move(told)] { told(unreachable()); });
    }
    for (const auto& [id, watch] : watches_) {
        loop_.post([this, id = id] { end(id); });
    }
}

kube::Transport::StreamId FaultyTransport::open(net::Request request, Stream stream) {
    const std::uint64_t id = ++last_;
    Watch& watch = watches_[id];
    watch.stream = std::move(stream);
    if (request.has_query("resourceVersion") && strikes(faults_.expired_watch)) {
        loop_.post([this, id] {
            const auto found = watches_.find(id);
            if (found == watches_.end()) return;
            const Stream told = found->second.stream;
            told.on_head(net::Response{410, {}, nullptr});
            end(id);
        });
        return StreamId{id};
    }
    Stream inner;
    inner.on_head = [this, id](const net::Response& head) {
        const auto found = watches_.find(id);
        if (found == watches_.end()) return;
        const Stream told = found->second.stream;
        told.on_head(head);
    };
    inner.on_piece = [this, id](std::string_view piece) { take_piece(id, piece); };
    inner.on_closed = [this, id] { end(id); };
    watch.inner = inner_->open(std::move(request), std::move(inner));
    return StreamId{id};
}

void FaultyTransport::cancel(StreamId stream) {
    const auto found = watches_.find(static_cast<std::uint64_t>(stream));
    if (found == watches_.end()) return;
    inner_->cancel(found->second.inner);
    watches_.erase(found);
}

void FaultyTransport::take_piece(std::uint64_t id, std::string_view piece) {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    Watch& watch = found->second;
    if (!watch.lingers && strikes(faults_.broken_watch)) return break_watch(id);
    if (!watch.holding && strikes(faults_.late_watch)) {
        watch.holding = true;
        loop_.after(milliseconds(static_cast<std::int64_t>(random_.below(2000))),
                    [this, id] { release(id); });
    }
    if (watch.holding) {
        watch.held.emplace_back(piece);
        return;
    }
    const Stream told = watch.stream;
    told.on_piece(piece);
}

void FaultyTransport::break_watch(std::uint64_t id) {
    Watch& watch = watches_.at(id);
    if (!strikes(faults_.lingering_watch)) {
        inner_->cancel(watch.inner);
        return end(id);
    }
    watch.lingers = true;
    loop_.after(linger, [this, id] { cancel(StreamId{id}); });
    const Stream told = watch.stream;
    told.on_closed();
}

void FaultyTransport::release(std::uint64_t id) {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    found->second.holding = false;
    const std::deque<std::string> held = std::exchange(found->second.held, {});
    for (const std::string& piece : held) {
        const auto still = watches_.find(id);
        if (still == watches_.end()) return;
        const Stream told = still->second.stream;
        told.on_piece(piece);
    }
}

void FaultyTransport::end(std::uint64_t id) {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    const Stream told = std::move(found->second.stream);
    const bool was_told = found->second.lingers;
    watches_.erase(found);
    if (!was_told) told.on_closed();
}

}  // namespace muster::sim
