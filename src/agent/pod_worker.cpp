// agent/pod_worker.cpp - see pod_worker.h.
#include "agent/pod_worker.h"

#include <csignal>

#include "agent/environment.h"
#include "agent/files.h"
#include "agent/image_map.h"
#include "agent/pod_status.h"
#include "api/json.h"
#include "base/error.h"
#include "base/hash.h"
#include "kube/request.h"

namespace muster::agent {

namespace {

using api::Value;
using Phase = ContainerSeen::Phase;

const kube::Target kPods{{"", "pods"}, "v1"};
constexpr Duration kRetry = seconds(2);
constexpr std::size_t kMessageLimit = 4096;

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
    return ended;
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
        seen_.ip = address_;
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
    if (!address_.empty()) host_.free_address(address_);
}

void PodWorker::update(kube::ObjectPtr pod) {
    if (gone_) return;
    object_ = std::move(pod);
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
    const auto message = read_file(directory() + "/containers/" + report.container + "/" +
                                   std::to_string(report.attempt) + ".termination");
    if (message && !message->empty()) ended.message = message->substr(0, kMessageLimit);
    note_end(container, std::move(ended));
    const ContainerSpec* spec = find_spec(report.container);
    if (spec && wants_restart(object_->value, *spec, container) &&
        restart_at(container) > host_.loop.now())
        record("Warning", "BackOff",
               "Back-off restarting failed container " + report.container + " in pod " +
                   object_->value["metadata"]["name"].text() + "_" +
                   object_->value["metadata"]["namespace"].text() + "(" + uid_ + ")");
    step();
}

void PodWorker::sandbox_lost() {
    for (auto& [name, container] : seen_.containers) {
        if (container.phase != Phase::running && container.phase != Phase::starting) continue;
        Ended ended;
        ended.started = container.started;
        ended.finished = host_.loop.now();
        ended.code = 137;
        ended.reason = "ContainerStatusUnknown";
        ended.message = "the pod's first process was ended from outside";
        ended.attempt = container.attempt;
        note_end(container, std::move(ended));
    }
    const bool again = object_->value["spec"]["restartPolicy"].text_or("Always") != "Never";
    seen_.lost = !again;
    seen_.sandbox = again ? PodSeen::Sandbox::none : PodSeen::Sandbox::gone;
    record("Warning", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
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
    if (deadline.is_integer() && !is_finished(object_->value, seen_) && !seen_.deadline_exceeded &&
        now >= seen_.acknowledged + seconds(deadline.as_integer())) {
        seen_.deadline_exceeded = true;
        record("Normal", "DeadlineExceeded",
               "Pod was active on the node longer than the specified deadline");
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
            return host_.machine.signal(uid_, action.container, SIGTERM);
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

void PodWorker::make_sandbox() {
    Value memory = Value::array();
    memory.push(Value::object({{"path", directory() + "/shm"}}));
    for (const VolumePlan& volume : volumes_.volumes)
        if (volume.kind == VolumePlan::Kind::memory)
            memory.push(Value::object(
                {{"path", directory() + "/volumes/" + volume.name}, {"size", volume.size_limit}}));
    const Value& metadata = object_->value["metadata"];
    const Value sandbox = Value::object(
        {{"uid", uid_},
         {"namespace", metadata["namespace"]},
         {"name", metadata["name"]},
         {"ip", address_},
         {"hostname", object_->value["spec"]["hostname"].text_or(metadata["name"].text())},
         {"memoryVolumes", memory}});
    host_.machine.make_sandbox(uid_, sandbox, guarded([this](const std::string& problem) {
                                   if (!problem.empty()) {
                                       seen_.sandbox = PodSeen::Sandbox::none;
                                       record("Warning", "FailedCreatePodSandBox",
                                              "Failed to create pod sandbox: " + problem);
                                       if (gone_) return step();
                                       seen_.sandbox = PodSeen::Sandbox::wanted;
                                       host_.loop.after(kRetry, guarded([this] {
                                                            seen_.sandbox = PodSeen::Sandbox::none;
                                                            step();
                                                        }));
                                       return;
                                   }
                                   seen_.sandbox = PodSeen::Sandbox::up;
                                   seen_.ip = address_;
                                   step();
                               }));
}

void PodWorker::start(const std::string& name) {
    const ContainerSpec* spec = find_spec(name);
    const Value& container = *spec->value;
    const ContainerSeen& seen = seen_.containers[name];
    const std::string image_name = container["image"].text();
    const ImageMapping* image = find_mapping(host_.options.images, image_name);
    const Environment environment =
        make_environment(object_->value, container, sources_, place(), *image);
    const std::string own = directory() + "/containers/" + name;
    const std::string run = own + "/" + std::to_string(seen.attempt);

    RootPlan root;
    root.mount_point = host_.options.data_directory + "/agent/root";
    root.scratch = run;
    root.shared_memory = directory() + "/shm";
    root.home = host_.home;
    const bool mapped = !image->environment.empty();
    root.working_directory =
        expand(container["workingDir"].text_or(mapped ? host_.home : "/"), environment.variables);
    root.hidden = {host_.options.data_directory};
    if (mapped) root.environments = environment_folders(image->environment);
    for (const char* file : {"resolv.conf", "hosts", "hostname"})
        root.mounts.push_back({directory() + "/etc/" + file, std::string("/etc/") + file, false});
    for (BindMount& mount :
         plan_mounts(container, volumes_, directory() + "/volumes", environment.variables)) {
        make_sub_path(mount.source);
        root.mounts.push_back(std::move(mount));
    }
    make_directories(own);
    write_file(run + ".termination", "");
    root.mounts.push_back(
        {run + ".termination",
         std::string(container["terminationMessagePath"].text_or("/dev/termination-log")), false});
    Value words = Value::array();
    for (const std::string& word : command_line(container, environment.variables))
        words.push(word);
    Value variables = Value::array();
    for (const auto& [key, value] : environment.variables)
        variables.push(key + "=" + value);
    record("Normal", "Pulled", "Container image \"" + image_name + "\" already present on machine");
    record("Normal", "Created", "Created container: " + name);
    host_.machine.start(uid_, name, seen.attempt,
                        Value::object({{"argv", words},
                                       {"env", variables},
                                       {"cwd", root.working_directory},
                                       {"root", to_value(root)}}));
}

void PodWorker::start_failed(const std::string& name, const std::string& text) {
    RunReport report;
    report.container = name;
    report.attempt = seen_.containers[name].attempt;
    report.started = host_.loop.now();
    report.finished = report.started;
    report.code = 128;
    report.failure = text;
    host_.loop.post(guarded([this, report] { take(report); }));
}

void PodWorker::run_hook(const std::string& name, const char* field,
                         ContainerSeen::Hook ContainerSeen::*which) {
    const ContainerSpec* spec = find_spec(name);
    const Handler handler = handler_of((*spec->value)["lifecycle"][field], *spec->value);
    const int attempt = seen_.containers[name].attempt;
    const std::string title = field == std::string("postStart") ? "PostStart" : "PreStop";
    host_.machine.ask(
        uid_, name, seen_.ip, handler, minutes(10),
        guarded([this, name, attempt, which, title](bool passed, const std::string& text) {
            ContainerSeen& container = seen_.containers[name];
            if (container.attempt != attempt) return;
            container.*which = passed ? ContainerSeen::Hook::done : ContainerSeen::Hook::failed;
            if (!passed)
                record("Warning", "Failed" + title + "Hook", title + "Hook failed: " + text);
            step();
        }));
}

void PodWorker::ask_probe(const std::string& name, ProbeKind kind) {
    const ContainerSpec* found = find_spec(name);
    const auto probe = probe_spec_of(*found->value, kind, found->injected_probes);
    const int attempt = seen_.containers[name].attempt;
    host_.machine.ask(
        uid_, name, seen_.ip, probe->handler, probe->timeout,
        guarded([this, name, kind, attempt, probe](bool passed, const std::string& text) {
            ContainerSeen& container = seen_.containers[name];
            if (container.attempt != attempt || container.phase != Phase::running) return;
            ProbeState& state = container.probes[static_cast<int>(kind)];
            const bool quiet = probe->eager && !state.ever_passed;
            take_result(*probe, state, passed);
            if (!passed && !quiet && !container.stopping)
                record("Warning", "Unhealthy", std::string(word(kind)) + " probe failed: " + text);
            step();
        }));
}

void PodWorker::end_sandbox() {
    host_.machine.end_sandbox(uid_, guarded([this] {
                                  seen_.sandbox = PodSeen::Sandbox::gone;
                                  if (!address_.empty()) host_.free_address(address_);
                                  address_.clear();
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
    if (gone_ || telling_) return;
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
