// base/metrics.h - numbers that the program keeps of itself, and their text for Prometheus.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Only grows. Any thread.
class Counter {
public:
    void add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
    double value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<double> value_{0};
};

/// Goes up and down. Any thread.
class Gauge {
public:
    void set(double value) { value_.store(value, std::memory_order_relaxed); }
    void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
    double value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<double> value_{0};
};

/// How often values were at most so large. Any thread.
class Histogram {
public:
    explicit Histogram(const std::vector<double>& bounds);
    void observe(double value);
    const std::vector<double>& bounds() const { return bounds_; }
    std::uint64_t count() const;
    double sum() const { return sum_.load(std::memory_order_relaxed); }
    /// Values at most as large as the bound at this place.
    std::uint64_t count_up_to(std::size_t bound) const;

private:
    const std::vector<double>& bounds_;                  // The family's.
    std::vector<std::atomic<std::uint64_t>> in_bucket_;  // One more than bounds: the rest.
    std::atomic<double> sum_{0};
};

/// What a metric is called and how its members are told apart.
struct MetricName {
    std::string name;
    std::string help;
    std::vector<std::string> labels;  // Names only.
};

/// Metrics of one name, one for each combination of label values. Any thread.
///
/// A reference that `with` gave stays good until `remove` or `clear` takes that member away; who
/// removes members looks them up anew each time.
template <class Metric>
class MetricFamily {
public:
    using Values = std::vector<std::string>;

    explicit MetricFamily(MetricName name, std::vector<double> bounds = {})
        : name_(std::move(name)), bounds_(std::move(bounds)) {}

    /// The member with these label values, in the order of the labels; made when it is not there.
    Metric& with(const Values& values = {});
    void remove(const Values& values);
    /// All members of which that label (its place among the labels) has the value.
    void remove_where(std::size_t label, const std::string& value);
    void clear();

    const MetricName& name() const { return name_; }
    /// In the order of their label values.
    void each(const std::function<void(const Values&, const Metric&)>& visit) const;

private:
    MetricName name_;
    std::vector<double> bounds_;  // Of histograms.
    mutable std::mutex mutex_;    // Of the map; members change without it.
    std::map<Values, std::unique_ptr<Metric>> members_;
};

extern template class MetricFamily<Counter>;
extern template class MetricFamily<Gauge>;
extern template class MetricFamily<Histogram>;

/// All metrics of a program. Any thread.
class Metrics {
public:
    /// Makes a family. Requires: the name is new and is one for Prometheus
    /// ([a-zA-Z_:][a-zA-Z0-9_:]*).
    MetricFamily<Counter>& counters(MetricName name);
    MetricFamily<Gauge>& gauges(MetricName name);
    /// Requires: the bounds rise.
    MetricFamily<Histogram>& histograms(MetricName name, std::vector<double> bounds);

    /// Runs `refresh` before each text, on the asker's thread: for numbers that are looked up when
    /// asked for.
    void before_text(std::function<void()> refresh);

    /// Everything in Prometheus' text format, in the order of the names; families without members
    /// are left out.
    std::string text() const;
    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

private:
    struct Family {
        std::unique_ptr<MetricFamily<Counter>> counters;
        std::unique_ptr<MetricFamily<Gauge>> gauges;
        std::unique_ptr<MetricFamily<Histogram>> histograms;
    };
    Family& make(const MetricName& name);

    mutable std::mutex mutex_;
    std::map<std::string, Family> families_;
    std::vector<std::function<void()>> refreshers_;
};

}  // namespace muster
