// api/denial.cpp - refusals in the name of a webhook.
#include "api/denial.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace muster::api {

std::string joined(const std::vector<FieldError>& errors) {
    std::vector<std::string> texts;
    std::set<std::string> told;
    for (const FieldError& error : errors) {
        std::string text = error.field + ": " + error.text;
        if (told.insert(text).second) texts.push_back(std::move(text));
    }
    return texts.size() == 1 ? texts.front() : "[" + join(texts, ", ") + "]";
}

Value details_with(const std::vector<FieldError>& causes) {
    if (causes.empty()) return {};
    Value list = Value::array();
    for (const FieldError& error : causes) {
        list.push(Value::object(
            {{"reason", error.reason}, {"message", error.text}, {"field", error.field}}));
    }
    return Value::object({{"causes", std::move(list)}});
}

bool is_validating(const Admission::Denial& denied) {
    return denied.webhook.starts_with('v');
}

Admission::Denial denial_by(std::string webhook, std::vector<FieldError> errors) {
    Admission::Denial denial;
    denial.text = joined(errors);
    denial.causes = std::move(errors);
    denial.webhook = std::move(webhook);
    return denial;
}

std::optional<Admission::Denial> denial_of_kind(const Kind& kind, const Value& object,
                                                const Value& old) {
    if (!kind.custom || kind.validate == nullptr) return std::nullopt;
    // Who lets go of what is leaving does not answer for a rule that is younger than it.
    const bool is_leaving = !old.is_null() && !object["metadata"]["deletionTimestamp"].is_null();
    if (is_leaving && object["spec"] == old["spec"] && object["status"] == old["status"])
        return std::nullopt;
    std::vector<FieldError> errors = kind.validate(object, old.is_null() ? nullptr : &old);
    if (errors.empty()) return std::nullopt;
    return denial_by("v" + kind.singular + ".kb.io", std::move(errors));
}

}  // namespace muster::api
