// sim/fake_node.cpp - scripted pods.
#include "sim/fake_node.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/json.h"
#include "control/queue/names.h"
#include "kube/request.h"

namespace muster::sim {
namespace {

using api::Value;

const kube::Target pods{{"", "pods"}, "v1"};
const kube::Target nodes{{"", "nodes"}, "v1"};
const kube::Target leases{{"coordination.k8s.io", "leases"}, "v1"};
constexpr Duration beat_period = seconds(10);

bool is_over(const kube::Object& pod) {
    const std::string_view phase = pod.value["status"]["phase"].text_or("");
    return phase == "Succeeded" || phase == "Failed";
}

std::string environment(const Value& container, std::string_view name) {
    for (const Value& entry : container["env"].items()) {
        if (entry["name"].text_or("") == name) return entry["value"].text();
    }
    return {};
}

Value condition(const char* type, bool is_true, Time now) {
    return Value::object({{"type", type},
                          {"status", is_true ? "True" : "False"},
                          {"lastTransitionTime", to_rfc3339(now)}});
}

}  // namespace

FakeNode::FakeNode(kube::Transport& transport, Loop& loop, Random& random,
                   std::vector<NodeSpec> specs)
    : transport_(transport), loop_(loop), random_(random), nodes_(std::move(specs)) {}

void FakeNode::start() {
    for (const NodeSpec& node : nodes_)
        register_node(node);
    kube::WatchEvents events;
    events.applied = [this](const kube::ObjectPtr& pod) { look(pod); };
    events.removed = [this](const api::Key& key, std::int64_t) {
        for (auto seen = pods_.begin(); seen != pods_.end(); ++seen) {
            if (seen->second->key != key) continue;
            // Removed behind the node's back: the process must not stay.
            processes_.erase(seen->first);
            pods_.erase(seen);
            return;
        }
    };
    events.synced = [] {};
    watcher_ = std::make_unique<kube::Watcher>(transport_, loop_, pods, std::move(events));
    watcher_->start();
    beat();
}

Duration FakeNode::draw(std::int64_t least_ms, std::int64_t most_ms) {
    return milliseconds(least_ms + static_cast<std::int64_t>(random_.below(
                                       static_cast<std::uint64_t>(most_ms - least_ms + 1))));
}

void FakeNode::register_node(const NodeSpec& node) {
    Value labels = node.labels.is_object() ? node.labels : Value::object();
    labels.set("kubernetes.io/hostname", node.name);
    Value body =
        Value::object({{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", Value::object({{"name", node.name}, {"labels", labels}})}});
    if (node.spec.is_object()) body.set("spec", node.spec);
    const auto again = [this, node] {
        loop_.after(seconds(1), [this, node] { register_node(node); });
    };
    transport_.send(kube::create(nodes, "", node.name, "", body),
                    [this, node, body, again](const net::Response& made) {
                        if (made.status >= 300 && made.status != 409) return again();
                        if (made.status != 409 || !node.spec.is_object()) return write_node(node);
                        const Value patch = Value::object(
                            {{"metadata", Value::object({{"labels", body["metadata"]["labels"]}})},
                             {"spec", node.spec}});
                        transport_.send(kube::patch(nodes, {nodes.resource, "", node.name}, "",
                                                    "application/merge-patch+json", patch),
                                        [this, node, again](const net::Response& set) {
                                            if (set.status >= 300) return again();
                                            write_node(node);
                                        });
                    });
}

void FakeNode::write_node(const NodeSpec& node) {
    const Value amounts =
        node.amounts.is_object()
            ? node.amounts
            : Value::object({{"cpu", node.cpu}, {"memory", node.memory}, {"pods", node.pods}});
    const Value status = Value::object(
        {{"capacity", amounts},
         {"allocatable", amounts},
         {"conditions", Value::array({condition("Ready", node.is_ready, loop_.now())})}});
    const Value patch = Value::object({{"status", status}});
    transport_.send(kube::patch(nodes, {nodes.resource, "", node.name}, "status",
                                "application/merge-patch+json", patch),
                    [this, node](const net::Response& set) {
                        if (set.status >= 300)
                            loop_.after(seconds(1), [this, node] { register_node(node); });
                    });
}

void FakeNode::declare(NodeSpec node) {
    forget(node.name);
    register_node(node);
    nodes_.push_back(std::move(node));
}

void FakeNode::forget(const std::string& node) {
    std::erase_if(nodes_, [&](const NodeSpec& known) { return known.name == node; });
}

void FakeNode::beat() {
    for (const NodeSpec& node : nodes_) {
        if (lost_.contains(node.name)) continue;
        const Value spec = Value::object({{"holderIdentity", node.name},
                                          {"leaseDurationSeconds", 40},
                                          {"renewTime", to_rfc3339_micro(loop_.now())}});
        const Value body = Value::object(
            {{"apiVersion", "coordination.k8s.io/v1"},
             {"kind", "Lease"},
             {"metadata", Value::object({{"name", node.name}, {"namespace", "kube-node-lease"}})},
             {"spec", spec}});
        const api::Key key{leases.resource, "kube-node-lease", node.name};
        net::Request request = kube::patch(leases, key, "", "application/apply-patch+yaml", body);
        request.query = {{"fieldManager", "agent"}, {"force", "true"}};
        transport_.send(std::move(request), [](const net::Response&) {});
        const Value status = Value::object(
            {{"conditions", Value::array({condition("Ready", node.is_ready, loop_.now())})}});
        transport_.send(
            kube::patch(nodes, {nodes.resource, "", node.name}, "status",
                        "application/merge-patch+json", Value::object({{"status", status}})),
            [](const net::Response&) {});
    }
    // What a lost answer left undone is done again.
    for (const auto& [uid, pod] : pods_)
        loop_.post([this, seen = pod] { look(seen); });
    loop_.after(beat_period, [this] { beat(); });
}

void FakeNode::lose(const std::string& node, Duration span) {
    ++losses_;
    lost_.insert(node);
    for (auto process = processes_.begin(); process != processes_.end();) {
        process = process->second.node == node ? processes_.erase(process) : std::next(process);
    }
    loop_.after(span, [this, node] {
        lost_.erase(node);
        for (const auto& [uid, pod] : pods_)
            loop_.post([this, seen = pod] { look(seen); });
    });
}

void FakeNode::look(const kube::ObjectPtr& seen) {
    auto& kept = pods_[seen->uid];
    if (kept == nullptr || kept->version <= seen->version) kept = seen;
    const kube::ObjectPtr pod = kept;
    const std::string node = pod->value["spec"]["nodeName"].text();
    if (node.empty() || lost_.contains(node)) return;
    bool ours = false;
    for (const NodeSpec& spec : nodes_)
        ours = ours || spec.name == node;
    if (!ours) return;
    const auto process = processes_.find(pod->uid);
    if (pod->is_terminating()) {
        const bool ended = process == processes_.end() || process->second.phase == Phase::ended;
        const auto& finalizers = pod->value["metadata"]["finalizers"].items();
        const bool is_kept = std::any_of(
            finalizers.begin(), finalizers.end(),
            [](const Value& each) { return each.text_or("") == control::queue::managed_label; });
        if (is_over(*pod) || (ended && !is_kept)) {
            remove(*pod);
        } else if (ended) {
            // Who keeps it in sight is told how it ended.
            constexpr int killed = 137;
            write_status(*pod, Process{node, "", false, Phase::ended, killed});
        } else if (process->second.phase != Phase::ending) {
            process->second.phase = Phase::ending;
            end_process(pod->uid, pod->key.ns, pod->key.name, draw(50, 4000));
        }
        return;
    }
    if (is_over(*pod)) return;
    if (process != processes_.end()) {
        write_status(*pod, process->second);
    } else if (starts_[pod->uid] == 0) {
        start_process(*pod);
    } else {
        // Its process was lost with the node: it is not started a second time.
        write_status(*pod, Process{node, "", false, Phase::ended, 137});
    }
}

void FakeNode::start_process(const kube::Object& pod) {
    const std::string uid = pod.uid;
    Process process;
    process.node = pod.value["spec"]["nodeName"].text();
    process.cluster = std::string(pod.label("ray.io/cluster"));
    process.is_head = pod.label("ray.io/node-type") == "head";
    ++starts_[uid];
    processes_[uid] = process;
    loop_.after(draw(50, 1500), [this, uid] {
        const auto found = processes_.find(uid);
        if (found == processes_.end() || found->second.phase != Phase::starting) return;
        found->second.phase = Phase::running;
        report(uid);
        const bool is_ray = !found->second.cluster.empty();
        loop_.after(is_ray ? draw(2000, 8000) : draw(10, 500), [this, uid] {
            const auto ready = processes_.find(uid);
            if (ready == processes_.end() || ready->second.phase != Phase::running) return;
            ready->second.phase = Phase::ready;
            report(uid);
        });
        const auto seen = pods_.find(uid);
        if (seen == pods_.end() || is_ray) return;
        const kube::ObjectPtr pod_now = seen->second;
        if (pod_now->value["spec"]["restartPolicy"].text_or("Always") == "Always") return;
        submit(*pod_now);
        end_process(uid, pod_now->key.ns, pod_now->key.name, draw(3000, 20'000));
    });
}

void FakeNode::submit(const kube::Object& pod) {
    const Value& container = pod.value["spec"]["containers"][0];
    const std::string id = environment(container, "RAY_JOB_SUBMISSION_ID");
    const std::string address = environment(container, "RAY_DASHBOARD_ADDRESS");
    if (id.empty() || jobs_.contains(id)) return;
    const std::size_t scheme = address.find("://");
    const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
    const std::size_t at = address.find("-head-svc");
    jobs_[id] = {loop_.now() + draw(2000, 10'000),
                 address.substr(begin, at == std::string::npos ? 0 : at - begin)};
}

void FakeNode::end_process(const std::string& uid, const std::string& ns, const std::string& name,
                           Duration within) {
    loop_.after(within, [this, uid, ns, name] {
        const auto found = processes_.find(uid);
        if (found == processes_.end() || found->second.phase == Phase::ended) return;
        found->second.phase = Phase::ended;
        report(uid);
    });
}

void FakeNode::report(const std::string& uid) {
    const auto seen = pods_.find(uid);
    if (seen != pods_.end()) look(kube::ObjectPtr(seen->second));
}

void FakeNode::write_status(const kube::Object& pod, const Process& process) {
    const bool ended = process.phase == Phase::ended;
    const bool ready = process.phase == Phase::ready;
    if (process.phase == Phase::starting || process.phase == Phase::ending) return;
    const std::string phase = !ended ? "Running" : process.exit_code == 0 ? "Succeeded" : "Failed";
    const Value& before = pod.value["status"];
    bool was_ready = false;
    for (const Value& c : before["conditions"].items()) {
        if (c["type"].text_or("") == "Ready") was_ready = c["status"].text_or("") == "True";
    }
    if (before["phase"].text_or("") == phase && was_ready == ready) return;
    const Time now = loop_.now();
    Value status =
        Value::object({{"phase", phase},
                       {"conditions", Value::array({condition("PodScheduled", true, now),
                                                    condition("Initialized", true, now),
                                                    condition("ContainersReady", ready, now),
                                                    condition("Ready", ready, now)})}});
    if (before["podIP"].text_or("").empty())
        status.set("podIP", "10.0.0." + std::to_string(++last_address_));
    if (before["startTime"].is_null()) status.set("startTime", to_rfc3339(now));
    Value patch = Value::object({{"status", status}});
    patch.at("metadata").set("uid", pod.uid);
    transport_.send(kube::patch(pods, pod.key, "status", "application/merge-patch+json", patch),
                    [](const net::Response&) {});
}

void FakeNode::remove(const kube::Object& pod) {
    net::Request request = kube::remove(pods, pod.key, pod.uid, "");
    Value options = std::get<api::Parsed>(api::parse_json(*request.body)).value;
    options.set("gracePeriodSeconds", 0);
    request.body = make_bytes(api::to_json(options));
    transport_.send(std::move(request), [](const net::Response&) {});
}

std::size_t FakeNode::running() const {
    std::size_t count = 0;
    for (const auto& [uid, process] : processes_)
        count += process.phase == Phase::ended ? 0 : 1;
    return count;
}

std::pair<int, std::string> FakeNode::ask(std::string_view method, std::string_view url,
                                          const std::string& body) {
    const std::size_t host = url.find("//") + 2;
    const std::string cluster(url.substr(host, url.find("-head-svc") - host));
    bool reachable = false;
    for (const auto& [uid, process] : processes_) {
        reachable = reachable || (process.is_head && process.cluster == cluster &&
                                  process.phase == Phase::ready);
    }
    if (!reachable) return {0, "connection refused"};
    if (method == "POST" && !url.ends_with("/stop")) {
        const auto parsed = api::parse_json(body);
        const std::string id = std::get<api::Parsed>(parsed).value["submission_id"].text();
        if (jobs_.contains(id)) return {500, "Please use a different submission_id."};
        jobs_[id] = {loop_.now() + draw(2000, 10'000), cluster};
        return {200, "{}"};
    }
    const std::string id(url.substr(url.rfind('/') + 1));
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.cluster != cluster) return {404, "not found"};
    const bool over = loop_.now() >= job->second.ends;
    return {200, over ? R"({"status":"SUCCEEDED","message":"done"})"
                      : R"({"status":"RUNNING","message":""})"};
}

}  // namespace muster::sim
