// kube/fence.cpp - asks before each write, and remembers those that were never answered.
#include "kube/fence.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::kube {

struct Fence::State {
    Loop& loop;
    std::function<bool()> may_act;
    std::function<Duration()> stopwatch;
    std::optional<Time> doubtful;  // When the last of them was sent; local.

    Time local() const { return stopwatch ? Time{} + stopwatch() : loop.now(); }
};

net::Response not_sent() {
    net::Response response;
    response.status = 0;
    response.body = make_bytes("not sent: another operator may be working");
    return response;
}

Fence::Fence(Transport& inner, Loop& loop, std::function<bool()> may_act,
             std::function<Duration()> stopwatch)
    : inner_(inner),
      state_(std::make_shared<State>(
          State{loop, std::move(may_act), std::move(stopwatch), std::nullopt})) {}

void Fence::send(net::Request request, OnResponse on_response) {
    if (request.method == "GET") return inner_.send(std::move(request), std::move(on_response));
    if (state_->may_act && !state_->may_act())
        return state_->loop.post([told = std::move(on_response)] { told(not_sent()); });
    inner_.send(std::move(request), [state = state_, sent = state_->local(),
                                     told = std::move(on_response)](net::Response response) {
        const bool is_known = response.status != 0 && response.status < 500;
        if (!is_known) state->doubtful = std::max(state->doubtful.value_or(sent), sent);
        told(std::move(response));
    });
}

Transport::StreamId Fence::open(net::Request request, Stream stream) {
    return inner_.open(std::move(request), std::move(stream));
}

void Fence::cancel(StreamId stream) {
    inner_.cancel(stream);
}

Duration Fence::in_doubt(Duration late) const {
    if (!state_->doubtful) return {};
    return std::clamp(*state_->doubtful + late - state_->local(), Duration{}, late);
}

}  // namespace muster::kube
