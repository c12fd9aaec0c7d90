// test/fuzz/webhook_answer.cpp - what somebody's webhook answers, and how somebody configures one.
#include <variant>

#include "api/builtin/validation.h"
#include "api/json.h"
#include "api/kind.h"
#include "api/patch.h"
#include "apiserver/admission_review.h"
#include "apiserver/conversion_review.h"
#include "apiserver/webhook_call.h"
#include "apiserver/webhook_rules.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

using api::Value;
using apiserver::Phase;

Value object_named(const std::string& name) {
    return Value::object({{"apiVersion", "stable.example.com/v1"},
                          {"kind", "CronTab"},
                          {"metadata", Value::object({{"name", name}, {"uid", "1"}})},
                          {"spec", Value::object({{"host", "a"}})}});
}

void take_verdict(const Value& document) {
    for (const Phase phase : {Phase::mutating, Phase::validating}) {
        for (const char* version : {"v1", "v1beta1"}) {
            const auto read = apiserver::read_verdict(document, version, phase, "u");
            const auto* verdict = std::get_if<apiserver::Verdict>(&read);
            if (verdict == nullptr) continue;
            demand(phase == Phase::mutating || verdict->patch.is_null(), "only one phase patches");
            const Value refusal = apiserver::refusal_of("w.example.com", verdict->result);
            demand(refusal["code"].integer_or(0) >= 400, "a refusal is one");
            if (!verdict->patch.empty() && verdict->patch_fault.empty())
                (void)api::json_patch(object_named("a"), verdict->patch);
        }
    }
}

void take_converted(const Value& document) {
    for (const char* version : {"v1", "v1beta1"}) {
        const apiserver::ConversionReview review{
            version, "u", "stable.example.com/v2", {object_named("a"), object_named("b")}};
        const auto read = apiserver::read_converted(review, document);
        const auto* made = std::get_if<std::vector<Value>>(&read);
        if (made == nullptr) continue;
        demand(made->size() == 2, "as many come back");
        for (std::size_t i = 0; i < 2; ++i) {
            const Value& metadata = (*made)[i]["metadata"];
            demand(metadata["name"] == review.objects[i]["metadata"]["name"],
                   "they stay who they are");
            demand(metadata["uid"].text_or("") == "1", "they stay what they are");
        }
    }
}

void take_answer(std::string_view input) {
    net::Response response;
    response.body = make_bytes(std::string(input));
    for (const int status : {200, 404, 500}) {
        response.status = status;
        const auto answer = apiserver::read_answer(response);
        demand(status == 200 || std::holds_alternative<std::string>(answer),
               "a failure is no answer");
        const auto* document = std::get_if<Value>(&answer);
        if (document == nullptr) continue;
        take_verdict(*document);
        take_converted(*document);
    }
}

apiserver::VersionedResource resource_of(const std::string& version) {
    return {"apps", version, "deployments", "Deployment", "apps", version};
}

void take_configuration(std::string_view input) {
    auto parsed = api::parse_json(input);
    auto* good = std::get_if<api::Parsed>(&parsed);
    if (good == nullptr || !good->value.is_object()) return;
    Value configuration = std::move(good->value);
    const api::Schema* schema =
        api::find_schema("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration");
    configuration.set("kind", "MutatingWebhookConfiguration");
    api::prune(*schema, configuration);
    if (!api::validate(*schema, configuration).empty()) return;
    api::default_webhooks(configuration);
    const bool valid = api::validate_webhooks(configuration, nullptr).empty();
    (void)api::validate_webhooks(configuration, &configuration);
    apiserver::Webhooks webhooks;
    webhooks.put(Phase::mutating, "c", configuration);
    const Value labels = Value::object({{"a", "b"}});
    apiserver::WebhookQuestion question;
    question.operation = "CREATE";
    question.resource = resource_of("v1");
    question.equivalents = {resource_of("v1beta1")};
    question.ns = "n";
    question.labels = question.namespace_labels = &labels;
    for (const apiserver::WebhookPtr& webhook : webhooks.of(Phase::mutating)) {
        (void)apiserver::match(*webhook, question);
        for (const api::CelRule& condition : webhook->conditions)
            demand(!valid || condition.root() != nullptr, "what is valid can be asked");
    }
}

const std::string verdict_seed =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true,)"
    R"("patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6MX1d",)"
    R"("warnings":["w"],"auditAnnotations":{"a":"b"},"status":{"code":403,"message":"m",)"
    R"("reason":"r","details":{"causes":[]}}}})";
const std::string converted_seed =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u",)"
    R"("result":{"status":"Success","message":"m"},"convertedObjects":[{"apiVersion":)"
    R"("stable.example.com/v2","kind":"CronTab","metadata":{"name":"a","uid":"1","labels":{"a":"b"}}},)"
    R"({"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":{"name":"b","uid":"1",)"
    R"("annotations":{"a":"b"}},"spec":{"hosts":["a"]}}]}})";
const std::string configuration_seed =
    R"({"metadata":{"name":"c"},"webhooks":[{"name":"a.example.com","rules":[{"operations":["*"],)"
    R"("apiGroups":["apps"],"apiVersions":["v1beta1"],"resources":["*/*"],"scope":"*"}],)"
    R"("matchPolicy":"Equivalent","sideEffects":"None","admissionReviewVersions":["v1"],)"
    R"("clientConfig":{"url":"https://u@h:1/p?q#f"},"objectSelector":{"matchLabels":{"a":"b"}},)"
    R"x("matchConditions":[{"name":"c","expression":"object.a == request.name && )x"
    R"x(request.userInfo.groups.exists(g, g == 'x')"}]},)x"
    R"({"name":"b.example.com","sideEffects":"None","admissionReviewVersions":["v1"],)"
    R"("clientConfig":{"service":{"namespace":"n","name":"s","path":"/a/b","port":8443}}}]})";

}  // namespace

Target webhook_answer_target() {
    return {"webhook_answer", {verdict_seed, converted_seed, "\"out of order\""}, take_answer};
}

Target webhook_configuration_target() {
    return {"webhook_configuration", {configuration_seed}, take_configuration};
}

}  // namespace muster::fuzz
