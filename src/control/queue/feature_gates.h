// control/queue/feature_gates.h - Kueue's feature gates: which there are, and which of them change
// what Muster does.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::control::queue {

/// One gate as of Kueue 0.20.
struct FeatureGate {
    enum class State { off, on };
    enum class Lock { free, locked };
    /// `obeyed`: both are there. `always` and `never`: Muster does one, whatever is asked for.
    /// `no_matter`: how Kueue does something, which cannot be told from outside.
    enum class Here { obeyed, always, never, no_matter };
    std::string_view name;
    State usual = State::on;
    Here here = Here::always;
    Lock lock = Lock::free;
};

/// All of them, by name.
std::span<const FeatureGate> feature_gates();

/// Gates as they are asked for.
class Gates {
public:
    bool is_on(std::string_view name) const;

    /// What is wrong with asking for this; "" when nothing is.
    std::string set(const std::string& name, FeatureGate::State state);
    /// What is wrong with them together: the gate and why.
    std::vector<std::pair<std::string, std::string>> contradictions() const;
    /// The gates that are asked for in vain.
    std::vector<std::string> not_obeyed() const;

private:
    std::map<std::string, FeatureGate::State, std::less<>> asked_;
};

}  // namespace muster::control::queue
