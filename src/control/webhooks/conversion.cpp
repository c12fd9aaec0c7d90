// control/webhooks/conversion.cpp - conversion in the words of apiextensions.k8s.io/v1.
#include "control/webhooks/conversion.h"

#include <string>
#include <utility>
#include <variant>

#include "api/kind.h"
#include "api/status.h"
#include "base/text.h"
#include "control/webhooks/request.h"

namespace muster::control::webhooks {
namespace {

using api::Value;

/// Either the object in the wanted version, or why it cannot be had.
std::variant<Value, std::string> converted(const Value& object, const std::string& wanted) {
    const auto from = api::parse_group_version(object["apiVersion"].text_or(""));
    const auto to = api::parse_group_version(wanted);
    const std::string kind_name = object["kind"].text();
    const api::Kind* kind = api::find_kind_named(from.group, kind_name);
    if (kind == nullptr || !kind->custom)
        return "objects of kind " + quoted(kind_name) + " of " + quoted(from.group) +
               " are unknown";
    if (to.group != from.group)
        return "an object of " + quoted(from.group) + " cannot become one of " + quoted(to.group);
    for (const std::string& version : {from.version, to.version}) {
        if (kind->find_version(version) == nullptr)
            return "a " + kind->kind + " has no version " + quoted(version);
    }
    if (from.version == to.version) return object;
    Value made = kind->convert == nullptr ? object : kind->convert(object, to.version);
    made.set("apiVersion", wanted);
    return made;
}

Value answer(const Value& uid, Value result, Value objects) {
    return Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                          {"kind", "ConversionReview"},
                          {"response", Value::object({{"uid", uid},
                                                      {"convertedObjects", std::move(objects)},
                                                      {"result", std::move(result)}})}});
}

Converted malformed(const std::string& text) {
    return {reason_code(Reason::bad_request), api::failure_status(Reason::bad_request, text)};
}

}  // namespace

Converted convert(std::string_view body) {
    const auto read = request_in(body, "ConversionReview", "apiextensions.k8s.io/v1");
    if (const auto* fault = std::get_if<std::string>(&read)) return malformed(*fault);
    const Value& request = std::get<Value>(read);
    const Value& uid = request["uid"];
    Value objects = Value::array();
    for (const Value& object : request["objects"].items()) {
        auto made = converted(object, request["desiredAPIVersion"].text());
        if (auto* fault = std::get_if<std::string>(&made)) {
            const std::string name = object["metadata"]["name"].text();
            return {200, answer(uid, api::failure_status(Reason::invalid, name + ": " + *fault),
                                Value::array())};
        }
        objects.push(std::move(std::get<Value>(made)));
    }
    return {200, answer(uid, Value::object({{"status", "Success"}}), std::move(objects))};
}

}  // namespace muster::control::webhooks
