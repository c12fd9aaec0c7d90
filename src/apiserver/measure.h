// apiserver/measure.h - counts requests and how long they take, and answers /metrics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/exchange.h"
#include "base/metrics.h"

namespace muster::apiserver {

/// What every answer is counted in; the names and labels of kube-apiserver.
class RequestMetrics {
public:
    explicit RequestMetrics(Metrics& metrics);
    /// One answer. `took` in seconds; a watch and other streams count when they begin, without a
    /// time.
    enum class Timing { whole, stream };
    void count(const std::vector<std::string>& described, int code, double took, Timing timing);

private:
    MetricFamily<Counter>& requests_;
    MetricFamily<Histogram>& durations_;
};

/// The way back of the exchange, with its answer counted as `exchange->described` says by then.
std::shared_ptr<net::Responder> measured(Context& context, const Exchange& exchange);

/// Fills `exchange->described` once its kind is known. What is not served stays unnamed: anybody
/// could make up any number of names.
void describe(const Context& context, Exchange& exchange);

/// Answers /metrics.
bool serve_metrics(Context& context, Exchange& exchange);

}  // namespace muster::apiserver
