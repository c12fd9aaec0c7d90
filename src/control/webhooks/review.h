// control/webhooks/review.h - an AdmissionReview in, an AdmissionReview out: the admission
// functions of Muster, asked by a Kubernetes API server.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/admission.h"
#include "control/webhooks/table.h"
#include "kube/cache.h"
#include "net/http.h"

namespace muster::control::webhooks {

/// What a review must know and its caches do not hold: it is asked of the server, and then the
/// request is reviewed again.
struct Question {
    enum class About { object, right };
    About about = About::object;
    api::Key key;      // The object; of a right its resource and namespace, without a name.
    std::string verb;  // Of a right.
    friend auto operator<=>(const Question&, const Question&) = default;
};

/// What is known. An object is null when the server does not have it; a right is true or false.
using Answers = std::map<Question, api::Value>;

/// A review as far as it has come.
struct Reviewed {
    int status = 200;    // 400: the body is no AdmissionReview.
    api::Value body;     // The AdmissionReview, or a Status.
    api::Value asker{};  // Who writes: userInfo of the request, for questions about rights.
    std::vector<Question> questions{};  // Not empty: the body is not the answer yet.
};

/// The admission functions behind the webhooks, and what they are asked about.
class Reviewer {
public:
    explicit Reviewer(const queue::JobRules& rules);

    const std::vector<Webhook>& webhooks() const { return webhooks_; }

    /// Null when no webhook has this path.
    const Webhook* find(std::string_view path) const;

    /// The answer of a webhook to the body of a request. Pure. `seen` holds namespaces and
    /// LocalQueues. A mutating webhook answers with a JSON patch, a validating one with refusals
    /// and warnings.
    Reviewed review(const Webhook& webhook, std::string_view body, const kube::Cache& seen,
                    const Answers& answers, Time now) const;

private:
    std::vector<Webhook> webhooks_;
    std::vector<api::AdmissionHook> hooks_;
};

/// The request that answers a question; `asker` as in Reviewed.
net::Request request_for(const Question& question, const api::Value& asker);

/// What the server's answer says; absent when it says nothing (unreachable, not allowed to ask).
std::optional<api::Value> answer_in(const Question& question, const net::Response& response);

}  // namespace muster::control::webhooks
