// bench/figures.h - how a benchmark measures and says what it found.
#pragma once

#include <chrono>
#include <ctime>
#include <functional>
#include <string>

namespace muster::bench {

/// Prints figures as they come: for people, or one JSON object a line.
class Figures {
public:
    enum class Form { text, json };
    explicit Figures(Form form) : form_(form) {}

    void heading(const std::string& text) const;
    void report(const std::string& name, double value, const std::string& unit) const;

    /// CPU time of this process in microseconds for one call, over many of them.
    void report_cpu(const std::string& name, const std::function<void()>& call) const;

private:
    Form form_;
};

inline double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void bench_api(const Figures& figures);
void bench_decide(const Figures& figures);
void bench_topology(const Figures& figures);
void bench_store(const Figures& figures, const std::string& folder);

}  // namespace muster::bench
