// agent/local_machine.cpp - see local_machine.h.
#include "agent/local_machine.h"

#include <algorithm>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/json_file.h"
#include "agent/log_file.h"
#include "agent/run_report.h"
#include "api/json.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    DIR* list = ::opendir(directory.c_str());
    if (!list) return names;
    while (const dirent* entry = ::readdir(list))
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    ::closedir(list);
    std::sort(names.begin(), names.end());
    return names;
}

/// The runs that a pod's init has written down, oldest first.
std::vector<RunReport> runs_in(const std::string& pod_directory) {
    std::vector<RunReport> runs;
    for (const std::string& container : names_in(pod_directory + "/containers")) {
        std::vector<RunReport> own;
        for (const std::string& file : names_in(pod_directory + "/containers/" + container))
            if (file.ends_with(".state.json"))
                own.push_back(
                    report_of(read_json(pod_directory + "/containers/" + container + "/" + file)));
        std::sort(own.begin(), own.end(),
                  [](const RunReport& a, const RunReport& b) { return a.attempt < b.attempt; });
        std::move(own.begin(), own.end(), std::back_inserter(runs));
    }
    return runs;
}

/// See pod_chores.h for the list.
void write_incoming(const std::string& directory, const Machine::PodFiles& files) {
    const std::string incoming = directory + "/incoming";
    make_directories(directory, 0700);
    make_directories(incoming, 0700);
    Value folders = Value::array();
    for (const Machine::PodFiles::Folder& folder : files.folders)
        folders.push(
            Value::object({{"path", folder.path}, {"mode", folder.mode}, {"group", folder.group}}));
    Value list = Value::array();
    for (const Machine::PodFiles::File& file : files.files) {
        const std::string from = std::to_string(list.size());
        replace_file(incoming + "/" + from, *file.content, 0600);
        list.push(Value::object(
            {{"from", from}, {"path", file.path}, {"mode", file.mode}, {"group", file.group}}));
    }
    const Value whole = Value::object({{"namespace", files.ns},
                                       {"ids", to_value(files.ids)},
                                       {"folders", folders},
                                       {"files", list}});
    replace_file(incoming + "/list.json", api::to_json(whole), 0600);
}

}  // namespace

LocalMachine::LocalMachine(Network& network, net::AsioLoop& loop)
    : network_(network),
      loop_(loop),
      removals_(network, loop, [this](const RemovalJob& job, const std::string& problem) {
          cleared(job, problem);
      }) {
    make_directories(network_.directory() + "/root");
    spawner_.start("muster-spawn");
    net::ClientOptions options;
    options.tls.verify = net::ClientTls::Verify::no;
    // Of what a probe is answered with, as the kubelet; the rest is not read.
    options.response_limit = 10 << 10;
    options.beyond_limit = net::ClientOptions::Beyond::cut;
    options.dial = [this](const std::string& host, int port) { return network_.dial(host, port); };
    client_ = std::make_unique<net::Client>(loop_, loop_, std::move(options));
}

LocalMachine::~LocalMachine() {
    alive_.reset();
    spawner_.stop();
    let_go();
}

std::string LocalMachine::pod_directory(const std::string& uid) const {
    return network_.directory() + "/pods/" + uid;
}

std::vector<FoundPod> LocalMachine::find_pods(MachineEvents events) {
    events_ = std::move(events);
    std::vector<FoundPod> found;
    for (const std::string& uid : names_in(network_.directory() + "/pods")) {
        FoundPod pod;
        pod.uid = uid;
        pod.sandbox = read_json(pod_directory(uid) + "/sandbox.json");
        if (pod.sandbox.has("namespace")) namespaces_[uid] = pod.sandbox["namespace"].text();
        pod.alive = connect(uid);
        pod.runs = runs_in(pod_directory(uid));
        found.push_back(std::move(pod));
    }
    return found;
}

/// The content is written by this process and put in place by the holder, which may give it to the
/// pod's users.
void LocalMachine::fill(const std::string& uid, const PodFiles& files, Filled filled) {
    const std::string directory = pod_directory(uid);
    drop_leftover(uid);
    namespaces_[uid] = files.ns;
    spawner_.post([this, directory, files, filled, alive = std::weak_ptr<int>(alive_)] {
        std::string problem;
        IdMap ids;
        try {
            write_incoming(directory, files);
            ids = network_.fill_pod(directory);
        } catch (const Error& error) {
            problem = error.what();
        }
        loop_.post([problem, ids, filled, alive] {
            if (!alive.expired()) filled(problem, ids);
        });
    });
}

void LocalMachine::make_sandbox(const std::string& uid, const Value& sandbox, Done done) {
    const std::string directory = pod_directory(uid);
    spawner_.post([this, uid, directory, sandbox, done, alive = std::weak_ptr<int>(alive_)] {
        std::string problem;
        try {
            make_directories(directory + "/shm");
            for (const Value& volume : sandbox["memoryVolumes"].items())
                make_directories(volume["path"].text());
            replace_file(directory + "/sandbox.json", api::to_json(sandbox), 0600);
            network_.start_pod(directory);
        } catch (const Error& error) {
            problem = error.what();
        }
        loop_.post([this, uid, problem, done, alive] {
            if (alive.expired()) return;
            if (problem.empty() && !connect(uid)) return done("the pod's init does not answer");
            done(problem);
        });
    });
}

void LocalMachine::start(const std::string& uid, const std::string& container, int attempt,
                         const Value& spec) {
    try {
        const std::string folder = pod_directory(uid) + "/containers/" + container;
        make_directories(folder);
        replace_file(folder + "/" + std::to_string(attempt) + ".json", api::to_json(spec), 0600);
        say(uid, Value::object({{"do", "start"}, {"container", container}, {"attempt", attempt}}));
    } catch (const Error& error) {
        const RunReport failed{container, attempt, false,        loop_.now(), loop_.now(),
                               128,       0,       error.what(), false};
        loop_.post([this, uid, failed, alive = std::weak_ptr<int>(alive_)] {
            if (!alive.expired() && events_.run) events_.run(uid, failed);
        });
    }
}

void LocalMachine::signal(const std::string& uid, const std::string& container, int signal) {
    say(uid, Value::object({{"do", "signal"}, {"container", container}, {"signal", signal}}));
}

/// Files that pods wrote belong to their users: the holder removes them.
void LocalMachine::clear(const std::string& uid, std::vector<std::string> paths, int tries) {
    const auto ns = namespaces_.find(uid);
    removals_.add({uid, ns == namespaces_.end() ? uid : ns->second, std::move(paths), tries});
}

void LocalMachine::cleared(const RemovalJob& job, const std::string& problem) {
    if (!problem.empty()) return keep_leftover(job, problem);
    if (job.tries > 0)
        log_info("agent", "the files that pod " + job.uid + " had left are removed now");
    if (job.paths == std::vector{job.uid}) namespaces_.erase(job.uid);
}

/// The files are tried again: a process that holds them may end, a disk may be mended.
void LocalMachine::keep_leftover(const RemovalJob& job, const std::string& problem) {
    const std::string& uid = job.uid;
    const int tries = job.tries;
    constexpr int kMostDoublings = 9;  // About 8 minutes.
    const Duration wait = seconds(1) * (1 << std::min(tries, kMostDoublings));
    if (tries == 0)
        log_warning("agent",
                    "files of pod " + uid +
                        ", which has ended, stay on the disk and are tried again: " + problem);
    Leftover& leftover = leftovers_[uid];
    if (!leftover.paths.empty()) loop_.cancel(leftover.next);
    leftover.paths.insert(leftover.paths.end(), job.paths.begin(), job.paths.end());
    leftover.tries = std::max(leftover.tries, tries + 1);
    leftover.next = loop_.after(wait, [this, uid, alive = std::weak_ptr<int>(alive_)] {
        if (alive.expired()) return;
        auto node = leftovers_.extract(uid);
        if (!node.empty()) clear(uid, std::move(node.mapped().paths), node.mapped().tries);
    });
}

/// The pod gets these files anew, or all of it is removed.
void LocalMachine::drop_leftover(const std::string& uid) {
    auto node = leftovers_.extract(uid);
    if (!node.empty()) loop_.cancel(node.mapped().next);
}

void LocalMachine::end_sandbox(const std::string& uid, std::function<void()> done) {
    const auto clean = [this, uid, done = std::move(done)] {
        std::vector<std::string> paths{uid + "/volumes", uid + "/shm", uid + "/incoming",
                                       uid + "/etc"};
        const std::string containers = pod_directory(uid) + "/containers";
        for (const std::string& container : names_in(containers))
            for (const std::string& run : names_in(containers + "/" + container))
                if (!run.ends_with(".json"))
                    paths.push_back(uid + "/containers/" + container + "/" + run);
        clear(uid, std::move(paths));
        done();
    };
    const auto sandbox = sandboxes_.find(uid);
    if (sandbox == sandboxes_.end()) {
        loop_.post(clean);
        return;
    }
    sandbox->second.ended = clean;
    say(uid, Value::object({{"do", "end"}}));
}

void LocalMachine::discard_run(const std::string& uid, const std::string& container, int attempt,
                               Keep keep) {
    const std::string run = container + "/" + std::to_string(attempt);
    std::vector<std::string> paths{uid + "/containers/" + run};
    if (keep == Keep::nothing) {
        for (const char* end : {".json", ".state.json", ".termination"})
            paths.push_back(uid + "/containers/" + run + end);
        paths.push_back(uid + "/logs/" + run + ".log");
        for (int part = 1; part <= LogFile::kParts; ++part)
            paths.push_back(uid + "/logs/" + run + ".log." + std::to_string(part));
    }
    clear(uid, std::move(paths));
}

/// Files that are still being written for the pod come first: else they would come back.
void LocalMachine::forget(const std::string& uid) {
    drop_leftover(uid);
    spawner_.post([this, uid, alive = std::weak_ptr<int>(alive_)] {
        loop_.post([this, uid, alive] {
            if (!alive.expired()) clear(uid, {uid});
        });
    });
}

}  // namespace muster::agent
