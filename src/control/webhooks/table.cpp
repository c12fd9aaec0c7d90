// control/webhooks/table.cpp - the webhooks, made from the tables of kinds.
#include "control/webhooks/table.h"

#include <algorithm>
#include <utility>

#include "api/guest_kinds.h"
#include "base/text.h"
#include "base/verify.h"
#include "control/queue/hooks.h"
#include "control/queue/integration.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"

namespace muster::control::webhooks {
namespace {

using Scope = Webhook::Scope;

const api::Kind& kind_of(const api::GroupResource& resource) {
    const api::Kind* kind = api::find_known_kind(resource.group, resource.plural);
    VERIFY(kind != nullptr);
    return *kind;
}

/// `word` is the name without its first letter and domain: "job".
Webhook make(Phase phase, const api::Kind& kind, std::string_view word) {
    const bool mutating = phase == Phase::mutating;
    Webhook made;
    made.phase = phase;
    made.name = (mutating ? "m" : "v") + std::string(word) + ".kb.io";
    made.path = std::string(mutating ? "/mutate-" : "/validate-") +
                replace_all(kind.group, ".", "-") + "-" + kind.storage + "-" + kind.singular;
    made.resources = {kind.resource()};
    made.version = kind.storage;
    made.operations = {"CREATE"};
    if (!mutating) made.operations.emplace_back("UPDATE");
    return made;
}

/// Kueue's own kinds: what their webhooks say beyond the schemas.
void add_own_kinds(std::vector<Webhook>& webhooks) {
    for (const api::GroupResource& resource :
         {queue::cluster_queues, queue::cohorts, queue::local_queues, queue::flavors,
          queue::workloads}) {
        const api::Kind& kind = kind_of(resource);
        Webhook validating = make(Phase::validating, kind, kind.singular);
        if (resource == queue::workloads) validating.subresources = {"status"};
        webhooks.push_back(std::move(validating));
        if (kind.defaulting != nullptr || queue::is_held_while_used(resource))
            webhooks.push_back(make(Phase::mutating, kind, kind.singular));
    }
}

/// Whether LeaderWorkerSets are queued.
bool manages_groups(const queue::JobRules& rules) {
    return std::any_of(queue::job_kinds().begin(), queue::job_kinds().end(),
                       [&](const queue::JobKind& job) {
                           return job.webhook == "leaderworkerset" && queue::manages(rules, job);
                       });
}

void add_jobs(const queue::JobRules& rules, std::vector<Webhook>& webhooks) {
    for (const queue::JobKind& job : queue::job_kinds()) {
        if (!queue::manages(rules, job)) continue;
        const api::Kind& kind = kind_of(job.resource);
        const bool by_pods = job.start == queue::JobKind::Start::by_pods;
        for (const Phase phase : {Phase::mutating, Phase::validating}) {
            Webhook made = make(phase, kind, job.webhook);
            // A kind that has been in two groups is one webhook.
            const auto there =
                std::find_if(webhooks.begin(), webhooks.end(),
                             [&](const Webhook& each) { return each.name == made.name; });
            if (there != webhooks.end()) {
                there->resources.push_back(job.resource);
                continue;
            }
            made.scope = queue::serves(job) && !queue::takes_part_unlabelled(rules, job)
                             ? Scope::queued
                             : Scope::jobs;
            if (!kind.scale_spec_path.empty() && phase == Phase::validating)
                made.subresources = {"scale"};
            if (job.resource == queue::pods && made.scope == Scope::queued &&
                phase == Phase::mutating && manages_groups(rules)) {
                Webhook grouped = made;
                grouped.name = "mleaderworkersetpod.kb.io";
                grouped.scope = Scope::grouped;
                webhooks.push_back(std::move(grouped));
            }
            // Its pods hear of a queue that it gets later.
            if (by_pods && phase == Phase::mutating) made.operations.emplace_back("UPDATE");
            webhooks.push_back(std::move(made));
        }
    }
}

}  // namespace

std::vector<Webhook> webhooks_for(const queue::JobRules& rules) {
    std::vector<Webhook> webhooks;
    add_own_kinds(webhooks);
    add_jobs(rules, webhooks);
    std::sort(webhooks.begin(), webhooks.end(),
              [](const Webhook& a, const Webhook& b) { return a.name < b.name; });
    return webhooks;
}

}  // namespace muster::control::webhooks
