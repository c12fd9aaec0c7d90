// control/appwrapper/controller.cpp - one AppWrapper: from canrun to gone.
#include "control/appwrapper/controller.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/owner.h"
#include "control/appwrapper/demand.h"
#include "control/appwrapper/status.h"
#include "control/appwrapper/wrapped.h"
#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::appwrapper {
namespace {

using api::Value;

constexpr std::string_view controller_name = "mcad-controller";
constexpr std::string_view finalizer = "muster.dev/appwrapper";
constexpr std::string_view label = "appwrapper.mcad.ibm.com";
const api::GroupResource pods{"", "pods"};

/// Objects that hold data, not processes: they go last.
constexpr std::array<std::string_view, 6> data_kinds{"configmaps",      "secrets",
                                                     "serviceaccounts", "persistentvolumeclaims",
                                                     "services",        "networkpolicies"};

/// One reconcile in the making.
struct Pass {
    const kube::Cache& seen;
    const kube::Object& wrapper;
    Time now;
    Items items;
    Reconciled result;

    const Value& spec() const { return wrapper.value["spec"]; }
    const Value& status() const { return wrapper.value["status"]; }
    void write_status(Value next) {
        if (next == status()) return;
        Value body = wrapper.value;
        body.set("status", std::move(next));
        result.writes.push_back({Write::Verb::update, wrapper.key, "", "status", std::move(body),
                                 wrapper.version, "", ""});
    }
    void look_at(Time when) {
        const Duration wait = when - now;
        if (!result.look_again || wait < *result.look_again) result.look_again = wait;
    }
};

bool is_data(const api::Key& key) {
    return std::find(data_kinds.begin(), data_kinds.end(), key.resource.plural) != data_kinds.end();
}

bool is_ours(const Pass& pass, const kube::Object& object) {
    return api::is_owned_by(object.value, pass.wrapper.uid);
}

/// Removes what was made: what holds processes first and with all that it made, data when that is
/// gone. True when nothing is left.
bool clear(Pass& pass) {
    bool processes_gone = true;
    bool all_gone = true;
    for (const bool data : {false, true}) {
        if (data && !processes_gone) return false;
        for (const Item& item : pass.items.items) {
            if (is_data(item.key) != data) continue;
            const kube::ObjectPtr object = pass.seen.find(item.key);
            if (object == nullptr || !is_ours(pass, *object)) continue;
            all_gone = false;
            if (!data) processes_gone = false;
            if (object->is_terminating()) continue;
            pass.result.writes.push_back({Write::Verb::remove,
                                          item.key,
                                          item.api_version,
                                          "",
                                          {},
                                          0,
                                          object->uid,
                                          data ? "Background" : "Foreground"});
        }
    }
    return all_gone;
}

/// Pods that outlive their removed item for longer than forcefulDeletionAfterSeconds are killed.
void force(Pass& pass) {
    const std::int64_t after =
        pass.spec().path("schedulingSpec.requeuing.forcefulDeletionAfterSeconds").integer_or(0);
    if (after <= 0) return;
    std::optional<Time> due;
    for (const Item& item : pass.items.items) {
        const kube::ObjectPtr object = pass.seen.find(item.key);
        if (object == nullptr || !is_ours(pass, *object) || !object->is_terminating()) continue;
        const Time since = fold_time(object->value["metadata"]["deletionTimestamp"]);
        if (!due || since + seconds(after) < *due) due = since + seconds(after);
    }
    if (!due) return;
    if (*due > pass.now) {
        pass.look_at(*due);
        return;
    }
    for (const kube::ObjectPtr& pod : pass.seen.list(pods, pass.wrapper.key.ns)) {
        const bool ours = pod->label(label) == pass.wrapper.key.name ||
                          descends_from(pass.seen, *pod, pass.wrapper.uid);
        const bool killed =
            pod->value["metadata"]["deletionGracePeriodSeconds"].integer_or(-1) == 0;
        if (!ours || killed) continue;
        pass.result.writes.push_back(
            {Write::Verb::remove, pod->key, "v1", "", {}, 0, pod->uid, "", 0});
    }
}

void patch_finalizers(Pass& pass, bool wanted) {
    Value kept = Value::array();
    bool present = false;
    for (const Value& name : pass.wrapper.value["metadata"]["finalizers"].items()) {
        if (name.text_or("") == finalizer) {
            present = true;
            if (!wanted) continue;
        }
        kept.push(name);
    }
    if (present == wanted) return;
    if (wanted) kept.push(finalizer);
    Value patch;
    patch.at("metadata").set("finalizers", std::move(kept));
    pass.result.writes.push_back({Write::Verb::merge_patch, pass.wrapper.key, "", "",
                                  std::move(patch), pass.wrapper.version, "", ""});
}

bool has_finalizer(const Pass& pass) {
    const auto& names = pass.wrapper.value["metadata"]["finalizers"].items();
    return std::any_of(names.begin(), names.end(),
                       [](const Value& n) { return n.text_or("") == finalizer; });
}

/// Makes all objects; one that is refused takes the others with it.
void dispatch(Pass& pass) {
    std::optional<std::string> refused;
    if (pass.items.problem) refused = pass.items.problem->message;
    for (const Item& item : pass.items.items) {
        if (const kube::Object* refusal = find_refusal(pass.seen, controller_name, item.key)) {
            refused = to_text(item.key) + ": " + refusal->value["message"].text();
        }
    }
    if (refused) {
        pass.write_status(creation_failed(pass.wrapper.value, *refused, pass.now));
        return;
    }
    // Before anything is made there must be somebody who will clear it away.
    if (!has_finalizer(pass)) {
        patch_finalizers(pass, true);
        return;
    }
    for (const Item& item : pass.items.items) {
        const kube::ObjectPtr present = pass.seen.find(item.key);
        if (present != nullptr && is_ours(pass, *present)) {
            if (present->is_terminating())
                return;  // Of an earlier dispatch: wait until it is gone.
            continue;
        }
        pass.result.writes.push_back(
            {Write::Verb::create, item.key, item.api_version, "", item.body, 0, "", ""});
    }
    pass.write_status(dispatched(pass.wrapper.value, pass.now));
}

/// What the pods of the wrapper do, found by their label or their owners.
struct Pods {
    PodCounts labelled;
    std::int64_t running = 0;  // Labelled or descending.
    std::int64_t succeeded = 0;
    std::int64_t pending = 0;
    std::int64_t unschedulable = 0;
    bool any_label = false;
};

bool is_unschedulable(const kube::Object& pod) {
    const Value& scheduled = condition_of(pod.value["status"], "PodScheduled");
    return scheduled["reason"].text_or("") == "Unschedulable";
}

void count_labelled(PodCounts& counts, const kube::Object& pod, std::string_view phase) {
    if (phase == "Running") {
        ++counts.running;
    } else if (phase == "Succeeded") {
        ++counts.succeeded;
    } else if (phase == "Failed") {
        ++counts.failed;
    } else {
        ++counts.pending;
    }
    if (phase == "Pending" && is_unschedulable(pod)) {
        counts.waiting.push(Value::object(
            {{"podname", pod.key.name}, {"conditions", pod.value["status"]["conditions"]}}));
    }
    if (phase != "Running") return;
    for (const auto& [resource, amount] : effective_requests(pod.value["spec"])) {
        if (resource == "cpu") counts.total_cpu_milli += amount.value;
        if (resource == "memory") counts.total_memory += amount.value;
        if (resource == "nvidia.com/gpu") counts.total_gpu += amount.value;
    }
}

Pods count_pods(const Pass& pass) {
    Pods found;
    for (const kube::ObjectPtr& pod : pass.seen.list(pods, pass.wrapper.key.ns)) {
        const bool labelled = pod->label(label) == pass.wrapper.key.name;
        if (!labelled && !descends_from(pass.seen, *pod, pass.wrapper.uid)) continue;
        const std::string_view phase = pod->value["status"]["phase"].text_or("Pending");
        if (labelled) count_labelled(found.labelled, *pod, phase);
        found.any_label = found.any_label || labelled;
        if (phase == "Running") ++found.running;
        if (phase == "Succeeded") ++found.succeeded;
        if (phase != "Pending") continue;
        ++found.pending;
        if (is_unschedulable(*pod)) ++found.unschedulable;
    }
    return found;
}

/// The words that an object's status says of itself: its true conditions, and the states of a
/// RayJob, which has none.
std::set<std::string> status_words(const kube::Object& object) {
    std::set<std::string> words;
    for (const Value& found : object.value["status"]["conditions"].items()) {
        if (found["status"].text_or("") == "True") words.insert(found["type"].text());
    }
    for (const char* field : {"jobStatus", "jobDeploymentStatus"}) {
        const std::string word = object.value["status"][field].text();
        if (!word.empty()) words.insert(word);
    }
    return words;
}

enum class Completion { not_asked, open, all_done };

Completion completion_of(const Pass& pass) {
    Completion state = Completion::not_asked;
    for (const Item& item : pass.items.items) {
        if (item.completion.empty()) continue;
        const kube::ObjectPtr object = pass.seen.find(item.key);
        if (object == nullptr) return Completion::open;
        const std::set<std::string> words = status_words(*object);
        const bool done =
            std::any_of(item.completion.begin(), item.completion.end(),
                        [&](const std::string& word) { return words.contains(word); });
        if (!done) return Completion::open;
        state = Completion::all_done;
    }
    return state;
}

/// How many pods must run or have run: of the whole wrapper, else the sum of what its items say.
std::int64_t least_available(const Value& spec) {
    const std::int64_t stated = spec["schedulingSpec"]["minAvailable"].integer_or(0);
    if (stated > 0) return stated;
    std::int64_t sum = 0;
    for (const Value& item : spec["resources"]["GenericItems"].items())
        sum += item["minavailable"].integer_or(0);
    return sum;
}

/// True when the wrapper is taken back because it ran out of time or its pods cannot run.
bool take_back(Pass& pass, const Pods& found) {
    const Value& wrapper = pass.wrapper.value;
    const Value& scheduling = pass.spec()["schedulingSpec"];
    const Time since = condition_time(pass.status(), "Dispatched");
    const std::int64_t limit = scheduling["dispatchDuration"]["limit"].integer_or(0);
    if (limit > 0) {
        if (since + seconds(limit) <= pass.now) {
            pass.write_status(deadline_exceeded(wrapper, limit, pass.now));
            return true;
        }
        pass.look_at(since + seconds(limit));
    }
    const std::int64_t least = least_available(pass.spec());
    const bool too_few = found.running + found.succeeded < least;
    if (!too_few && found.unschedulable == 0) return false;
    const Value& requeuing = scheduling["requeuing"];
    std::int64_t wait = pass.status()["requeueingTimeInSeconds"].integer_or(0);
    if (wait == 0) wait = requeuing["initialTimeInSeconds"].integer_or(0);
    if (wait == 0) wait = requeuing["timeInSeconds"].integer_or(300);
    const Time last = std::max(since, condition_time(pass.status(), "Running"));
    if (last + seconds(wait) > pass.now) {
        pass.look_at(last + seconds(wait));
        return false;
    }
    const std::int64_t most = requeuing["maxNumRequeuings"].integer_or(0);
    const std::int64_t so_far = pass.status()["numberOfRequeueings"].integer_or(0) +
                                requeuing["numRequeuings"].integer_or(0);
    if (most > 0 && so_far >= most) {
        pass.write_status(given_up(wrapper, pass.now));
    } else if (too_few) {
        pass.write_status(preempted(
            wrapper, "MinPodsNotRunning",
            "Insufficient number of Running and Completed pods, minimum=" + std::to_string(least) +
                ", running=" + std::to_string(found.running) +
                ", completed=" + std::to_string(found.succeeded) + ".",
            pass.now));
    } else {
        pass.write_status(
            preempted(wrapper, "PodsFailedScheduling",
                      "Pods failed scheduling failed=" + std::to_string(found.unschedulable) +
                          ", running=" + std::to_string(found.running) + ".",
                      pass.now));
    }
    return true;
}

void follow(Pass& pass) {
    const Pods found = count_pods(pass);
    const Completion completion = completion_of(pass);
    const std::string_view state = pass.status()["state"].text_or("");
    if (completion == Completion::all_done) {
        if (found.pending + found.running == 0) {
            pass.write_status(completed(pass.wrapper.value, found.labelled, pass.now));
            return;
        }
        if (state != "RunningHoldCompletion") {
            pass.write_status(held_completion(pass.wrapper.value, pass.now));
            return;
        }
    }
    if (state == "Running" && take_back(pass, found)) return;
    if (found.any_label || pass.status().has("running") || pass.status().has("pending")) {
        pass.write_status(counted(pass.wrapper.value, found.labelled, pass.now));
    }
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr wrapper = seen.find(key);
    if (wrapper == nullptr || !is_v1beta1(wrapper->value)) return {};
    Pass pass{seen, *wrapper, now, items_of(wrapper->value), {}};
    const std::string_view state = pass.status()["state"].text_or("");
    const bool may_run = pass.status()["canrun"].boolean_or(false);
    if (wrapper->is_terminating()) {
        if (clear(pass)) {
            patch_finalizers(pass, false);
        } else {
            force(pass);
        }
    } else if (may_run && state == "Pending") {
        dispatch(pass);
    } else if (may_run) {
        follow(pass);
    } else if (state != "Completed" && !state.empty()) {
        // Failed, taken back or evicted: nothing that it made may stay.
        if (!clear(pass)) force(pass);
    }
    return std::move(pass.result);
}

void add_labelled(std::vector<api::Key>& keys, const kube::Object& object,
                  const api::GroupResource& resource) {
    const std::string_view name = object.label(label);
    if (!name.empty()) keys.push_back({resource, object.key.ns, std::string(name)});
}

void add_owning(std::vector<api::Key>& keys, const kube::Object& object,
                const api::GroupResource& resource) {
    for (const Value& owner : object.value["metadata"]["ownerReferences"].items()) {
        const auto version = api::parse_group_version(owner["apiVersion"].text_or(""));
        if (version.group == resource.group && owner["kind"].text_or("") == "AppWrapper")
            keys.push_back({resource, object.key.ns, owner["name"].text()});
    }
}

/// The wrappers that a changed object may belong to: by its label or owners, or by those of what
/// made it.
void add_wrappers(std::vector<api::Key>& keys, const kube::Cache& seen, const kube::Object& object,
                  const api::GroupResource& resource) {
    add_labelled(keys, object, resource);
    add_owning(keys, object, resource);
    for (const kube::ObjectPtr& ancestor : ancestors_of(seen, object)) {
        add_labelled(keys, *ancestor, resource);
        add_owning(keys, *ancestor, resource);
    }
}

Watch watch_made(const api::Kind& kind, const api::GroupResource& resource) {
    Watch watch;
    watch.resource = kind.resource();
    watch.wakes = [resource](const kube::Cache& seen, const kube::Object* before,
                             const kube::Object* after) {
        std::vector<api::Key> keys;
        if (before != nullptr) add_wrappers(keys, seen, *before, resource);
        if (after != nullptr) add_wrappers(keys, seen, *after, resource);
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        return keys;
    };
    return watch;
}

}  // namespace

Controller controller(const api::GroupResource& resource) {
    Controller made;
    made.name = controller_name;
    made.watches.push_back(watch_self(resource, "v1beta1"));
    for (const api::Kind* kind : wrapped_kinds())
        made.watches.push_back(watch_made(*kind, resource));
    made.reconcile = reconcile;
    return made;
}

}  // namespace muster::control::appwrapper
