// apiserver/played_webhooks.h - webhooks whose answers a test gives: for tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/json.h"
#include "apiserver/test_server.h"
#include "apiserver/webhook_call.h"
#include "apiserver/webhook_rules.h"
#include "base/text.h"

namespace muster::apiserver {

/// What a webhook was asked, and the way back.
struct PlayedCall {
    WebhookCall call;
    api::Value document;
    std::function<void(net::Response)> done;

    std::string uid() const { return document["request"]["uid"].text(); }
    void answer(const api::Value& body, int status = 200) const {
        net::Response response;
        response.status = status;
        response.body = make_bytes(api::to_json(body));
        done(std::move(response));
    }
    void fail(const std::string& why) const {
        net::Response response;
        response.status = 0;
        response.body = make_bytes(why);
        done(std::move(response));
    }
};

/// Keeps what is asked, or, with a play, answers at once.
class PlayedWebhooks : public WebhookCaller {
public:
    Drop call(WebhookCall call, std::function<void(net::Response)> done) override {
        auto parsed = api::parse_json(*call.request.body);
        calls.push_back(
            {std::move(call), std::get<api::Parsed>(std::move(parsed)).value, std::move(done)});
        if (play) play(PlayedCall(calls.back()));
        return [this] { ++dropped; };
    }
    /// "x.example.com CREATE, ...": paths and operations, in the order asked.
    std::string story() const {
        std::vector<std::string> told;
        for (const PlayedCall& one : calls)
            told.push_back(one.call.request.path.substr(1) + " " +
                           one.document["request"]["operation"].text());
        return join(told, ", ");
    }

    std::vector<PlayedCall> calls;
    int dropped = 0;
    std::function<void(const PlayedCall&)> play;
};

/// The document of an answer.
inline api::Value review_answer(const PlayedCall& call, bool allowed,
                                const std::string& patch = "") {
    api::Value response =
        api::Value::object({{"uid", call.uid()}, {"allowed", api::Value(allowed)}});
    if (!patch.empty()) {
        response.set("patchType", "JSONPatch");
        response.set("patch", to_base64(patch));
    }
    return api::Value::object({{"apiVersion", "admission.k8s.io/v1"},
                               {"kind", "AdmissionReview"},
                               {"response", std::move(response)}});
}

/// A configuration of one webhook, NAME.example.com, about config maps unless said otherwise.
struct PlayedWebhook {
    std::string name = "x";
    std::string rules =
        R"([{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}])";
    std::string more = "";  // `"failurePolicy":"Ignore",`

    std::string text(Phase phase) const {
        const std::string kind = phase == Phase::mutating ? "MutatingWebhookConfiguration"
                                                          : "ValidatingWebhookConfiguration";
        return R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")" + kind +
               R"(","metadata":{"name":")" + name + R"("},"webhooks":[{"name":")" + name +
               R"(.example.com",)" + more + R"("rules":)" + rules +
               R"(,"sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":)" +
               R"("https://127.0.0.1:9443/)" + name + R"("}}]})";
    }
};

inline const std::string mutating_path =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
inline const std::string validating_path =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A server with webhooks that are played.
struct WebhookServer : TestServer {
    WebhookServer() { server.set_webhook_caller(&webhooks); }
    void configure(Phase phase, const PlayedWebhook& webhook) {
        const std::string& path = phase == Phase::mutating ? mutating_path : validating_path;
        configured = post(path, webhook.text(phase));
    }
    PlayedWebhooks webhooks;
    ReplyPtr configured;
};

}  // namespace muster::apiserver
