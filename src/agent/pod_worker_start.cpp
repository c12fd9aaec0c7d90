// agent/pod_worker_start.cpp - a pod's containers: how one is started, asked by probes and hooks.
#include <exception>

#include <sys/stat.h>

#include "agent/cgroup.h"
#include "agent/environment.h"
#include "agent/environment_closure.h"
#include "agent/files.h"
#include "agent/identity.h"
#include "agent/image_map.h"
#include "agent/out_of_memory.h"
#include "agent/pod_worker.h"
#include "base/error.h"
#include "base/quantity.h"

namespace muster::agent {

using api::Value;
using Phase = ContainerSeen::Phase;

/// What the container sees, without its own disk space.
RootPlan PodWorker::make_root(const Value& container, const ImageMapping& image,
                              const Variables& variables) const {
    RootPlan root;
    root.mount_point = host_.options.data_directory + "/agent/root";
    root.shared_memory = directory() + "/shm";
    root.home = host_.home;
    const bool mapped = !image.environment.empty();
    root.working_directory =
        expand(container["workingDir"].text_or(mapped ? host_.home : "/"), variables, kPathLimit);
    root.read_only = container["securityContext"]["readOnlyRootFilesystem"].boolean_or(false);
    root.accelerators = asks_for_accelerators(container);
    root.hidden = {host_.options.data_directory};
    root.ids = ids_;
    if (mapped) root.environments = environment_closure(image.environment).paths;
    for (const char* file : {"resolv.conf", "hosts", "hostname"})
        root.mounts.push_back({directory() + "/etc/" + file, std::string("/etc/") + file});
    for (BindMount& mount : plan_mounts(container, volumes_, directory() + "/volumes", variables))
        root.mounts.push_back(std::move(mount));
    return root;
}

std::int64_t PodWorker::memory_of_node() const {
    return Quantity::parse(place().allocatable["memory"].text()).value_or(Quantity{}).units();
}

PodPlace PodWorker::place_of(const std::string& container) const {
    PodPlace place = this->place();
    if (host_.gpus.any()) place.visible_gpus = visible(share_of(object_->value, container, gpus_));
    return place;
}

void PodWorker::start(const std::string& name) {
    try {
        start_run(name);
    } catch (const std::exception& error) {  // A full disk, a path that cannot be mounted.
        RunReport report;
        report.container = name;
        report.attempt = seen_.containers[name].attempt;
        report.started = host_.loop.now();
        report.finished = report.started;
        report.code = 128;
        report.failure = error.what();
        host_.loop.post(guarded([this, report] { take(report); }));
    }
}

void PodWorker::start_run(const std::string& name) {
    const ContainerSpec* spec = find_spec(name);
    const Value& container = *spec->value;
    const ContainerSeen& seen = seen_.containers[name];
    const std::string image_name = container["image"].text();
    const ImageMapping* image = find_mapping(host_.options.images, image_name);
    const Environment environment =
        make_environment(object_->value, container, sources_, place_of(name), *image);
    if (!environment.problem.empty()) throw Error(Reason::invalid, environment.problem);
    const std::string own = directory() + "/containers/" + name;
    const std::string run = own + "/" + std::to_string(seen.attempt);

    const Identity identity = identity_for(object_->value, container, host_.users);
    RootPlan root = make_root(container, *image, environment.variables);
    root.scratch = run;
    root.user = identity.user;
    root.group = identity.group;
    make_directories(own);
    write_file(run + ".termination", "");
    ::chmod((run + ".termination").c_str(), 0666);  // Whoever the container's processes are.
    root.mounts.push_back(
        {run + ".termination",
         std::string(container["terminationMessagePath"].text_or("/dev/termination-log"))});
    Value words = Value::array();
    for (const std::string& word : environment.command)
        words.push(word);
    Value variables = Value::array();
    for (const auto& [key, value] : environment.variables)
        variables.push(key + "=" + value);
    ContainerLimits limits = limits_of(object_->value, container);
    limits.processes = host_.options.pids_limit;
    discard_older_runs(name, seen.attempt);
    record("Normal", "Pulled", "Container image \"" + image_name + "\" already present on machine");
    record("Normal", "Created", "Created container: " + name);
    host_.machine.start(
        uid_, name, seen.attempt,
        Value::object(
            {{"argv", words},
             {"env", variables},
             {"cwd", root.working_directory},
             {"root", to_value(root)},
             {"limits", to_value(limits)},
             {"identity", to_value(identity)},
             {"oomScoreAdj", out_of_memory_score(object_->value, container, memory_of_node())},
             {"stdin", container["stdin"]},
             {"tty", container["tty"]},
             {"sharePid", object_->value["spec"]["shareProcessNamespace"]}}));
}

/// As the kubelet: of the runs that have ended, one a container stays, with its logs alone.
void PodWorker::discard_older_runs(const std::string& name, int newest) {
    if (newest >= 1) host_.machine.discard_run(uid_, name, newest - 1, Machine::Keep::logs);
    if (newest >= 2) host_.machine.discard_run(uid_, name, newest - 2, Machine::Keep::nothing);
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
                record("Warning", "Failed" + title + "Hook",
                       title + "Hook failed" + (text.empty() ? "" : ": " + text));
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

}  // namespace muster::agent
