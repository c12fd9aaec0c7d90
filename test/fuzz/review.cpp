// test/fuzz/review.cpp - AdmissionReviews and ConversionReviews at every webhook.
#include "control/webhooks/review.h"

#include "api/json.h"
#include "control/webhooks/conversion.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

using control::webhooks::Answers;
using control::webhooks::Converted;
using control::webhooks::Question;
using control::webhooks::Reviewed;
using control::webhooks::Reviewer;
using control::webhooks::Webhook;

const Reviewer& reviewer() {
    static const Reviewer made{control::queue::JobRules{}};
    return made;
}

/// Answers whatever is asked with the object itself, until nothing more is asked.
void answer_all(const Webhook& webhook, std::string_view input) {
    const kube::Cache nothing;
    Answers answers;
    for (int round = 0; round < 4; ++round) {
        const Reviewed reviewed = reviewer().review(webhook, input, nothing, answers, Time{});
        demand(reviewed.status == 200 || reviewed.status == 400, "a review has an answer");
        const api::Value& response = reviewed.body["response"];
        demand(reviewed.status == 400 || response["allowed"].is_boolean(), "it is yes or no");
        if (reviewed.questions.empty()) return;
        for (const Question& question : reviewed.questions) {
            request_for(question, reviewed.asker);
            const bool right = question.about == Question::About::right;
            answers[question] = right ? api::Value(round % 2 == 0) : api::Value();
        }
    }
}

void take(std::string_view input) {
    for (const Webhook& webhook : reviewer().webhooks())
        answer_all(webhook, input);
    const Converted converted = control::webhooks::convert(input);
    demand(converted.status == 200 || converted.status == 400, "a conversion has an answer");
}

std::string review_of(const std::string& group, const std::string& resource,
                      const std::string& object) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
           R"("resource":{"group":")" +
           group + R"(","version":"v1","resource":")" + resource +
           R"("},"operation":"UPDATE","namespace":"n","name":"o","userInfo":{"username":"a"},)" +
           R"("object":)" + object + R"(,"oldObject":)" + object + "}}";
}

}  // namespace

Target review_target() {
    const std::string metadata =
        R"("metadata":{"name":"o","namespace":"n","labels":{"kueue.x-k8s.io/queue-name":"q"},)"
        R"("annotations":{"kueue.x-k8s.io/job-min-parallelism":"1"},"ownerReferences":[)"
        R"({"apiVersion":"ray.io/v1","kind":"RayJob","name":"r","uid":"1","controller":true}]})";
    return {"review",
            {review_of("batch", "jobs",
                       R"({"apiVersion":"batch/v1","kind":"Job",)" + metadata +
                           R"(,"spec":{"parallelism":2,"template":{"metadata":{},"spec":{}}}})"),
             review_of("ray.io", "rayclusters",
                       R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" + metadata +
                           R"(,"spec":{"workerGroupSpecs":[{"groupName":"w","replicas":1}]}})"),
             review_of("kueue.x-k8s.io", "workloads",
                       R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",)" + metadata +
                           R"(,"spec":{"podSets":[{"name":"main","count":1}]}})"),
             review_of("workload.codeflare.dev", "appwrappers",
                       R"({"apiVersion":"workload.codeflare.dev/v1beta1","kind":"AppWrapper",)" +
                           metadata +
                           R"(,"spec":{"resources":{"GenericItems":[{"generictemplate":{}}]}}})"),
             R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{)"
             R"("uid":"u","desiredAPIVersion":"kueue.x-k8s.io/v1beta2","objects":[{"apiVersion":)"
             R"("kueue.x-k8s.io/v1beta1","kind":"Workload","metadata":{"name":"w"},"status":{)"
             R"("admission":{"podSetAssignments":[{"topologyAssignment":{"levels":["h"],)"
             R"("domains":[{"count":1,"values":["a"]}]}}]}}}]}})"},
            take};
}

}  // namespace muster::fuzz
