// sim/scenario_ground.cpp - what came of a scenario in the simulated world, read from the status of
// its objects.
#include "sim/scenario_ground.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "control/fold_pod.h"
#include "control/queue/fold.h"
#include "control/queue/workload.h"
#include "sim/scenario_objects.h"

namespace muster::sim {
namespace {

using api::Value;
using decide::ScenarioCycle;

/// Before the scenario begins the world starts up.
constexpr Duration start_up = seconds(30);
constexpr Duration calm_quiet = milliseconds(300);
/// A write that failed is tried again after up to 30 s.
constexpr Duration faulty_quiet = seconds(35);
const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2/";

/// Replaces whole names: "workload default/a" is not the beginning of "workload default/ab".
void replace_name(std::string& text, const std::string& name, const std::string& by) {
    const auto goes_on = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '/';
    };
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + by.size())) {
        const std::size_t end = at + name.size();
        if (end < text.size() && goes_on(text[end])) {
            at = end - by.size();
            continue;
        }
        text.replace(at, name.size(), by);
    }
}

}  // namespace

SimGround::SimGround(std::uint64_t seed, const Faults& faults)
    : world_(seed, {}, faults, decide::scenario_start - start_up) {
    faulty_ = faults.text() != "none";
    world_.hold_queues(true);
    catch_up(decide::scenario_start);
}

std::optional<std::string> SimGround::refuses(const decide::Step& step) {
    if (step.verb == "fail") return "which write fails is drawn from the seed, not said";
    const bool reads = step.verb == "why" || step.verb == "show" || step.verb == "order";
    if (reads && changed_) return "what has changed shows after a cycle";
    if (step.verb == "show" && step.names[0] == "-") return "no object counts what has no queue";
    return std::nullopt;
}

void SimGround::catch_up(Time now) {
    if (told_ && now != told_at_) {
        const Duration since = now - decide::scenario_start;
        told_(Value::object({{"at", since.nanoseconds / seconds(1).nanoseconds}}));
        told_at_ = now;
    }
    if (world_.now() < now) world_.pass(now - world_.now());
}

void SimGround::settle() {
    world_.set_sky(Sky::calm);
    world_.settle(faulty_ ? faulty_quiet : calm_quiet);
}

std::string SimGround::own_words(std::string text, const Submitted* about) const {
    // Longer names first, so that none is taken for the beginning of another.
    std::vector<const Submitted*> all;
    for (const auto& [id, known] : submitted_)
        all.push_back(&known);
    std::stable_sort(all.begin(), all.end(), [](const Submitted* a, const Submitted* b) {
        return a->said.id.size() > b->said.id.size();
    });
    for (const Submitted* known : all) {
        const char* kind = known->wrapped ? "appwrapper " : "workload ";
        replace_name(text, kind + known->said.ns + "/" + object_name(known->said.id),
                     known->said.id);
    }
    if (about == nullptr || !about->wrapped) return text;
    for (std::size_t i = 0; i < about->said.pod_sets.size(); ++i) {
        replace_name(text, "pod set item-" + std::to_string(i),
                     "pod set " + about->said.pod_sets[i].name);
    }
    return text;
}

/// "Preempted: InClusterQueue for big"; without more where nobody did it.
std::string SimGround::eviction_text(const Value& status) {
    const std::string reason = control::condition_of(status, "Evicted")["reason"].text();
    const Value& preempted = control::condition_of(status, "Preempted");
    if (preempted["status"].text_or("") != "True") return reason;
    const std::string message = preempted["message"].text();
    for (const auto& [id, known] : submitted_) {
        const std::string its = world_.get(known.path)["metadata"]["uid"].text();
        if (!its.empty() && message.find("(UID: " + its) != std::string::npos)
            return reason + ": " + preempted["reason"].text() + " for " + id;
    }
    return reason;
}

SimGround::Shown SimGround::show_workload(const Submitted& known, const Value& object) {
    using State = Shown::State;
    Shown shown;
    const Value& status = object["status"];
    const Value& evicted = control::condition_of(status, "Evicted");
    if (evicted["status"].text_or("") == "True")
        shown.evicted_at = evicted["lastTransitionTime"].text();
    const Value& reserved = control::condition_of(status, "QuotaReserved");
    if (control::queue::is_finished(object)) {
        shown.state = State::finished;
    } else if (control::queue::has_admission(object)) {
        shown.assignment = control::queue::fold_admission(status["admission"]);
        for (std::size_t i = 0; known.wrapped && i < shown.assignment.pod_sets.size(); ++i)
            shown.assignment.pod_sets[i].name = known.said.pod_sets[i].name;
        shown.state = shown.evicted_at.empty() ? State::admitted : State::evicting;
        if (shown.state == State::evicting) shown.text = eviction_text(status);
    } else {
        // What waits behind a head is not tried, and its status need not say so: `why` does.
        const Value why = world_.get(known.path + "/why");
        const bool behind = why["message"].text_or("").starts_with("Waits behind ");
        const Value& said = behind ? why : reserved;
        if (behind || reserved["status"].text_or("") == "False") {
            shown.state = State::waiting;
            shown.text = own_words(said["reason"].text() + ": " + said["message"].text(), &known);
        }
    }
    return shown;
}

Value SimGround::workload_of(const Submitted& wrapper) {
    const Value uid = world_.get(wrapper.path)["metadata"]["uid"];
    const Value all = world_.get(kueue + "namespaces/" + wrapper.said.ns + "/workloads");
    for (const Value& workload : all["items"].items()) {
        if (workload["metadata"]["ownerReferences"][0]["uid"] == uid) return workload;
    }
    return {};
}

SimGround::Shown SimGround::show_wrapper(const Submitted& known, const Value& object) {
    using State = Shown::State;
    if (!known.said.local_queue.empty()) {
        const Value workload = workload_of(known);
        return workload.is_null() ? Shown{} : show_workload(known, workload);
    }
    Shown shown;
    const Value& status = object["status"];
    if (status["state"].text_or("") == "Completed") {
        shown.state = State::finished;
    } else if (status["canrun"].boolean_or(false)) {
        shown.state = State::admitted;
        for (const decide::PodSet& set : known.said.pod_sets)
            shown.assignment.pod_sets.push_back({set.name, set.count, {}, {}});
    } else if (status["queuejobstate"].text_or("") == "Backoff") {
        const Value why = world_.get(known.path + "/why");
        shown.state = State::waiting;
        shown.text = own_words(why["reason"].text() + ": " + why["message"].text(), &known);
    }
    return shown;
}

std::map<std::string, SimGround::Shown> SimGround::shown() {
    std::map<std::string, Shown> all;
    for (const auto& [id, known] : submitted_) {
        const Value object = world_.get(known.path);
        if (object.is_null() || object["metadata"].has("deletionTimestamp")) continue;
        all[id] = known.wrapped ? show_wrapper(known, object) : show_workload(known, object);
    }
    return all;
}

ScenarioCycle SimGround::cycle(Time now) {
    using State = Shown::State;
    catch_up(now);
    settle();
    const std::map<std::string, Shown> before = shown();
    world_.hold_queues(false);
    if (faulty_) {
        world_.set_sky(Sky::as_drawn);
        world_.pass(seconds(20));
    } else {
        world_.pass(milliseconds(60));
    }
    settle();
    shown_ = shown();
    world_.hold_queues(true);
    world_.set_sky(Sky::as_drawn);
    changed_ = false;
    if (told_) tell_cycle();
    ScenarioCycle came;
    for (const auto& [id, after] : shown_) {
        const auto found = before.find(id);
        const Shown was = found == before.end() ? Shown{} : found->second;
        if (!after.evicted_at.empty() && after.evicted_at != was.evicted_at &&
            after.state == State::evicting)
            came.evicts.push_back({id, after.text});
        if (after.state == State::admitted && was.state != State::admitted)
            came.admits.push_back({id, after.assignment});
        if (after.state == State::admitted && was.state == State::admitted &&
            after.assignment != was.assignment)
            came.moves.push_back({id, after.assignment});
        if (after.state == State::waiting &&
            (was.state != State::waiting || was.text != after.text))
            came.waits.push_back({id, after.text});
    }
    return came;
}

std::vector<std::string> SimGround::why(const std::string& workload, Time now) {
    catch_up(now);
    const Submitted& known = submitted(workload);
    const Value answer = world_.get(known.path + "/why");
    std::vector<std::string> lines;
    for (const Value& line : answer["lines"].items())
        lines.push_back(own_words(line.text(), &known));
    return lines;
}

std::optional<decide::QueueReport> SimGround::show(const std::string& queue) {
    const Value object = world_.get(kueue + "clusterqueues/" + queue);
    if (object.is_null()) return std::nullopt;
    decide::QueueReport report;
    const Value& status = object["status"];
    report.pending = status["pendingWorkloads"].integer_or(0);
    report.admitted = status["reservingWorkloads"].integer_or(0);
    report.reserved = report.admitted - status["admittedWorkloads"].integer_or(0);
    const auto amount = [](const Value& each, const char* field) {
        return control::fold_amount(each["name"].text(), each[field]);
    };
    for (const Value& flavor : status["flavorsReservation"].items()) {
        for (const Value& each : flavor["resources"].items()) {
            auto& use = report.flavors[flavor["name"].text()][each["name"].text()];
            use.used = amount(each, "total");
            use.borrowed = amount(each, "borrowed");
        }
    }
    for (const Value& group : object["spec"]["resourceGroups"].items()) {
        for (const Value& flavor : group["flavors"].items()) {
            for (const Value& each : flavor["resources"].items()) {
                report.flavors[flavor["name"].text()][each["name"].text()].nominal =
                    amount(each, "nominalQuota");
            }
        }
    }
    return report;
}

std::vector<std::string> SimGround::order(const std::string& queue, Time now) {
    catch_up(now);
    std::map<std::int64_t, std::string> by_place;
    for (const auto& [id, known] : submitted_) {
        const auto behind = queue_behind_.find(known.said.ns + "/" + known.said.local_queue);
        const std::string its = behind == queue_behind_.end() ? "" : behind->second;
        if (its != queue) continue;
        const Value answer = world_.get(known.path + "/why");
        const std::int64_t place = answer["position"].integer_or(0);
        if (place > 0) by_place[place] = id;
    }
    std::vector<std::string> names;
    for (const auto& [place, id] : by_place)
        names.push_back(id);
    return names;
}

void SimGround::record(std::function<void(Value line)> tell) {
    told_ = tell;
    world_.record(std::move(tell));
}

void SimGround::tell_cycle() {
    Value objects = Value::object();
    for (const auto& [id, known] : submitted_) {
        const Value object = world_.get(known.path);
        if (object.is_null()) continue;
        Value said = Value::object({{"status", object["status"]}});
        if (known.wrapped && !known.said.local_queue.empty())
            said.set("workload", workload_of(known)["status"]);
        objects.set(known.path, std::move(said));
    }
    for (const std::string& queue : queues_) {
        const std::string path = kueue + "clusterqueues/" + queue;
        const Value object = world_.get(path);
        if (!object.is_null()) objects.set(path, Value::object({{"status", object["status"]}}));
    }
    told_(Value::object({{"cycle", std::move(objects)}}));
}

std::string SimGround::rest() {
    settle();
    std::string text;
    for (const auto& [id, now] : shown()) {
        const char* words[] = {"is there", "waits", "is admitted", "must go", "is finished"};
        text += id + " " + words[static_cast<int>(now.state)];
        if (!now.text.empty()) text += ": " + now.text;
        text += decide::text_of(now.assignment) + "\n";
    }
    for (const std::string& queue : queues_) {
        const auto report = show(queue);
        if (!report) continue;
        text += queue + " pending " + std::to_string(report->pending) + ", admitted " +
                std::to_string(report->admitted) + "\n";
    }
    return text;
}

std::string comparable(std::string_view printed) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(printed, '\n'))
        lines.emplace_back(line);
    std::vector<std::string> kept;
    const auto begins_block = [&] { return kept.empty() || kept.back().empty(); };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with("look ")) {
            if (begins_block()) kept.emplace_back("rest");
            continue;
        }
        const std::string verb = lines[i].substr(0, lines[i].find(' '));
        std::size_t end = i + 1;
        if (verb == "admit" || verb == "evict" || verb == "wait") {
            while (end < lines.size() && lines[end].starts_with(verb + " "))
                ++end;
            std::sort(lines.begin() + static_cast<std::ptrdiff_t>(i),
                      lines.begin() + static_cast<std::ptrdiff_t>(end));
        }
        for (; i + 1 < end; ++i)
            kept.push_back(lines[i]);
        kept.push_back(lines[i]);
    }
    return join(kept, "\n");
}

}  // namespace muster::sim
