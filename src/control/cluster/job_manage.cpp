// control/cluster/job_manage.cpp - how many pods a Job should have now, and the status that tells
// of it.
#include <algorithm>
#include <set>
#include <utility>

#include "control/cluster/job_pass.h"
#include "control/cluster/job_pods.h"
#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

void set_number(api::Value& status, const char* field, std::int64_t number) {
    if (number != 0) {
        status.set(field, number);
    } else {
        status.erase(field);
    }
}

/// Deletes a pod that is not to be counted: the finalizer goes first.
void drop(JobPass& pass, const kube::ObjectPtr& pod) {
    if (is_tracked(*pod)) {
        Write release;
        release.verb = Write::Verb::merge_patch;
        release.key = pod->key;
        release.api_version = "v1";
        release.version = pod->version;
        release.body.at("metadata").set("finalizers", without_tracking(*pod));
        pass.writes.push_back(std::move(release));
    }
    Write remove;
    remove.verb = Write::Verb::remove;
    remove.key = pod->key;
    remove.api_version = "v1";
    remove.uid = pod->uid;
    pass.writes.push_back(std::move(remove));
    std::erase(pass.active, pod);
    pass.terminating.push_back(pod);
    pass.tell("Normal", "SuccessfulDelete", "Deleted pod: " + pod->key.name);
}

/// Deletes a pod of a Job that is over; it keeps its finalizer until its end has been counted.
void stop(JobPass& pass, const kube::ObjectPtr& pod) {
    Write remove;
    remove.verb = Write::Verb::remove;
    remove.key = pod->key;
    remove.api_version = "v1";
    remove.uid = pod->uid;
    pass.writes.push_back(std::move(remove));
    pass.terminating.push_back(pod);
    pass.tell("Normal", "SuccessfulDelete", "Deleted pod: " + pod->key.name);
}

/// Pods whose index another one has, or that the Job does not have any more.
std::vector<kube::ObjectPtr> superfluous_indexes(const JobPass& pass) {
    std::vector<kube::ObjectPtr> superfluous;
    std::set<std::int64_t> taken;
    std::vector<kube::ObjectPtr> dearest = cheapest_first(pass.active);
    std::reverse(dearest.begin(), dearest.end());
    for (const kube::ObjectPtr& pod : dearest) {
        const auto index = completion_index(*pod);
        const bool wanted = index && *index < pass.completions.value_or(0) &&
                            !pass.succeeded_indexes.contains(*index);
        if (!wanted || !taken.insert(*index).second) superfluous.push_back(pod);
    }
    return superfluous;
}

std::vector<std::int64_t> free_indexes(const JobPass& pass, std::int64_t wanted) {
    std::set<std::int64_t> taken;
    const auto take = [&taken](const std::vector<kube::ObjectPtr>& pods) {
        for (const kube::ObjectPtr& pod : pods) {
            if (const auto index = completion_index(*pod)) taken.insert(*index);
        }
    };
    take(pass.active);
    if (pass.replaces_only_failed) take(pass.terminating);
    std::vector<std::int64_t> free;
    for (std::int64_t i = 0; i < pass.completions.value_or(0); ++i) {
        if (static_cast<std::int64_t>(free.size()) == wanted) break;
        if (!taken.contains(i) && !pass.succeeded_indexes.contains(i)) free.push_back(i);
    }
    return free;
}

/// The next name that no pod has. It follows from what is seen alone: seen again, it is the same.
std::string free_name(const JobPass& pass, std::optional<std::int64_t> index, std::int64_t& attempt,
                      const std::set<std::string>& given) {
    while (true) {
        std::string name = job_pod_name(pass.job, index, attempt++);
        if (!given.contains(name) && pass.seen.find({pods, pass.job.key.ns, name}) == nullptr)
            return name;
    }
}

std::int64_t make_pods(JobPass& pass, std::int64_t count) {
    count = std::min(count, pods_per_pass);
    std::vector<std::optional<std::int64_t>> indexes(static_cast<std::size_t>(count));
    if (pass.indexed) {
        const std::vector<std::int64_t> free = free_indexes(pass, count);
        indexes.assign(free.begin(), free.end());
    }
    std::int64_t attempt =
        static_cast<std::int64_t>(pass.active.size()) + pass.succeeded + pass.failed;
    std::set<std::string> given;
    for (const std::optional<std::int64_t>& index : indexes) {
        const std::string name = free_name(pass, index, attempt, given);
        given.insert(name);
        Write create;
        create.key = {pods, pass.job.key.ns, name};
        create.verb = Write::Verb::create;
        create.api_version = "v1";
        create.body = make_job_pod(pass.job, name, index);
        if (const auto* refusal = find_refusal(pass.seen, job_controller_name, create.key)) {
            pass.refused_before = true;
            pass.tell("Warning", "FailedCreate",
                      "Error creating: " + refusal->value["message"].text());
            pass.events.back().told = Event::Told::always;
        }
        pass.writes.push_back(std::move(create));
        pass.tell("Normal", "SuccessfulCreate", "Created pod: " + name);
    }
    return static_cast<std::int64_t>(indexes.size());
}

std::int64_t wanted_active(const JobPass& pass) {
    if (!pass.completions) {
        // A work queue: the first success says that there is no more work.
        if (pass.succeeded > 0) return static_cast<std::int64_t>(pass.active.size());
        return pass.parallelism;
    }
    return std::max<std::int64_t>(std::min(*pass.completions - pass.succeeded, pass.parallelism),
                                  0);
}

std::int64_t keep_parallelism(JobPass& pass) {
    if (pass.indexed) {
        for (const kube::ObjectPtr& pod : superfluous_indexes(pass))
            drop(pass, pod);
    }
    const std::int64_t wanted = wanted_active(pass);
    const auto active = static_cast<std::int64_t>(pass.active.size());
    if (active > wanted) {
        const std::vector<kube::ObjectPtr> cheapest = cheapest_first(pass.active);
        for (std::int64_t i = 0; i < active - wanted; ++i)
            drop(pass, cheapest[static_cast<std::size_t>(i)]);
        return 0;
    }
    std::int64_t missing = wanted - active;
    if (pass.replaces_only_failed) missing -= static_cast<std::int64_t>(pass.terminating.size());
    if (missing <= 0) return 0;
    const Duration wait =
        backoff_left(pass.pods, pass.options.job_backoff, pass.options.job_backoff_max, pass.now);
    if (wait > Duration{}) {
        pass.look_in(wait);
        return 0;
    }
    if (missing > pods_per_pass) pass.look_in(Duration{});
    return make_pods(pass, missing);
}

void set_ending(JobPass& pass, const char* type, const Ending& ending) {
    if (!condition_of(pass.status, type).is_null()) return;
    set_condition(pass.status.at("conditions"), {type, "True", ending.reason, ending.message},
                  pass.now);
    pass.status.at("conditions").mutable_items().back().set("lastProbeTime", to_rfc3339(pass.now));
}

bool has_completed(const JobPass& pass) {
    if (!pass.active.empty()) return false;
    return pass.completions ? pass.succeeded >= *pass.completions : pass.succeeded > 0;
}

}  // namespace

void manage_pods(JobPass& pass) {
    if (pass.failure || pass.success) {
        for (const kube::ObjectPtr& pod : std::exchange(pass.active, {}))
            stop(pass, pod);
    } else if (pass.suspended) {
        for (const kube::ObjectPtr& pod : cheapest_first(pass.active))
            drop(pass, pod);
    } else if (!pass.job.is_terminating()) {
        pass.created = keep_parallelism(pass);
    }
    const auto ready = std::count_if(pass.active.begin(), pass.active.end(),
                                     [](const kube::ObjectPtr& pod) { return is_ready_pod(*pod); });
    set_number(pass.status, "active", static_cast<std::int64_t>(pass.active.size()) + pass.created);
    pass.status.set("ready", static_cast<std::int64_t>(ready));
    pass.status.set("terminating", static_cast<std::int64_t>(pass.terminating.size()));
    if (pass.created == 0 && !pass.failure && !pass.success && has_completed(pass)) {
        pass.success = Ending{"CompletionsReached", "Reached expected number of succeeded pods"};
    }
}

void conclude(JobPass& pass) {
    api::Value& status = pass.status;
    set_number(status, "succeeded", pass.succeeded);
    set_number(status, "failed", pass.failed);
    if (pass.noted.has("completedIndexes"))
        status.set("completedIndexes", pass.noted["completedIndexes"]);
    status.set("uncountedTerminatedPods", api::Value::object());
    if (pass.failure) {
        set_ending(pass, "FailureTarget", *pass.failure);
    } else if (pass.success) {
        set_ending(pass, "SuccessCriteriaMet", *pass.success);
    }
    // Over is over only when the last process is gone.
    if (!pass.active.empty() || !pass.terminating.empty()) return;
    if (pass.failure) {
        set_ending(pass, "Failed", *pass.failure);
        pass.tell("Warning", pass.failure->reason, pass.failure->message);
    } else if (pass.success) {
        set_ending(pass, "Complete", *pass.success);
        status.set("completionTime", to_rfc3339(pass.now));
        pass.tell("Normal", "Completed", "Job completed");
    }
}

}  // namespace muster::control::cluster
