// agent/pod_worker.cpp - see pod_worker.h.
#include "agent/pod_worker.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>

#include "agent/beneath.h"
#include "agent/files.h"
#include "agent/log_query.h"
#include "agent/pod_files.h"
#include "agent/pod_status.h"
#include "api/json.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "kube/request.h"

namespace muster::agent {

namespace {

using api::Value;
using Phase = ContainerSeen::Phase;

const kube::Target kPods{{"", "pods"}, "v1"};
constexpr Duration kRetry = seconds(2);
constexpr std::size_t kMessageLimit = 4096;
constexpr std::size_t kFallbackLimit = 2048;
constexpr std::int64_t kFallbackLines = 80;
constexpr std::size_t kFallbackBytes = 256 << 10;  // The log's end; 80 usual lines.

Ended ended_by(const RunReport& report) {
    Ended ended;
    ended.started = report.started;
    ended.finished = report.finished.value_or(report.started);
    ended.code = report.code;
    ended.signal = report.signal;
    ended.attempt = report.attempt;
    ended.reason = report.code == 0 ? "Completed" : "Error";
    if (!report.failure.empty()) {
        ended.reason = "StartError";
        ended.message = report.failure;
    }
    if (report.out_of_memory && report.code != 0) ended.reason = "OOMKilled";
    return ended;
}

/// The number of "SIGUSR1", "SIGRTMIN+3", ...; SIGTERM when there is none of the name.
int signal_of(const std::string& name) {
    for (int number = 1; number < 32; ++number) {
        const char* known = ::sigabbrev_np(number);
        if (known && name == std::string("SIG") + known) return number;
    }
    for (const auto& [base, start] : {std::pair("SIGRTMIN", SIGRTMIN), {"SIGRTMAX", SIGRTMAX}})
        if (name.starts_with(base)) {
            const std::string rest = name.substr(8);
            return start +
                   static_cast<int>(
                       parse_integer(rest.starts_with('+') ? rest.substr(1) : rest).value_or(0));
        }
    return SIGTERM;
}

}  // namespace

PodWorker::PodWorker(PodHost& host, kube::ObjectPtr pod)
    : host_(host), object_(std::move(pod)), uid_(object_->uid) {
    seen_.acknowledged =
        parse_rfc3339(object_->value["status"]["startTime"].text()).value_or(host.loop.now());
    seen_.host_ip = host_.node_address(object_->value["spec"]["nodeName"].text());
    told_status_ = stable_hash(api::to_json(object_->value["status"]));
}

PodWorker::PodWorker(PodHost& host, kube::ObjectPtr pod, const FoundPod& found)
    : PodWorker(host, std::move(pod)) {
    if (found.alive) {
        seen_.sandbox = PodSeen::Sandbox::up;
        address_ = found.sandbox["ip"].text();
        ids_ = id_map_of(found.sandbox["ids"]);
        seen_.ip = address_;
        for (const Value& gpu : found.sandbox["gpus"].items())
            gpus_.push_back(static_cast<int>(gpu.integer_or(0)));
        host_.gpus.adopt(uid_, gpus_);
    }
    for (const RunReport& report : found.runs) {
        RunReport run = report;
        if (!run.finished && !found.alive) {
            // Its sandbox died without a word: a crash of the machine, or of the holder.
            run.finished = host_.loop.now();
            run.code = 137;
        }
        ContainerSeen& container = seen_.containers[run.container];
        container.previous = container.ended ? container.ended : container.previous;
        container.ended.reset();
        container.attempt = run.attempt;
        container.started = run.started;
        container.phase = Phase::running;
        // A hook that was under way is not run again: the container has been up for a while.
        container.post_start = ContainerSeen::Hook::done;
        if (run.finished) {
            note_end(container, ended_by(run));
            if (!report.finished) container.ended->reason = "ContainerStatusUnknown";
        }
    }
    if (found.alive) keep_verdicts();
    // It had come to its end, and nobody was told before Muster was.
    if (!found.alive && !found.runs.empty() && is_finished(object_->value, seen_))
        seen_.sandbox = PodSeen::Sandbox::gone;
    const std::string phase = object_->value["status"]["phase"].text();
    if (!found.alive && object_->value["spec"]["restartPolicy"].text() == "Never" &&
        !found.runs.empty() && seen_.sandbox != PodSeen::Sandbox::gone && phase != "Succeeded" &&
        phase != "Failed") {
        seen_.lost = true;
        seen_.sandbox = PodSeen::Sandbox::gone;
    }
}

/// What the status says of a container that has run on is still true until a probe says otherwise.
void PodWorker::keep_verdicts() {
    for (const char* list : {"initContainerStatuses", "containerStatuses"})
        for (const Value& status : object_->value["status"][list].items()) {
            const auto found = seen_.containers.find(status["name"].text());
            if (found == seen_.containers.end() || found->second.phase != Phase::running ||
                found->second.attempt != status["restartCount"].integer_or(0))
                continue;
            ProbeState& startup = found->second.probes[static_cast<int>(ProbeKind::startup)];
            ProbeState& readiness = found->second.probes[static_cast<int>(ProbeKind::readiness)];
            if (status["started"].boolean_or(false)) startup.verdict = true;
            if (status["ready"].boolean_or(false)) {
                readiness.verdict = true;
                readiness.ever_passed = true;
            }
        }
}

PodWorker::~PodWorker() {
    if (timed_) host_.loop.cancel(timer_);
    if (fetching_later_) host_.loop.cancel(fetch_timer_);
    if (!address_.empty()) host_.free_address(address_);
    host_.gpus.free(uid_);
}

void PodWorker::update(kube::ObjectPtr pod) {
    if (gone_) return;
    object_ = std::move(pod);
    step();
}

void PodWorker::evict(const Verdict& verdict) {
    // A pod that is past its deadline may take its time; one that is evicted may not.
    const bool evicted = seen_.verdict && seen_.verdict->reason == verdict.reason;
    if (gone_ || evicted || is_finished(object_->value, seen_)) return;
    seen_.verdict = verdict;
    record("Warning", verdict.reason, verdict.message);
    step();
}

void PodWorker::shut_down(Duration most, std::function<void()> done) {
    seen_.shutdown = most;
    shut_down_ = std::move(done);
    step();
}

void PodWorker::object_gone() {
    if (gone_) return;
    gone_ = true;
    seen_.removed = true;  // There is nothing left to delete, or to tell a status of.
    kube::Object last = *object_;
    last.value.at("metadata").set("deletionTimestamp", to_rfc3339(host_.loop.now()));
    last.value.at("metadata").set("deletionGracePeriodSeconds", 0);
    object_ = std::make_shared<const kube::Object>(std::move(last));
    step();
}

void PodWorker::take(const RunReport& report) {
    ContainerSeen& container = seen_.containers[report.container];
    if (report.attempt < container.attempt) return;
    container.attempt = report.attempt;
    if (!report.finished) {
        if (report.running && container.phase != Phase::running) {
            container.phase = Phase::running;
            container.started = report.started;
            record("Normal", "Started", "Started container " + report.container);
        }
        return step();
    }
    if (container.phase == Phase::exited) return;
    Ended ended = ended_by(report);
    if (!report.failure.empty()) record("Warning", "Failed", "Error: " + report.failure);
    const ContainerSpec* spec = find_spec(report.container);
    if (spec) add_message(*spec->value, ended);
    note_end(container, std::move(ended));
    if (spec && wants_restart(object_->value, *spec, container) &&
        restart_at(container) > host_.loop.now())
        record("Warning", "BackOff",
               "Back-off restarting failed container " + report.container + " in pod " +
                   object_->value["metadata"]["name"].text() + "_" +
                   object_->value["metadata"]["namespace"].text() + "(" + uid_ + ")");
    step();
}

/// The container's own last words; where it left none and failed, the end of its log if its spec
/// says so.
void PodWorker::add_message(const Value& container, Ended& ended) const {
    const std::string name = container["name"].text();
    // The container may have made it as large as it likes.
    const Descriptor folder(
        ::open((directory() + "/containers/" + name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string file = std::to_string(ended.attempt) + ".termination";
    const std::string said =
        folder ? read_within(folder.get(), file, kMessageLimit, End::last) : std::string();
    if (!said.empty()) ended.message = said;
    const bool from_log = container["terminationMessagePolicy"].text() == "FallbackToLogsOnError" &&
                          ended.code != 0 && ended.message.empty();
    if (!from_log) return;
    const Descriptor logs(
        ::open((directory() + "/logs/" + name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string log = logs ? read_within(logs.get(), std::to_string(ended.attempt) + ".log",
                                               kFallbackBytes, End::last)
                                 : std::string();
    const std::string text = LogPrinter(LogQuery{}).take(tail_of(log, kFallbackLines));
    ended.message = text.substr(text.size() - std::min(text.size(), kFallbackLimit));
}

void PodWorker::sandbox_lost(const std::string& why) {
    for (auto& [name, container] : seen_.containers) {
        if (container.phase != Phase::running && container.phase != Phase::starting) continue;
        Ended ended;
        ended.started = container.started;
        ended.finished = host_.loop.now();
        ended.code = 137;
        ended.reason = "ContainerStatusUnknown";
        ended.message = why;
        ended.attempt = container.attempt;
        note_end(container, std::move(ended));
    }
    const bool again = object_->value["spec"]["restartPolicy"].text_or("Always") != "Never";
    seen_.lost = !again;
    seen_.sandbox = again ? PodSeen::Sandbox::none : PodSeen::Sandbox::gone;
    forget_preparation();
    record("Warning", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
    step();
}

/// The holder may have ended: the one that follows has to be asked for the pod's users, or it would
/// give them to others.
void PodWorker::forget_preparation() {
    seen_.prepared = false;
    written_.clear();
    ++preparations_;
}

void PodWorker::holder_changed() {
    if (seen_.sandbox != PodSeen::Sandbox::none && seen_.sandbox != PodSeen::Sandbox::wanted)
        return;
    forget_preparation();
    step();
}

const ContainerSpec* PodWorker::find_spec(const std::string& name) {
    static thread_local std::vector<ContainerSpec> specs;
    specs = containers_of(object_->value);
    for (const ContainerSpec& spec : specs)
        if (spec.name == name) return &spec;
    return nullptr;
}

void PodWorker::later(Duration delay) {
    if (timed_) host_.loop.cancel(timer_);
    timed_ = true;
    timer_ = host_.loop.after(delay, guarded([this] {
                                  timed_ = false;
                                  step();
                              }));
}

void PodWorker::step() {
    if (stepping_) return;
    stepping_ = true;
    const Value& deadline = object_->value["spec"]["activeDeadlineSeconds"];
    const Time now = host_.loop.now();
    if (deadline.is_integer() && !is_finished(object_->value, seen_) && !seen_.verdict &&
        now >= seen_.acknowledged + seconds(deadline.as_integer())) {
        seen_.verdict = {"DeadlineExceeded",
                         "Pod was active on the node longer than the specified deadline",
                         std::nullopt};
        record("Normal", seen_.verdict->reason, seen_.verdict->message);
    }
    std::optional<Time> look_again;
    for (int round = 0; round < 100; ++round) {
        const PodPlan plan = plan_pod(object_->value, seen_, now);
        for (const PodEvent& event : plan.events)
            host_.record(object_->value, event);
        look_again = plan.look_again;
        const bool waits =
            plan.actions.empty() || (plan.actions[0].kind == Action::Kind::prepare && preparing_);
        if (waits) break;
        for (const Action& action : plan.actions) {
            note(object_->value, seen_, action, now);
            act(action);
        }
    }
    stepping_ = false;
    tell_status();
    const bool clear =
        seen_.sandbox == PodSeen::Sandbox::none || seen_.sandbox == PodSeen::Sandbox::gone;
    if (clear && shut_down_) host_.loop.post(std::exchange(shut_down_, nullptr));
    if (gone_ && clear) return host_.over(uid_);
    if (look_again) later(*look_again > now ? *look_again - now : Duration{});
}

void PodWorker::act(const Action& action) {
    using Kind = Action::Kind;
    switch (action.kind) {
        case Kind::prepare:
            return prepare();
        case Kind::make_sandbox:
            return make_sandbox();
        case Kind::start:
            return start(action.container);
        case Kind::post_start:
            return run_hook(action.container, "postStart", &ContainerSeen::post_start);
        case Kind::pre_stop:
            return run_hook(action.container, "preStop", &ContainerSeen::pre_stop);
        case Kind::term:
            return host_.machine.signal(uid_, action.container, stop_signal(action.container));
        case Kind::kill:
            return host_.machine.signal(uid_, action.container, SIGKILL);
        case Kind::probe:
            return ask_probe(action.container, action.probe);
        case Kind::end_sandbox:
            return end_sandbox();
        case Kind::remove:
            return remove_object();
    }
}

int PodWorker::stop_signal(const std::string& name) {
    const ContainerSpec* spec = find_spec(name);
    return spec ? signal_of((*spec->value)["lifecycle"]["stopSignal"].text()) : SIGTERM;
}

void PodWorker::sandbox_failed(const std::string& problem) {
    record("Warning", "FailedCreatePodSandBox", "Failed to create pod sandbox: " + problem);
    if (gone_) {
        seen_.sandbox = PodSeen::Sandbox::none;
        return step();
    }
    seen_.sandbox = PodSeen::Sandbox::wanted;
    host_.loop.after(kRetry, guarded([this] {
                         seen_.sandbox = PodSeen::Sandbox::none;
                         step();
                     }));
}

void PodWorker::make_sandbox() {
    const auto gpus = host_.gpus.take(object_->value["spec"]["nodeName"].text(), uid_,
                                      gpus_of_pod(object_->value));
    if (!gpus) return sandbox_failed("too few of the node's GPUs are free");
    gpus_ = *gpus;
    Value devices = Value::array();
    for (const int gpu : gpus_)
        devices.push(gpu);
    Value memory = Value::array();
    memory.push(Value::object({{"path", directory() + "/shm"}}));
    for (const VolumePlan& volume : volumes_.volumes)
        if (volume.kind == VolumePlan::Kind::memory)
            memory.push(Value::object({{"path", directory() + "/volumes/" + volume.name},
                                       {"size", volume.size_limit},
                                       {"mode", file_group() < 0 ? "0777" : "2777"},
                                       {"group", std::max<std::int64_t>(0, file_group())}}));
    const Value& metadata = object_->value["metadata"];
    const Value& spec = object_->value["spec"];
    const Value sandbox =
        Value::object({{"uid", uid_},
                       {"namespace", metadata["namespace"]},
                       {"name", metadata["name"]},
                       {"ip", address_},
                       {"hostname", hostname_of(object_->value)},
                       {"sharePid", spec["shareProcessNamespace"].boolean_or(false)},
                       {"sysctls", spec["securityContext"]["sysctls"]},
                       {"gpus", devices},
                       {"ids", to_value(ids_)},
                       {"memoryVolumes", memory}});
    host_.machine.make_sandbox(uid_, sandbox, guarded([this](const std::string& problem) {
                                   if (!problem.empty()) {
                                       forget_preparation();
                                       return sandbox_failed(problem);
                                   }
                                   seen_.sandbox = PodSeen::Sandbox::up;
                                   seen_.ip = address_;
                                   step();
                               }));
}

void PodWorker::end_sandbox() {
    host_.machine.end_sandbox(uid_, guarded([this] {
                                  seen_.sandbox = PodSeen::Sandbox::gone;
                                  if (!address_.empty()) host_.free_address(address_);
                                  address_.clear();
                                  host_.gpus.free(uid_);
                                  step();
                              }));
}

void PodWorker::remove_object() {
    if (telling_) {
        // The last status goes first, so that watchers see how it ended.
        removing_ = true;
        return;
    }
    const api::Key key{kPods.resource, object_->value["metadata"]["namespace"].text(),
                       object_->value["metadata"]["name"].text()};
    host_.transport.send(kube::remove(kPods, key, uid_, "", 0),
                         guarded([this](const net::Response& response) {
                             const bool done = response.status == 200 || response.status == 202 ||
                                               response.status == 404 || response.status == 409;
                             if (done) return;  // The watch tells that it is gone.
                             host_.loop.after(kRetry, guarded([this] {
                                                  if (gone_) return;
                                                  seen_.removed = false;
                                                  step();
                                              }));
                         }));
}

void PodWorker::tell_status() {
    if (gone_ || telling_ || seen_.shutdown) return;
    const Value status = make_status(object_->value, seen_, host_.loop.now());
    const std::uint64_t hash = stable_hash(api::to_json(status));
    if (hash == told_status_) return;
    telling_ = true;
    const api::Key key{kPods.resource, object_->value["metadata"]["namespace"].text(),
                       object_->value["metadata"]["name"].text()};
    const Value body =
        Value::object({{"metadata", Value::object({{"uid", uid_}})}, {"status", status}});
    host_.transport.send(kube::patch(kPods, key, "status", "application/merge-patch+json", body),
                         guarded([this, hash](const net::Response& response) {
                             telling_ = false;
                             if (response.status == 200) {
                                 told_status_ = hash;
                             } else if (response.status != 404 && response.status != 409) {
                                 later(kRetry);
                                 return;
                             }
                             if (std::exchange(removing_, false)) return remove_object();
                             if (response.status == 200) tell_status();
                         }));
}

}  // namespace muster::agent
