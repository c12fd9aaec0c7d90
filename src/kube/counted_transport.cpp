// kube/counted_transport.cpp - counts requests by method and answer, and writes under way.
#include "kube/counted_transport.h"

#include <string>
#include <utility>

namespace muster::kube {

struct CountedTransport::State {
    std::shared_ptr<Metrics> metrics;  // Owns the family.
    MetricFamily<Counter>* requests = nullptr;
    std::size_t writing = 0;
    std::vector<std::function<void()>> waiting;

    void count(int status, const std::string& method) const {
        if (requests == nullptr) return;
        requests->with({status == 0 ? "<error>" : std::to_string(status), method}).add();
    }
    void written() {
        if (--writing > 0) return;
        for (const auto& done : std::exchange(waiting, {}))
            done();
    }
};

CountedTransport::CountedTransport(Transport& inner, const std::shared_ptr<Metrics>& metrics)
    : inner_(inner), state_(std::make_shared<State>()) {
    if (metrics == nullptr) return;
    state_->metrics = metrics;
    state_->requests = &metrics->counters({"rest_client_requests_total",
                                           "Number of HTTP requests, partitioned by status code "
                                           "and method.",
                                           {"code", "method"}});
}

CountedTransport::CountedTransport(Transport& inner, const CountedTransport& other)
    : inner_(inner), state_(std::make_shared<State>()) {
    state_->metrics = other.state_->metrics;
    state_->requests = other.state_->requests;
}

void CountedTransport::send(net::Request request, OnResponse on_response) {
    const bool writes = request.method != "GET";
    if (writes) ++state_->writing;
    inner_.send(std::move(request), [state = state_, method = request.method, writes,
                                     done = std::move(on_response)](net::Response response) {
        state->count(response.status, method);
        done(std::move(response));
        if (writes) state->written();
    });
}

Transport::StreamId CountedTransport::open(net::Request request, Stream stream) {
    stream.on_head = [state = state_, method = request.method,
                      on_head = std::move(stream.on_head)](net::Response head) {
        state->count(head.status, method);
        if (on_head) on_head(std::move(head));
    };
    return inner_.open(std::move(request), std::move(stream));
}

void CountedTransport::cancel(StreamId stream) {
    inner_.cancel(stream);
}

void CountedTransport::when_written(std::function<void()> done) {
    if (state_->writing == 0) return done();
    state_->waiting.push_back(std::move(done));
}

}  // namespace muster::kube
