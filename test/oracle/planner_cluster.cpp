// test/oracle/planner_cluster.cpp - the planner of the queues and a small server, in virtual time.
#include "test/oracle/planner_cluster.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

#include "api/patch.h"
#include "base/verify.h"
#include "control/cluster/small_cluster.h"
#include "control/queue/planner.h"
#include "decide/why.h"
#include "decide/why_text.h"

namespace muster::oracle {
namespace {

using api::Value;
using control::Write;

/// Rounds of planning after which a cluster is said not to come to rest.
constexpr int rounds_max = 400;

/// Kueue's reason; what the queues themselves say of who stands behind others is told apart.
std::string kind_of(const decide::WaitReason& reason) {
    using Rule = decide::WaitReason::Rule;
    if (reason.rule == Rule::behind_head || reason.rule == Rule::behind_preemptor)
        return "behind another";
    if (reason.rule == Rule::exceeds_topology || reason.rule == Rule::topology)
        return reason.rule == Rule::topology ? "no place now" : "no place ever";
    if (reason.rule == Rule::overtaken) return "overtaken";
    if (reason.rule == Rule::not_covered) return "not covered";
    return decide::condition_reason(reason);
}

class PlannerCluster : public Cluster {
public:
    explicit PlannerCluster(const decide::Options& options)
        : planner_(control::queue::Settings{.decisions = options, .metrics = {}}) {
        server_.followers.push_back(&planner_);
    }

    int create(const api::GroupResource& resource, Value object) override {
        server_.store(resource, std::move(object));
        return 201;
    }

    int merge(const api::Key& key, const Value& patch, const std::string& subresource) override {
        Write write;
        write.verb = Write::Verb::merge_patch;
        write.key = key;
        write.subresource = subresource;
        write.body = patch;
        if (server_.seen.find(key) == nullptr) return 404;
        server_.take(write);
        return 200;
    }

    int remove(const api::Key& key) override {
        if (server_.seen.find(key) == nullptr) return 404;
        server_.remove(key);
        return 200;
    }

    kube::ObjectPtr find(const api::Key& key) override { return server_.seen.find(key); }
    std::vector<kube::ObjectPtr> list(const api::GroupResource& resource) override {
        return server_.seen.list(resource);
    }

    void pass(Duration span) override { server_.now = server_.now + span; }
    Time now() const override { return server_.now; }

    bool rest() override {
        for (int round = 0; round < rounds_max; ++round) {
            const control::Reconciled result = planner_.plan(server_.seen, server_.now);
            for (const Write& write : result.writes) {
                if (!server_.take(write)) planner_.failed(write);
            }
            for (const api::Key& key : result.looks)
                planner_.looked(key, server_.seen.find(key).get());
            const bool soon = result.look_again && *result.look_again <= milliseconds(200);
            // What was written is seen at once, and planned for.
            if (soon && result.writes.empty()) pass(std::max(*result.look_again, milliseconds(1)));
            if (!result.writes.empty() || !result.looks.empty() || soon) continue;
            // A broken one is a bug of ours, whatever Kueue was seen to do.
            const auto broken = decide::broken_invariants(planner_.state());
            for (const std::string& words : broken)
                std::fprintf(stderr, "broken: %s\n", words.c_str());
            VERIFY(broken.empty());
            return true;
        }
        return false;
    }

    Remedies try_remedies() override {
        Remedies tried;
        for (const kube::ObjectPtr& workload : list({"kueue.x-k8s.io", "workloads"})) {
            const auto id = planner_.id_of(workload->key);
            if (!id || !decide::wait_reason(planner_.state(), *id)) continue;
            ++tried.waiting;
            const decide::Explanation explanation = decide::why(planner_.state(), *id, now());
            auto& counts = tried.by_reason[explanation.reason ? kind_of(*explanation.reason) : ""];
            ++counts.first;
            const auto changes = decide::changes_of(planner_.state(), explanation.remedy);
            const std::vector<std::string> lines = decide::lines(explanation);
            if (starts(*id, {})) tried.wrong.push_back(*id + " starts by itself");
            if (explanation.verdict == decide::Explanation::Verdict::unknown || lines.size() < 3)
                tried.wrong.push_back(*id + " is explained by too little: " + lines.front());
            if (changes.empty() || !explanation.remedy.starts_it) continue;
            ++tried.suggested;
            ++counts.second;
            if (!starts(*id, changes))
                tried.wrong.push_back(*id + " does not start after: " + lines.back());
            const auto less = decide::less_of(explanation.remedy);
            if (less && starts(*id, decide::changes_of(planner_.state(), *less)))
                tried.wrong.push_back(*id + " starts after less than: " + lines.back());
        }
        return tried;
    }

private:
    bool starts(const std::string& id, const std::vector<decide::Change>& changes) const {
        decide::State copy = planner_.state();
        for (const decide::Change& change : changes)
            apply(copy, change);
        const decide::Decision decision = decide::decide(copy, now());
        return std::any_of(decision.admits.begin(), decision.admits.end(),
                           [&](const decide::Admit& admit) { return admit.workload == id; });
    }

    control::cluster::SmallCluster server_;
    control::queue::QueuePlanner planner_;
};

}  // namespace

std::unique_ptr<Cluster> make_planner_cluster(const std::string& variant) {
    decide::Options options;
    if (variant == "fair") options.fair_sharing.emplace();
    return std::make_unique<PlannerCluster>(options);
}

}  // namespace muster::oracle
