// base/metrics.cpp - counting without locks, and Prometheus' text format.
#include "base/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/verify.h"

namespace muster {
namespace {

bool is_metric_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == ':';
    };
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
           std::all_of(name.begin(), name.end(), fits);
}

/// The shortest text that reads back as the same number.
std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

/// `{a="b",le="1"}`, or nothing.
std::string label_text(const MetricName& name, const std::vector<std::string>& values,
                       std::string_view bound = {}) {
    std::string text;
    const auto add = [&](std::string_view label, std::string_view value) {
        text += text.empty() ? "{" : ",";
        text += std::string(label) + "=\"" + escaped(value, "\\\"") + "\"";
    };
    for (std::size_t i = 0; i < name.labels.size(); ++i)
        add(name.labels[i], values[i]);
    if (!bound.empty()) add("le", bound);
    return text.empty() ? text : text + "}";
}

std::string head(const MetricName& name, const char* type) {
    return "# HELP " + name.name + " " + escaped(name.help, "\\") + "\n# TYPE " + name.name + " " +
           type + "\n";
}

template <class Metric>
void put_values(std::string& out, const MetricFamily<Metric>& family, const char* type) {
    const MetricName& name = family.name();
    std::string members;
    family.each([&](const auto& values, const Metric& metric) {
        members += name.name + label_text(name, values) + " " + number_text(metric.value()) + "\n";
    });
    if (!members.empty()) out += head(name, type) + members;
}

void put_histograms(std::string& out, const MetricFamily<Histogram>& family) {
    const MetricName& name = family.name();
    bool first = true;
    family.each([&](const auto& values, const Histogram& metric) {
        if (std::exchange(first, false)) out += head(name, "histogram");
        const auto& bounds = metric.bounds();
        for (std::size_t i = 0; i < bounds.size(); ++i) {
            out += name.name + "_bucket" + label_text(name, values, number_text(bounds[i])) + " " +
                   std::to_string(metric.count_up_to(i)) + "\n";
        }
        const std::string all = std::to_string(metric.count());
        out += name.name + "_bucket" + label_text(name, values, "+Inf") + " " + all + "\n";
        out +=
            name.name + "_sum" + label_text(name, values) + " " + number_text(metric.sum()) + "\n";
        out += name.name + "_count" + label_text(name, values) + " " + all + "\n";
    });
}

}  // namespace

Histogram::Histogram(const std::vector<double>& bounds)
    : bounds_(bounds), in_bucket_(bounds.size() + 1) {}

void Histogram::observe(double value) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    in_bucket_[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
}

std::uint64_t Histogram::count_up_to(std::size_t bound) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= bound; ++i)
        count += in_bucket_[i].load(std::memory_order_relaxed);
    return count;
}

std::uint64_t Histogram::count() const {
    return count_up_to(bounds_.size());
}

template <class Metric>
Metric& MetricFamily<Metric>::with(const Values& values) {
    VERIFY(values.size() == name_.labels.size());
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Metric>& member = members_[values];
    if (!member) {
        if constexpr (std::is_same_v<Metric, Histogram>) {
            member = std::make_unique<Histogram>(bounds_);
        } else {
            member = std::make_unique<Metric>();
        }
    }
    return *member;
}

template <class Metric>
void MetricFamily<Metric>::remove(const Values& values) {
    const std::lock_guard lock(mutex_);
    members_.erase(values);
}

template <class Metric>
void MetricFamily<Metric>::remove_where(std::size_t label, const std::string& value) {
    VERIFY(label < name_.labels.size());
    const std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const auto& member) { return member.first[label] == value; });
}

template <class Metric>
void MetricFamily<Metric>::clear() {
    const std::lock_guard lock(mutex_);
    members_.clear();
}

template <class Metric>
void MetricFamily<Metric>::each(
    const std::function<void(const Values&, const Metric&)>& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [values, metric] : members_)
        visit(values, *metric);
}

template class MetricFamily<Counter>;
template class MetricFamily<Gauge>;
template class MetricFamily<Histogram>;

Metrics::Family& Metrics::make(const MetricName& name) {
    VERIFY(is_metric_name(name.name));
    VERIFY(std::all_of(name.labels.begin(), name.labels.end(), is_metric_name));
    const auto [at, is_new] = families_.try_emplace(name.name);
    VERIFY(is_new);
    return at->second;
}

MetricFamily<Counter>& Metrics::counters(MetricName name) {
    const std::lock_guard lock(mutex_);
    Family& family = make(name);
    family.counters = std::make_unique<MetricFamily<Counter>>(std::move(name));
    return *family.counters;
}

MetricFamily<Gauge>& Metrics::gauges(MetricName name) {
    const std::lock_guard lock(mutex_);
    Family& family = make(name);
    family.gauges = std::make_unique<MetricFamily<Gauge>>(std::move(name));
    return *family.gauges;
}

MetricFamily<Histogram>& Metrics::histograms(MetricName name, std::vector<double> bounds) {
    VERIFY(std::is_sorted(bounds.begin(), bounds.end()));
    const std::lock_guard lock(mutex_);
    Family& family = make(name);
    family.histograms =
        std::make_unique<MetricFamily<Histogram>>(std::move(name), std::move(bounds));
    return *family.histograms;
}

void Metrics::before_text(std::function<void()> refresh) {
    const std::lock_guard lock(mutex_);
    refreshers_.push_back(std::move(refresh));
}

std::string Metrics::text() const {
    std::vector<std::function<void()>> refreshers;
    {
        const std::lock_guard lock(mutex_);
        refreshers = refreshers_;
    }
    for (const auto& refresh : refreshers)
        refresh();  // Without the lock: it may make members, even families.
    std::string out;
    const std::lock_guard lock(mutex_);
    for (const auto& [name, family] : families_) {
        if (family.counters) put_values(out, *family.counters, "counter");
        if (family.gauges) put_values(out, *family.gauges, "gauge");
        if (family.histograms) put_histograms(out, *family.histograms);
    }
    return out;
}

}  // namespace muster
