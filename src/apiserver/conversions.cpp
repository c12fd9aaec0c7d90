// apiserver/conversions.cpp - asks the webhook of a definition, and remembers what it said.
#include "apiserver/conversions.h"

#include <memory>
#include <utility>

#include "api/json.h"
#include "apiserver/conversion_review.h"
#include "apiserver/stored.h"
#include "apiserver/webhook_call.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr Duration patience = seconds(30);
constexpr int questions_max = 200;  // Of one exchange; a write needs a handful.

std::string api_version_of(const api::Kind& kind, std::string_view version) {
    return api::to_api_version({kind.group, std::string(version)});
}

/// Equal for objects that a webhook makes the same of: of the metadata it is only given back what
/// it may change.
std::string print_of(const Value& object, std::string_view wanted) {
    Value reduced = object;
    Value metadata = Value::object();
    for (const char* field : {"name", "namespace", "uid", "labels", "annotations"})
        metadata.set(field, object["metadata"][field]);
    reduced.set("metadata", std::move(metadata));
    return std::string(wanted) + "\n" + api::to_json(reduced);
}

StatusError failed(const std::string& text) {
    return StatusError(Reason::unnamed, text);
}

/// One question to the webhook of a kind, for all objects that are not known.
NotYetKnown question(Context& context, Exchange& exchange, const api::Kind& kind,
                     std::vector<Value> objects, const std::string& wanted) {
    auto review = std::make_shared<ConversionReview>();
    review->wanted = wanted;
    review->uid = context.random.uuid();
    review->objects = std::move(objects);
    const Value& webhook = *kind.conversion;
    const auto version = conversion_version(webhook["conversionReviewVersions"]);
    if (!version) throw failed("no supported conversion review versions");
    review->version = *version;
    if (exchange.conversions == nullptr)
        exchange.conversions = std::make_shared<KnownConversions>();
    // A webhook whose answers change with the hour could keep a write going for ever.
    if (++exchange.conversions->questions > questions_max)
        throw failed("conversion webhook for " + kind.kind + " is asked again and again");
    return {[&context, review, webhook = kind.conversion, known = exchange.conversions](
                NotYetKnown::Done again, NotYetKnown::Refuse refuse) {
        call_webhook(context, (*webhook)["clientConfig"], conversion_document(*review), patience,
                     [review, known, again = std::move(again),
                      refuse = std::move(refuse)](const WebhookAnswer& answer) {
                         if (const auto* why = std::get_if<std::string>(&answer)) {
                             refuse(failed(conversion_failure(*review, *why)));
                             return;
                         }
                         auto made = read_converted(*review, std::get<Value>(answer));
                         if (const auto* why = std::get_if<std::string>(&made)) {
                             refuse(failed(*why));
                             return;
                         }
                         auto& answers = std::get<std::vector<Value>>(made);
                         for (std::size_t i = 0; i < answers.size(); ++i) {
                             known->made[print_of(review->objects[i], review->wanted)] =
                                 std::move(answers[i]);
                         }
                         again();
                     });
    }};
}

const Value* find_known(const Exchange& exchange, const Value& object, const std::string& wanted) {
    if (exchange.conversions == nullptr) return nullptr;
    const auto found = exchange.conversions->made.find(print_of(object, wanted));
    return found == exchange.conversions->made.end() ? nullptr : &found->second;
}

bool is_in(const Value& object, const std::string& wanted) {
    return object["apiVersion"].text_or("") == wanted;
}

/// The object as the webhook made it, with the metadata that it has now.
Value converted(Context& context, Exchange& exchange, const api::Kind& kind, Value object,
                const std::string& wanted) {
    if (is_in(object, wanted)) return object;
    const Value* known = find_known(exchange, object, wanted);
    if (known == nullptr) throw question(context, exchange, kind, {std::move(object)}, wanted);
    Value made = *known;
    Value metadata = object["metadata"];
    for (const char* field : {"labels", "annotations"}) {
        if (made["metadata"][field].is_null()) {
            metadata.erase(field);
        } else {
            metadata.set(field, made["metadata"][field]);
        }
    }
    made.set("metadata", std::move(metadata));
    return made;
}

}  // namespace

Value shown_in(Context& context, Exchange& exchange, const api::Kind& kind, Value stored,
               std::string_view version) {
    if (!kind.by_webhook) return in_version(kind, std::move(stored), version);
    stored = converted(context, exchange, kind, std::move(stored), api_version_of(kind, version));
    if (is_stored_form(kind, version)) return stored;
    const api::Schema& schema = *kind.find_version(version)->schema;
    api::prune(schema, stored);
    api::apply_defaults(schema, stored);
    return stored;
}

Value stored_form(Context& context, Exchange& exchange, const api::Kind& kind, Value object) {
    if (!kind.by_webhook) return to_stored(kind, std::move(object));
    const std::string wanted = stored_api_version(kind);
    if (is_in(object, wanted)) return object;
    object = converted(context, exchange, kind, std::move(object), wanted);
    api::prune(*kind.stored_schema, object);
    return object;
}

void know_all(Context& context, Exchange& exchange, const api::Kind& kind,
              const std::vector<const Value*>& stored, std::string_view version) {
    if (!kind.by_webhook) return;
    const std::string wanted = api_version_of(kind, version);
    std::vector<Value> unknown;
    for (const Value* object : stored) {
        if (!is_in(*object, wanted) && find_known(exchange, *object, wanted) == nullptr)
            unknown.push_back(*object);
    }
    if (!unknown.empty()) throw question(context, exchange, kind, std::move(unknown), wanted);
}

}  // namespace muster::apiserver
