// apiserver/admission_webhooks.cpp - the rounds of webhooks, as kube-apiserver makes them.
#include "apiserver/admission_webhooks.h"

#include <optional>
#include <set>
#include <utility>

#include "api/match_condition.h"
#include "apiserver/admission_review.h"
#include "apiserver/commit.h"
#include "apiserver/webhook_call.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::int64_t usual_timeout = 10;
constexpr std::size_t warnings_max = 256;  // An answer shows fewer.

/// What configures webhooks is not sent to any: who breaks them must be able to mend them.
bool is_exempt(const VersionedResource& resource) {
    return resource.group == "admissionregistration.k8s.io";
}

StatusError internal_error(const std::string& text) {
    const Value cause = Value::object({{"message", text}});
    return {Reason::internal_error, "Internal error occurred: " + text,
            Value::object({{"causes", Value::array({cause})}})};
}

StatusError failed_calling(const Webhook& webhook, const std::string& why) {
    return internal_error("failed calling webhook " + quoted(webhook.name()) + ": " + why);
}

/// One webhook that is to be asked, with all that it is told.
struct Invocation {
    WebhookPtr webhook;
    VersionedResource as;
    std::string version;  // Of the review.
    std::string uid;
    Value shown;  // The object as the webhook sees it.
    Value document;
    std::string fault;  // Not empty: it cannot be asked.
};

/// What both kinds of rounds share: who is concerned, and what they are told.
class Round {
public:
    Round(Context& context, ExchangePtr exchange, ReviewedPtr reviewed, Phase phase)
        : context_(context),
          exchange_(std::move(exchange)),
          reviewed_(std::move(reviewed)),
          phase_(phase) {}

    /// Absent: it is not concerned. Throws StatusError, NotYetKnown.
    std::optional<Invocation> invocation_of(const WebhookPtr& webhook);
    void call(const Invocation& invocation, std::function<void(WebhookAnswer)> done);
    /// What came of a call; absent when it failed and that is to be ignored. Throws StatusError.
    std::optional<Verdict> judge(const Invocation& invocation, const WebhookAnswer& answer) const;

    Context& context() { return context_; }
    const ExchangePtr& exchange() { return exchange_; }
    Reviewed& reviewed() { return *reviewed_; }

private:
    WebhookQuestion question();
    bool conditions_hold(const Webhook& webhook, const VersionedResource& as);
    ReviewRequest request_in(const VersionedResource& as) const;
    Value shown(const Value& object, const VersionedResource& as) {
        return object.is_null() ? Value() : reviewed_->show(object, as, phase_);
    }

    Context& context_;
    ExchangePtr exchange_;
    ReviewedPtr reviewed_;
    Phase phase_;
    std::optional<Value> namespace_;  // As it is until the next call; questions point into it.
};

WebhookQuestion Round::question() {
    const Reviewed& reviewed = *reviewed_;
    const auto labels_of = [](const Value& object) {
        return object.is_null() ? nullptr : &object["metadata"]["labels"];
    };
    WebhookQuestion question;
    question.operation = reviewed.operation;
    question.resource = reviewed.resource;
    question.subresource = reviewed.subresource;
    question.ns = reviewed.ns;
    question.equivalents = reviewed.equivalents;
    question.labels = labels_of(reviewed.object);
    question.old_labels = labels_of(reviewed.old);
    const bool itself = reviewed.resource.plural == "namespaces" && reviewed.subresource.empty() &&
                        reviewed.operation != "DELETE";
    if (itself) {
        question.namespace_labels = question.labels;
    } else if (!reviewed.ns.empty()) {
        const api::Kind& namespaces = *api::find_kind("", "namespaces");
        if (!namespace_) namespace_ = newest_of(context_, namespaces, "", reviewed.ns).object;
        question.namespace_labels = labels_of(*namespace_);
    }
    return question;
}

ReviewRequest Round::request_in(const VersionedResource& as) const {
    ReviewRequest request;
    request.as = as;
    request.resource = reviewed_->resource;
    request.subresource = reviewed_->subresource;
    request.name = reviewed_->name;
    request.ns = reviewed_->ns;
    request.operation = reviewed_->operation;
    request.dry_run = exchange_->is_dry_run();
    request.options = reviewed_->options;
    return request;
}

/// One that says no is enough to pass the webhook over, whatever is wrong with the others.
bool Round::conditions_hold(const Webhook& webhook, const VersionedResource& as) {
    if (webhook.conditions.empty()) return true;
    const Value object = shown(reviewed_->object, as);
    const Value old = shown(reviewed_->old, as);
    const Value request = review_request(request_in(as), exchange_->user);
    std::vector<std::string> troubles;
    for (std::size_t i = 0; i < webhook.conditions.size(); ++i) {
        const std::string text = webhook.spec["matchConditions"][i]["expression"].text();
        if (webhook.conditions[i].root() == nullptr) {
            troubles.push_back("compilation error: " + webhook.conditions[i].error());
            continue;
        }
        const auto answer = api::ask_condition(webhook.conditions[i], {object, old, request});
        if (answer.trouble.empty() && !answer.holds) return false;
        if (!answer.trouble.empty())
            troubles.push_back("expression '" + text + "' resulted in error: " + answer.trouble);
    }
    if (troubles.empty()) return true;
    if (webhook.ignores_failure()) return false;
    const std::string text = troubles.size() == 1 ? troubles[0] : "[" + join(troubles, ", ") + "]";
    throw forbidden({reviewed_->resource.group, reviewed_->resource.plural}, reviewed_->name, text);
}

std::optional<Invocation> Round::invocation_of(const WebhookPtr& webhook) {
    const WebhookMatch found = match(*webhook, question());
    if (found.outcome == WebhookMatch::Outcome::passed_over) return std::nullopt;
    if (found.outcome == WebhookMatch::Outcome::no_namespace)
        throw not_found({"", "namespaces"}, reviewed_->ns);
    if (!conditions_hold(*webhook, found.as)) return std::nullopt;
    const std::string_view effects = webhook->spec["sideEffects"].text_or("");
    if (exchange_->is_dry_run() && effects != "None" && effects != "NoneOnDryRun") {
        throw bad_request("admission webhook " + quoted(webhook->name()) +
                          " does not support dry run");
    }
    Invocation invocation;
    invocation.webhook = webhook;
    invocation.as = found.as;
    const auto version = review_version(webhook->spec["admissionReviewVersions"]);
    if (!version) {
        invocation.fault =
            "could not create admission objects: webhook does not accept known AdmissionReview "
            "versions (v1, v1beta1)";
        return invocation;
    }
    invocation.version = *version;
    invocation.uid = context_.random.uuid();
    invocation.shown = shown(reviewed_->object, found.as);
    ReviewRequest request = request_in(found.as);
    request.uid = invocation.uid;
    invocation.document = admission_review(*version, review_request(request, exchange_->user),
                                           invocation.shown, shown(reviewed_->old, found.as));
    return invocation;
}

void Round::call(const Invocation& invocation, std::function<void(WebhookAnswer)> done) {
    reviewed_->waited = true;
    namespace_.reset();
    if (!invocation.fault.empty()) {
        context_.loop.post([alive = std::weak_ptr(context_.alive), done = std::move(done)] {
            if (!alive.expired()) done(std::string());
        });
        return;
    }
    const Value& spec = invocation.webhook->spec;
    call_webhook(context_, spec["clientConfig"], invocation.document,
                 seconds(spec["timeoutSeconds"].integer_or(usual_timeout)), std::move(done));
}

std::optional<Verdict> Round::judge(const Invocation& invocation,
                                    const WebhookAnswer& answer) const {
    std::string fault = invocation.fault;
    std::optional<Verdict> verdict;
    if (const auto* why = std::get_if<std::string>(&answer)) {
        if (fault.empty()) fault = "failed to call webhook: " + *why;
    } else {
        auto read =
            read_verdict(std::get<Value>(answer), invocation.version, phase_, invocation.uid);
        if (auto* unreadable = std::get_if<std::string>(&read)) {
            fault = std::move(*unreadable);
        } else {
            verdict = std::move(std::get<Verdict>(read));
            fault = verdict->patch_fault;
        }
    }
    if (verdict) {
        for (const std::string& warning : verdict->warnings) {
            if (exchange_->warnings.size() < warnings_max) exchange_->warnings.push_back(warning);
        }
        if (!verdict->allowed)
            throw StatusError::of(refusal_of(invocation.webhook->name(), verdict->result));
    }
    if (fault.empty()) return verdict;
    if (!invocation.webhook->ignores_failure()) throw failed_calling(*invocation.webhook, fault);
    log_warning("apiserver", "webhook " + invocation.webhook->name() + " is passed over: " + fault);
    return std::nullopt;
}

/// The mutating webhooks of one request. Lives until the last answer.
class Mutating : public std::enable_shared_from_this<Mutating> {
public:
    Mutating(Round round, std::vector<WebhookPtr> hooks, AfterReview after)
        : round_(std::move(round)), hooks_(std::move(hooks)), after_(std::move(after)) {}

    void go_on() {
        guarded(
            round_.exchange(), [self = shared_from_this()] { self->next(); }, after_.refuse);
    }

private:
    void next();
    void take(const Invocation& invocation, const WebhookAnswer& answer);
    bool apply(const Invocation& invocation, const Verdict& verdict);
    /// All that may be asked again and was asked already, is.
    void note_change() {
        again_.insert(asked_.begin(), asked_.end());
        asked_.clear();
    }

    Round round_;
    std::vector<WebhookPtr> hooks_;
    AfterReview after_;
    std::size_t at_ = 0;
    bool second_ = false;          // The second, last round.
    bool changed_ = false;         // In the first one.
    std::set<std::string> asked_;  // Of those with reinvocationPolicy IfNeeded.
    std::set<std::string> again_;
};

void Mutating::next() {
    while (true) {
        for (; at_ < hooks_.size(); ++at_) {
            const WebhookPtr& webhook = hooks_[at_];
            if (second_ && !again_.contains(webhook->id)) continue;
            const auto invocation = round_.invocation_of(webhook);
            if (!invocation) continue;
            round_.call(*invocation, [self = shared_from_this(),
                                      one = *invocation](const WebhookAnswer& answer) {
                guarded(
                    self->round_.exchange(), [=] { self->take(one, answer); }, self->after_.refuse);
            });
            return;
        }
        if (second_ || !changed_) break;
        const Value before = round_.reviewed().object;
        round_.reviewed().repeat_own_steps();
        if (!(before == round_.reviewed().object)) note_change();
        second_ = true;
        at_ = 0;
    }
    guarded(round_.exchange(), after_.go_on, after_.refuse);
}

void Mutating::take(const Invocation& invocation, const WebhookAnswer& answer) {
    const auto verdict = round_.judge(invocation, answer);
    if (verdict && apply(invocation, *verdict)) {
        note_change();
        changed_ = true;
    }
    if (invocation.webhook->spec["reinvocationPolicy"].text_or("") == "IfNeeded")
        asked_.insert(invocation.webhook->id);
    ++at_;
    go_on();  // A step of its own: this one is not to be done again with it.
}

/// True when the patch made a difference.
bool Mutating::apply(const Invocation& invocation, const Verdict& verdict) {
    if (verdict.patch.empty()) return false;
    Reviewed& reviewed = round_.reviewed();
    if (reviewed.object.is_null()) {
        throw internal_error("admission webhook " + quoted(invocation.webhook->name()) +
                             " attempted to modify the object, which is not supported for this "
                             "operation");
    }
    auto patched = api::json_patch(invocation.shown, verdict.patch);
    if (const auto* problem = std::get_if<api::PatchError>(&patched))
        throw internal_error(problem->text);
    Value& changed = std::get<Value>(patched);
    // Who owns which field is not the webhook's to say.
    const Value& fields = invocation.shown["metadata"]["managedFields"];
    if (changed["metadata"].is_object() && !(changed["metadata"]["managedFields"] == fields)) {
        changed.at("metadata").erase("managedFields");
        if (!fields.is_null()) changed.at("metadata").set("managedFields", fields);
    }
    Value taken = reviewed.take(std::move(changed), invocation.as);
    const bool differs = !(taken == reviewed.object);
    reviewed.object = std::move(taken);
    return differs;
}

/// The validating webhooks of one request, all under way.
struct Validating {
    Round round;
    AfterReview after;
    std::vector<Invocation> invocations;
    std::vector<WebhookAnswer> answers;
    std::size_t left = 0;

    /// The first refusal in their order is the answer.
    void judge_all() {
        for (std::size_t i = 0; i < invocations.size(); ++i)
            (void)round.judge(invocations[i], answers[i]);
        guarded(round.exchange(), after.go_on, after.refuse);
    }
};

/// Those that may be concerned.
std::vector<WebhookPtr> hooks_for(const Context& context, const Reviewed& reviewed, Phase phase) {
    if (reviewed.show == nullptr || is_exempt(reviewed.resource)) return {};
    return context.webhooks.of(phase);
}

}  // namespace

void ask_mutating(Context& context, const ExchangePtr& exchange, const ReviewedPtr& reviewed,
                  AfterReview after) {
    auto hooks = hooks_for(context, *reviewed, Phase::mutating);
    if (hooks.empty()) return guarded(exchange, after.go_on, after.refuse);
    std::make_shared<Mutating>(Round(context, exchange, reviewed, Phase::mutating),
                               std::move(hooks), std::move(after))
        ->go_on();
}

void ask_validating(Context& context, const ExchangePtr& exchange, const ReviewedPtr& reviewed,
                    AfterReview after) {
    const auto hooks = hooks_for(context, *reviewed, Phase::validating);
    if (hooks.empty()) return guarded(exchange, after.go_on, after.refuse);
    const auto run = std::make_shared<Validating>(Validating{
        Round(context, exchange, reviewed, Phase::validating), std::move(after), {}, {}, 0});
    for (const WebhookPtr& webhook : hooks) {
        if (auto invocation = run->round.invocation_of(webhook))
            run->invocations.push_back(*std::move(invocation));
    }
    run->left = run->invocations.size();
    run->answers.resize(run->left);
    if (run->left == 0) return guarded(exchange, run->after.go_on, run->after.refuse);
    for (std::size_t i = 0; i < run->invocations.size(); ++i) {
        run->round.call(run->invocations[i], [run, i](WebhookAnswer answer) {
            run->answers[i] = std::move(answer);
            if (--run->left > 0) return;
            guarded(
                run->round.exchange(), [run] { run->judge_all(); }, run->after.refuse);
        });
    }
}

Value options_of_write(const net::Request& request, const std::string& kind) {
    Value options = Value::object({{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}});
    if (request.query_value("dryRun") == "All") options.set("dryRun", Value::array({"All"}));
    for (const char* field : {"fieldManager", "fieldValidation"}) {
        if (const std::string_view given = request.query_value(field); !given.empty())
            options.set(field, given);
    }
    return options;
}

}  // namespace muster::apiserver
