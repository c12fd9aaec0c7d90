// apps/operator/scrape_access.cpp - a TokenReview, then a SubjectAccessReview.
#include "apps/operator/scrape_access.h"

#include <utility>

#include "api/value.h"
#include "kube/request.h"
#include "net/secret.h"

namespace muster::on_cluster {
namespace {

using api::Value;

const kube::Target token_reviews{{"authentication.k8s.io", "tokenreviews"}, "v1"};
const kube::Target access_reviews{{"authorization.k8s.io", "subjectaccessreviews"}, "v1"};
constexpr Duration grant_lasts = minutes(1);
constexpr std::size_t grants_max = 100;

std::string token_of(const net::Request& request) {
    constexpr std::string_view scheme = "Bearer ";
    const std::string_view header = request.headers.get("Authorization");
    return header.starts_with(scheme) ? std::string(header.substr(scheme.size())) : std::string();
}

Value token_review(const std::string& token) {
    return Value::object({{"apiVersion", "authentication.k8s.io/v1"},
                          {"kind", "TokenReview"},
                          {"spec", Value::object({{"token", token}})}});
}

Value access_review(const Value& user, const std::string& path) {
    Value spec = Value::object(
        {{"user", user["username"]},
         {"nonResourceAttributes", Value::object({{"path", path}, {"verb", "get"}})}});
    for (const char* field : {"uid", "groups", "extra"}) {
        if (user.has(field)) spec.set(field, user[field]);
    }
    return Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                          {"kind", "SubjectAccessReview"},
                          {"spec", std::move(spec)}});
}

std::string refusal_of(const net::Response& response) {
    return "the API server answers " + std::to_string(response.status) +
           (response.body ? ": " + *response.body : "");
}

}  // namespace

struct ScrapeAccess::Question {
    std::string path;
    std::string grant;  // What it is remembered by.
    Done done;
};

void ScrapeAccess::ask(const net::Request& request, Done done) {
    const std::string token = token_of(request);
    if (token.empty())
        return done({Verdict::unknown_user, "send the token of a service account as bearer"});
    auto question = std::make_shared<Question>(
        Question{request.path, request.path + " " + net::sha256(token), std::move(done)});
    const auto known = granted_.find(question->grant);
    if (known != granted_.end() && loop_.now() < known->second)
        return question->done({Verdict::granted, ""});
    transport_.send(kube::create(token_reviews, "", "", "", token_review(token)),
                    [this, question, alive = std::weak_ptr(alive_)](const net::Response& response) {
                        if (!alive.expired()) take_user(question, response);
                    });
}

void ScrapeAccess::take_user(const std::shared_ptr<Question>& question,
                             const net::Response& response) {
    if (response.status != 200 && response.status != 201)
        return question->done({Verdict::no_answer, refusal_of(response)});
    const Value status = kube::body_of(response)["status"];
    if (!status["authenticated"].boolean_or(false))
        return question->done({Verdict::unknown_user, "the token is not known to the API server"});
    transport_.send(
        kube::create(access_reviews, "", "", "", access_review(status["user"], question->path)),
        [this, question, alive = std::weak_ptr(alive_)](const net::Response& answer) {
            if (!alive.expired()) take_verdict(question, answer);
        });
}

void ScrapeAccess::take_verdict(const std::shared_ptr<Question>& question,
                                const net::Response& response) {
    if (response.status != 200 && response.status != 201)
        return question->done({Verdict::no_answer, refusal_of(response)});
    if (!kube::body_of(response)["status"]["allowed"].boolean_or(false)) {
        return question->done({Verdict::forbidden, "this user may not get " + question->path +
                                                       ": a ClusterRole with nonResourceURLs is "
                                                       "what it needs (muster-metrics-reader)"});
    }
    if (granted_.size() >= grants_max) granted_.clear();
    granted_[question->grant] = loop_.now() + grant_lasts;
    question->done({Verdict::granted, ""});
}

}  // namespace muster::on_cluster
