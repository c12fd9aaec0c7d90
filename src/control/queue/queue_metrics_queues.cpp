// control/queue/queue_metrics_queues.cpp - metrics of queues and cohorts, from their reports.
#include <limits>

#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/queue/names.h"
#include "control/queue/queue_metrics.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Series = MetricsSettings::Series;

/// As Prometheus has it: cpu in whole ones, everything else in units.
double in_units(const std::string& resource, std::int64_t amount) {
    if (amount == unlimited().value) return std::numeric_limits<double>::infinity();
    return static_cast<double>(amount) / (resource == "cpu" ? 1000 : 1);
}

std::string parent_of(const std::vector<std::string>& cohorts) {
    return cohorts.empty() ? std::string() : cohorts.back();
}

decide::Labels labels_of(const Value& labels) {
    decide::Labels folded;
    for (const auto& [name, value] : labels.members())
        folded[name] = value.text();
    return folded;
}

/// Sets the member whose value is `now` to 1 and the others to 0.
void set_one(MetricFamily<Gauge>& family, std::vector<std::string> labels,
             const std::vector<std::string>& values, const std::string& now) {
    for (const std::string& value : values) {
        std::vector<std::string> all = labels;
        all.insert(all.end(), {value, replica_role});
        family.with(all).set(value == now ? 1 : 0);
    }
}

}  // namespace

void QueueMetrics::saw_local_queue(const kube::Object* before, const kube::Object* after) {
    const api::Key key = after != nullptr ? after->key : before->key;
    const auto known = locals_.find(key);
    ShownLocal now;
    if (after != nullptr) {
        now.cluster_queue = after->value["spec"]["clusterQueue"].text();
        now.selected =
            settings_.local_queues == Series::shown &&
            (!settings_.selected ||
             matches(*settings_.selected, labels_of(after->value["metadata"]["labels"])));
        const bool same = known != locals_.end() && known->second.selected == now.selected &&
                          known->second.cluster_queue == now.cluster_queue;
        if (same) return;
    }
    // What counted for it so far counts for it as it is now.
    const auto tallied = tallies_.find(key);
    if (tallied != tallies_.end()) tally_at(key, tallied->second, -1);
    if (after == nullptr || !now.selected) forget_local_queue(key);
    if (after != nullptr) {
        locals_[key] = now;
    } else if (known != locals_.end()) {
        locals_.erase(known);
    }
    if (tallied != tallies_.end()) tally_at(key, tallied->second, 1);
}

void QueueMetrics::forget_local_queue(const api::Key& key) {
    const auto forget = [&](auto* family) {
        if (family == nullptr) return;
        std::vector<std::vector<std::string>> gone;
        family->each([&](const auto& values, const auto&) {
            if (values[0] == key.name && values[1] == key.ns) gone.push_back(values);
        });
        for (const auto& values : gone)
            family->remove(values);
    };
    for (auto* family : {of_.pending.of_local, of_.finished.of_local, of_.reserving.of_local,
                         of_.admitted.of_local, of_.unadmitted.of_local, of_.local_status,
                         of_.local_use, of_.local_reservation, of_.local_usage}) {
        forget(family);
    }
    for (auto* family : {of_.finished_total.of_local, of_.reserved_total.of_local,
                         of_.admitted_total.of_local, of_.evicted_total.of_local}) {
        forget(family);
    }
    for (auto* family :
         {of_.reserved_wait.of_local, of_.admitted_wait.of_local, of_.checks_wait.of_local,
          of_.ready_wait.of_local, of_.admitted_until_ready.of_local, of_.execution.of_local}) {
        forget(family);
    }
}

void QueueMetrics::forget_cluster_queue(const std::string& name) {
    for (auto* family : {&of_.pending.of_queue, &of_.pending_classes, &of_.finished.of_queue,
                         &of_.reserving.of_queue, &of_.admitted.of_queue, &of_.queue_status,
                         &of_.queue_info, &of_.queue_share}) {
        family->remove_where(0, name);
    }
    for (auto* family : {of_.queue_reservation, of_.queue_usage, of_.nominal, of_.borrowing,
                         of_.lending, of_.queue_pending}) {
        if (family != nullptr) family->remove_where(1, name);
    }
    for (auto* family :
         {&of_.finished_total.of_queue, &of_.reserved_total.of_queue, &of_.admitted_total.of_queue,
          &of_.evicted_total.of_queue, &of_.evicted_once, &of_.preempted_total}) {
        family->remove_where(0, name);
    }
    for (auto* family :
         {&of_.reserved_wait.of_queue, &of_.admitted_wait.of_queue, &of_.checks_wait.of_queue,
          &of_.ready_wait.of_queue, &of_.admitted_until_ready.of_queue, &of_.execution.of_queue,
          &of_.ready_until_evicted, &of_.eviction_latency}) {
        family->remove_where(0, name);
    }
    const auto shown = queues_.find(name);
    if (shown == queues_.end()) return;
    add_to_cohorts(shown->second, -1);
    queues_.erase(shown);
}

void QueueMetrics::show_cluster_queue(const kube::Object& queue, const Value& status,
                                      const decide::QueueReport& report,
                                      const decide::State& state) {
    const std::string& name = queue.key.name;
    const std::int64_t admitted = status["admittedWorkloads"].integer_or(0);
    const auto active = report.pending - report.inadmissible;
    const auto set = [&](MetricFamily<Gauge>& family, const char* word, std::int64_t value) {
        family.with({name, word, replica_role}).set(static_cast<double>(value));
    };
    set(of_.pending.of_queue, "active", active);
    set(of_.pending.of_queue, "inadmissible", report.inadmissible);
    set(of_.pending_classes, "active", report.open_classes);
    set(of_.pending_classes, "inadmissible", report.blocked_classes);
    of_.reserving.of_queue.with({name, replica_role})
        .set(static_cast<double>(status["reservingWorkloads"].integer_or(0)));
    of_.admitted.of_queue.with({name, replica_role}).set(static_cast<double>(admitted));
    const bool ready =
        find_condition(status["conditions"], "Active")["status"].text_or("") == "True";
    set_one(of_.queue_status, {name}, {"pending", "active", "terminating"},
            queue.is_terminating() ? "terminating"
            : ready                ? "active"
                                   : "pending");
    ShownQueue& shown = queues_[name];
    show_place(name, shown, report, admitted);
    if (report.weighted_share) {
        const bool endless = *report.weighted_share == std::numeric_limits<std::int64_t>::max();
        of_.queue_share.with({name, parent_of(report.cohorts), replica_role})
            .set(endless ? std::numeric_limits<double>::quiet_NaN()
                         : static_cast<double>(*report.weighted_share));
    }
    if (settings_.resources == Series::hidden) return;
    show_quotas(queue, status);
    of_.queue_pending->remove_where(1, name);
    for (const auto& [resource, amount] : decide::pending_resources(state, name)) {
        of_.queue_pending->with({parent_of(report.cohorts), name, resource, replica_role})
            .set(in_units(resource, amount.value));
    }
}

// Where it stands in the tree, and what it adds to the cohorts above it.
void QueueMetrics::show_place(const std::string& name, ShownQueue& shown,
                              const decide::QueueReport& report, std::int64_t admitted) {
    if (shown.cohorts != report.cohorts) {
        of_.queue_share.remove_where(0, name);
        of_.queue_info.remove_where(0, name);
    }
    const std::string root = report.cohorts.empty() ? "" : report.cohorts.front();
    of_.queue_info.with({name, parent_of(report.cohorts), root, replica_role}).set(1);
    Amounts reserved;
    for (const auto& [flavor, resources] : report.flavors) {
        for (const auto& [resource, use] : resources)
            reserved[{flavor, resource}] = use.used.value;
    }
    if (shown.cohorts == report.cohorts && shown.reserved == reserved && shown.admitted == admitted)
        return;
    add_to_cohorts(shown, -1);
    shown.cohorts = report.cohorts;
    shown.reserved = std::move(reserved);
    shown.admitted = admitted;
    add_to_cohorts(shown, 1);
}

void QueueMetrics::add_to_cohorts(const ShownQueue& shown, std::int64_t times) {
    for (const std::string& cohort : shown.cohorts) {
        Amounts& below = below_[cohort];
        for (const auto& [what, amount] : shown.reserved) {
            std::int64_t& sum = below[what];
            sum += amount * times;
            of_.cohort_reservation.with({cohort, what.first, what.second, replica_role})
                .set(in_units(what.second, sum));
        }
        std::int64_t& admitted = admitted_below_[cohort];
        admitted += shown.admitted * times;
        of_.cohort_admitted.with({cohort, replica_role}).set(static_cast<double>(admitted));
    }
}

void QueueMetrics::show_quotas(const kube::Object& queue, const Value& status) {
    const std::string& name = queue.key.name;
    const Value& spec = queue.value["spec"];
    const std::string cohort = spec["cohortName"].text();
    for (auto* family :
         {of_.nominal, of_.borrowing, of_.lending, of_.queue_reservation, of_.queue_usage}) {
        family->remove_where(1, name);
    }
    const auto set = [&](MetricFamily<Gauge>& family, const Value& flavor,
                         const std::string& resource, const Value& quantity) {
        const double value = quantity.is_null()
                                 ? std::numeric_limits<double>::infinity()
                                 : in_units(resource, fold_amount(resource, quantity).value);
        family.with({cohort, name, flavor["name"].text(), resource, replica_role}).set(value);
    };
    for (const Value& group : spec["resourceGroups"].items()) {
        for (const Value& flavor : group["flavors"].items()) {
            for (const Value& resource : flavor["resources"].items()) {
                const std::string what = resource["name"].text();
                set(*of_.nominal, flavor, what, resource["nominalQuota"]);
                set(*of_.borrowing, flavor, what, resource["borrowingLimit"]);
                set(*of_.lending, flavor, what, resource["lendingLimit"]);
            }
        }
    }
    for (const auto& [field, family] : {std::pair("flavorsReservation", of_.queue_reservation),
                                        std::pair("flavorsUsage", of_.queue_usage)}) {
        for (const Value& flavor : status[field].items()) {
            for (const Value& resource : flavor["resources"].items())
                set(*family, flavor, resource["name"].text(), resource["total"]);
        }
    }
}

void QueueMetrics::show_local_queue(const kube::Object& queue, const Value& status,
                                    const decide::QueueReport& report) {
    if (!selects(queue.key)) return;
    const std::string& name = queue.key.name;
    const std::string& ns = queue.key.ns;
    const auto set = [](MetricFamily<Gauge>& family, const std::vector<std::string>& labels,
                        double value) { family.with(labels).set(value); };
    set(*of_.pending.of_local, {name, ns, "active", replica_role},
        static_cast<double>(report.pending - report.inadmissible));
    set(*of_.pending.of_local, {name, ns, "inadmissible", replica_role},
        static_cast<double>(report.inadmissible));
    set(*of_.reserving.of_local, {name, ns, replica_role},
        static_cast<double>(status["reservingWorkloads"].integer_or(0)));
    set(*of_.admitted.of_local, {name, ns, replica_role},
        static_cast<double>(status["admittedWorkloads"].integer_or(0)));
    set_one(*of_.local_status, {name, ns}, {"True", "False", "Unknown"},
            std::string(find_condition(status["conditions"], "Active")["status"].text_or("")));
    if (report.use) {
        const bool endless = report.use->weighted == std::numeric_limits<std::int64_t>::max();
        set(*of_.local_use, {name, ns, replica_role},
            endless ? std::numeric_limits<double>::infinity()
                    : static_cast<double>(report.use->weighted) / 1000);
    }
    if (settings_.resources == Series::hidden) return;
    for (const auto& [field, family] : {std::pair("flavorsReservation", of_.local_reservation),
                                        std::pair("flavorsUsage", of_.local_usage)}) {
        for (const Value& flavor : status[field].items()) {
            for (const Value& resource : flavor["resources"].items()) {
                const std::string what = resource["name"].text();
                set(*family, {name, ns, flavor["name"].text(), what, replica_role},
                    in_units(what, fold_amount(what, resource["total"]).value));
            }
        }
    }
}

void QueueMetrics::show_cohorts(const decide::State& state) {
    of_.cohort_info.clear();
    of_.cohort_quota.clear();
    std::map<std::string, Amounts> below;
    std::map<std::string, std::int64_t> admitted_below;
    for (const std::string& name : decide::cohorts_in_use(state)) {
        const auto report = decide::report_cohort(state, name);
        const std::string root = report->cohorts.empty() ? name : report->cohorts.front();
        of_.cohort_info.with({name, parent_of(report->cohorts), root, replica_role}).set(1);
        for (const auto& [flavor, resources] : report->own) {
            for (const auto& [resource, amount] : resources) {
                of_.cohort_quota.with({name, flavor, resource, replica_role})
                    .set(in_units(resource, amount.value));
            }
        }
        below[name] = std::move(below_[name]);
        admitted_below[name] = admitted_below_[name];
        below_.erase(name);
    }
    for (const auto& [gone, amounts] : below_) {
        of_.cohort_reservation.remove_where(0, gone);
        of_.cohort_admitted.remove_where(0, gone);
        of_.cohort_admitted_total.remove_where(0, gone);
        of_.cohort_share.remove_where(0, gone);
    }
    below_ = std::move(below);
    admitted_below_ = std::move(admitted_below);
}

void QueueMetrics::show_cohort_shares(const decide::State& state) {
    for (const std::string& name : decide::cohorts_in_use(state)) {
        const auto share = decide::weighted_share_of_cohort(state, name);
        if (!share) return;  // Shares are not kept at all.
        const bool endless = *share == std::numeric_limits<std::int64_t>::max();
        of_.cohort_share.with({name, replica_role})
            .set(endless ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(*share));
    }
}

}  // namespace muster::control::queue
