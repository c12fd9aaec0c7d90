// control/webhooks/review.cpp - reads what an API server asks, asks the admission functions, and
// words their answer.
#include "control/webhooks/review.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "api/denial.h"
#include "api/field_error.h"
#include "api/guest_kinds.h"
#include "api/json.h"
#include "api/json_patch_between.h"
#include "api/status.h"
#include "base/dns_name.h"
#include "base/text.h"
#include "control/appwrapper/hooks.h"
#include "control/queue/hooks.h"
#include "control/queue/names.h"
#include "control/webhooks/request.h"
#include "kube/request.h"

namespace muster::control::webhooks {
namespace {

using api::Admission;
using api::AdmissionRequest;
using api::Value;
using Denial = Admission::Denial;

/// What is wrong with a request, in words for whoever configured the webhook.
struct Fault {
    std::string text;
};

Value review_with(Value response) {
    return Value::object({{"apiVersion", "admission.k8s.io/v1"},
                          {"kind", "AdmissionReview"},
                          {"response", std::move(response)}});
}

Value refusal(const Value& uid, const Denial& denied) {
    Value status = api::failure_status(denied.reason, denied.text);
    Value details = api::details_with(denied.causes);
    if (!details.is_null()) status.set("details", std::move(details));
    return Value::object({{"uid", uid}, {"allowed", false}, {"status", std::move(status)}});
}

Value allowance(const Value& uid) {
    return Value::object({{"uid", uid}, {"allowed", true}});
}

Value texts(const std::vector<std::string>& list) {
    Value made = Value::array();
    for (const std::string& text : list)
        made.push(text);
    return made;
}

/// The functions rely on the shapes that an API server has checked. Values it checks itself: it
/// may know newer ones.
std::optional<Fault> wrong_shape(const api::Kind& kind, const Value& object) {
    const std::string api_version = api::to_api_version({kind.group, kind.storage});
    if (object["apiVersion"].text_or("") != api_version ||
        object["kind"].text_or("") != kind.kind) {
        return Fault{"the object is a " + api::shown(object["kind"]) + " of " +
                     api::shown(object["apiVersion"]) + ", not a " + kind.kind + " of " +
                     api_version};
    }
    const api::LazySchema& schema = kind.find_version(kind.storage)->schema;
    if (!schema.is_known())
        return std::nullopt;  // A guest: the server's definition has checked it.
    for (const api::FieldError& error : api::validate(*schema, object)) {
        if (error.reason == "FieldValueTypeInvalid") return Fault{error.field + ": " + error.text};
    }
    return std::nullopt;
}

std::optional<AdmissionRequest::Operation> operation_of(std::string_view word) {
    using Operation = AdmissionRequest::Operation;
    if (word == "CREATE") return Operation::create;
    if (word == "UPDATE") return Operation::update;
    if (word == "DELETE") return Operation::remove;
    return std::nullopt;
}

/// The value at ".spec.replicas"; made on the way.
Value& at_place(Value& object, std::string_view place) {
    Value* here = &object;
    for (const std::string_view step : split(place.substr(1), '.'))
        here = &here->at(step);
    return *here;
}

/// One look at a request: what is asked for on the way is noted.
class Look {
public:
    Look(const Value& request, const kube::Cache& seen, const Answers& answers)
        : request_(request), seen_(seen), answers_(answers) {}

    /// Absent: nothing that Muster has a say in.
    std::variant<AdmissionRequest, Fault> read(const Webhook& webhook, Time now);

    std::vector<Question> questions() const { return {asked_.begin(), asked_.end()}; }

private:
    Value find(const api::Key& key);
    bool allowed(std::string_view verb, const api::GroupResource& resource, std::string_view ns);
    std::vector<Value> list(const api::GroupResource& resource, std::string_view ns) const;
    std::optional<Fault> read_objects(AdmissionRequest& made);
    Value ask(Question question, Value meanwhile);

    const Value& request_;
    const kube::Cache& seen_;
    const Answers& answers_;
    std::set<Question> asked_;
};

Value Look::ask(Question question, Value meanwhile) {
    const auto known = answers_.find(question);
    if (known != answers_.end()) return known->second;
    asked_.insert(std::move(question));
    return meanwhile;
}

Value Look::find(const api::Key& key) {
    if (!dns1123_subdomain_faults(key.name).empty()) return {};  // Nothing is called so.
    const kube::ObjectPtr found = seen_.find(key);
    if (found != nullptr) return found->value;
    // That there is no queue of a name is the usual answer; anything else that is asked for is
    // there, and the view late.
    if (key.resource == queue::local_queues) return {};
    return ask({Question::About::object, key, ""}, {});
}

bool Look::allowed(std::string_view verb, const api::GroupResource& resource, std::string_view ns) {
    return ask({Question::About::right, {resource, std::string(ns), ""}, std::string(verb)}, true)
        .boolean_or(false);
}

std::vector<Value> Look::list(const api::GroupResource& resource, std::string_view ns) const {
    std::vector<Value> listed;
    for (const kube::ObjectPtr& object : seen_.list(resource, ns))
        listed.push_back(object->value);
    return listed;
}

/// Of a scaling the API server shows the Scale only.
std::optional<Fault> Look::read_objects(AdmissionRequest& made) {
    const api::Kind& kind = *made.kind;
    if (made.subresource == "scale" && !kind.scale_spec_path.empty()) {
        made.old = find({kind.resource(), request_["namespace"].text(), request_["name"].text()});
        made.object = made.old;
        const Value& replicas = request_["object"]["spec"]["replicas"];
        if (made.object.is_object()) at_place(made.object, kind.scale_spec_path) = replicas;
        return std::nullopt;
    }
    for (const auto& [name, place] :
         {std::pair("object", &made.object), std::pair("oldObject", &made.old)}) {
        const Value& object = request_[name];
        if (object.is_null()) continue;
        if (auto fault = wrong_shape(kind, object)) return fault;
        *place = object;
    }
    using Operation = AdmissionRequest::Operation;
    if (made.object.is_null() && made.operation != Operation::remove)
        return Fault{"the request has no object"};
    if (made.old.is_null() && made.operation == Operation::update)
        return Fault{"the request has no oldObject"};
    if (made.operation == Operation::create) made.old = {};
    return std::nullopt;
}

std::variant<AdmissionRequest, Fault> Look::read(const Webhook& webhook, Time now) {
    const Value& resource = request_["resource"];
    const api::GroupResource named{resource["group"].text(), resource["resource"].text()};
    const auto& known = webhook.resources;
    if (std::find(known.begin(), known.end(), named) == known.end()) {
        return Fault{"the webhook " + webhook.name + " is not for " + quoted(named.plural) +
                     " of the group " + quoted(named.group)};
    }
    const auto operation = operation_of(request_["operation"].text_or(""));
    if (!operation) return Fault{"the operation " + shown(request_["operation"]) + " is unknown"};
    const std::string place = request_["namespace"].text();
    if (!place.empty() && !dns1123_label_faults(place).empty())
        return Fault{"there is no namespace " + quoted(place)};
    AdmissionRequest made;
    made.operation = *operation;
    made.kind = api::find_known_kind(named.group, named.plural);
    made.version = made.kind->storage;
    made.subresource = request_["subResource"].text();
    made.user = request_["userInfo"]["username"].text();
    for (const Value& group : request_["userInfo"]["groups"].items())
        made.groups.push_back(group.text());
    made.now = now;
    made.find = [this](const api::Key& key) { return find(key); };
    made.list = [this](const api::GroupResource& what, std::string_view ns) {
        return list(what, ns);
    };
    made.allowed = [this](std::string_view verb, const api::GroupResource& what,
                          std::string_view ns) { return allowed(verb, what, ns); };
    if (const auto fault = read_objects(made)) return *fault;
    // Before the server has filled it in, it is in the request only.
    if (made.kind->namespaced && made.object.is_object() &&
        made.object["metadata"]["namespace"].text_or("").empty()) {
        made.object.at("metadata").set("namespace", request_["namespace"]);
    }
    return made;
}

/// What the object becomes on its way in.
Value mutated(const std::vector<api::AdmissionHook>& hooks, AdmissionRequest request,
              const Value& uid) {
    const Value before = request.object;
    const bool defaults = request.kind->custom && request.kind->defaulting != nullptr;
    if (defaults && request.object.is_object()) request.kind->defaulting(request.object);
    for (const api::AdmissionHook& hook : hooks) {
        Admission answer = hook(request);
        // What a validating webhook refuses it refuses when it is asked.
        if (answer.denied && api::is_validating(*answer.denied)) break;
        if (answer.denied) return refusal(uid, *answer.denied);
        if (answer.changed) request.object = std::move(*answer.changed);
    }
    Value response = allowance(uid);
    if (before == request.object) return response;
    const Value patch = api::json_patch_between(before, request.object);
    response.set("patchType", "JSONPatch");
    response.set("patch", to_base64(api::to_json(patch)));
    return response;
}

/// What is said of the object as it would be stored.
Value validated(const std::vector<api::AdmissionHook>& hooks, const AdmissionRequest& request,
                const Value& uid) {
    std::vector<std::string> warnings;
    std::optional<Denial> denied;
    for (const api::AdmissionHook& hook : hooks) {
        Admission answer = hook(request);
        std::move(answer.warnings.begin(), answer.warnings.end(), std::back_inserter(warnings));
        if (!answer.denied || !api::is_validating(*answer.denied)) continue;
        denied = std::move(answer.denied);
        break;
    }
    using Operation = AdmissionRequest::Operation;
    const bool whole = request.subresource.empty() || request.subresource == "status";
    if (!denied && whole && request.operation != Operation::remove)
        denied = api::denial_of_kind(*request.kind, request.object, request.old);
    Value response = denied ? refusal(uid, *denied) : allowance(uid);
    if (!warnings.empty()) response.set("warnings", texts(warnings));
    return response;
}

Reviewed malformed(const std::string& text) {
    return {reason_code(Reason::bad_request), api::failure_status(Reason::bad_request, text)};
}

}  // namespace

Reviewer::Reviewer(const queue::JobRules& rules)
    : webhooks_(webhooks_for(rules)), hooks_(queue::admission_hooks(rules)) {
    for (api::AdmissionHook& hook : appwrapper::admission_hooks())
        hooks_.push_back(std::move(hook));
}

const Webhook* Reviewer::find(std::string_view path) const {
    for (const Webhook& webhook : webhooks_) {
        if (webhook.path == path) return &webhook;
    }
    return nullptr;
}

Reviewed Reviewer::review(const Webhook& webhook, std::string_view body, const kube::Cache& seen,
                          const Answers& answers, Time now) const {
    const auto frame = request_in(body, "AdmissionReview", "admission.k8s.io/v1");
    if (const auto* fault = std::get_if<std::string>(&frame)) return malformed(*fault);
    const Value& request = std::get<Value>(frame);
    const Value& uid = request["uid"];
    Look look(request, seen, answers);
    auto read = look.read(webhook, now);
    if (const auto* fault = std::get_if<Fault>(&read))
        return {200, review_with(refusal(uid, {Reason::bad_request, fault->text, {}}))};
    const AdmissionRequest& made = std::get<AdmissionRequest>(read);
    Reviewed reviewed;
    reviewed.asker = request["userInfo"];
    if (made.object.is_null()) {
        reviewed.body = review_with(allowance(uid));  // Removed, or scaled and gone.
    } else if (webhook.phase == Phase::mutating) {
        reviewed.body = review_with(mutated(hooks_, made, uid));
    } else {
        reviewed.body = review_with(validated(hooks_, made, uid));
    }
    reviewed.questions = look.questions();
    return reviewed;
}

net::Request request_for(const Question& question, const Value& asker) {
    const api::Key& key = question.key;
    if (question.about == Question::About::object) {
        const api::Kind* kind = api::find_known_kind(key.resource.group, key.resource.plural);
        return kube::get({key.resource, kind == nullptr ? "v1" : kind->storage}, key.ns, key.name);
    }
    Value spec =
        Value::object({{"user", asker["username"]},
                       {"groups", asker["groups"]},
                       {"uid", asker["uid"]},
                       {"extra", asker["extra"]},
                       {"resourceAttributes", Value::object({{"namespace", key.ns},
                                                             {"verb", question.verb},
                                                             {"group", key.resource.group},
                                                             {"resource", key.resource.plural}})}});
    for (const char* name : {"groups", "uid", "extra"}) {
        if (spec[name].is_null()) spec.erase(name);
    }
    return kube::create({{"authorization.k8s.io", "subjectaccessreviews"}, "v1"}, "", "", "",
                        Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                                       {"kind", "SubjectAccessReview"},
                                       {"spec", std::move(spec)}}));
}

std::optional<Value> answer_in(const Question& question, const net::Response& response) {
    if (question.about == Question::About::right) {
        if (response.status != 201) return std::nullopt;
        return Value(kube::body_of(response)["status"]["allowed"].boolean_or(false));
    }
    if (response.status == 404) return Value();
    if (response.status != 200) return std::nullopt;
    return kube::body_of(response);
}

}  // namespace muster::control::webhooks
