// decide/scenario_policies.cpp - the words about who may preempt, search on and share how much.
#include "base/text.h"
#include "decide/scenario_run.h"

namespace muster::decide {

namespace {

Preemption::WithinQueue within(std::string_view word, Reading& read) {
    if (word == "lower") return Preemption::WithinQueue::lower_priority;
    if (word == "lower_or_newer") return Preemption::WithinQueue::lower_or_newer_equal_priority;
    read.wrong("within is lower or lower_or_newer");
    return Preemption::WithinQueue::never;
}

Preemption::Reclaim reclaim(std::string_view word, Reading& read) {
    if (word == "lower") return Preemption::Reclaim::lower_priority;
    if (word == "any") return Preemption::Reclaim::any;
    read.wrong("reclaim is lower or any");
    return Preemption::Reclaim::never;
}

}  // namespace

FairWeight read_weight(std::string_view text, Reading& read) {
    const auto parts = split(text, '.');
    constexpr std::size_t digits_kept = 9;
    std::string digits(parts.size() > 1 ? parts[1] : "");
    if (parts.size() > 2 || digits.size() > digits_kept) {
        read.wrong("'" + std::string(text) + "' is not a weight");
        return {};
    }
    digits.resize(digits_kept, '0');
    return {read.integer(std::string(parts[0]) + digits)};
}

bool read_policy(ClusterQueue& queue, const Step::Option& option, Reading& read) {
    using Search = FlavorFungibility::Search;
    using Preference = FlavorFungibility::Preference;
    const auto& [key, value] = option;
    if (key == "within") {
        queue.preemption.within_queue = within(value, read);
    } else if (key == "reclaim") {
        queue.preemption.reclaim_within_cohort = reclaim(value, read);
    } else if (key == "while_borrowing") {
        const auto parts = split(value, ':');
        if (parts[0] != "lower") read.wrong("while_borrowing is lower or lower:THRESHOLD");
        queue.preemption.borrow_within_cohort = Preemption::WhileBorrowing::lower_priority;
        if (parts.size() > 1) queue.preemption.max_priority_threshold = read.integer(parts[1]);
    } else if (key == "when_can_borrow" && value == "next") {
        queue.fungibility.when_can_borrow = Search::try_next_flavor;
    } else if (key == "when_can_preempt" && value == "stop") {
        queue.fungibility.when_can_preempt = Search::may_stop;
    } else if (key == "prefer" && (value == "borrowing" || value == "preemption")) {
        queue.fungibility.preference = value == "borrowing" ? Preference::borrowing_over_preemption
                                                            : Preference::preemption_over_borrowing;
    } else if (key == "by_use") {
        queue.admission_mode = ClusterQueue::AdmissionMode::usage_based;
    } else if (key == "weight") {
        queue.weight = read_weight(value, read);
    } else {
        return false;
    }
    return true;
}

bool read_sharing(Options& options, const Step::Option& option, Reading& read) {
    if (option.key == "undeclared" && option.value == "ignore") {
        options.undeclared = Options::Undeclared::ignore;
        return true;
    }
    if (option.key == "share_use") {
        const auto times = split(option.value, ',');
        if (!options.admission_sharing) options.admission_sharing.emplace();
        options.admission_sharing->half_life = read.duration(times[0]);
        if (times.size() > 1) options.admission_sharing->sampling = read.duration(times[1]);
        return true;
    }
    if (option.key == "use_weight") {
        const auto halves = split_first(option.value, ':');
        if (!halves) read.wrong("use_weight is RESOURCE:N.N");
        if (!options.admission_sharing) options.admission_sharing.emplace();
        if (halves) {
            options.admission_sharing->weight_nanos[std::string(halves->before)] =
                read_weight(halves->after, read).nanos;
        }
        return true;
    }
    if (option.key != "fair_sharing") return false;
    options.fair_sharing.emplace();
    if (option.value.empty()) return true;
    for (const std::string_view word : split(option.value, ',')) {
        if (word == "final") {
            options.fair_sharing->push_back(Options::Strategy::less_than_or_equal_to_final_share);
        } else if (word == "initial") {
            options.fair_sharing->push_back(Options::Strategy::less_than_initial_share);
        } else {
            read.wrong("fair_sharing is final, initial, or both");
        }
    }
    return true;
}

}  // namespace muster::decide
