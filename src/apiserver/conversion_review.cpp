// apiserver/conversion_review.cpp - apiextensions.k8s.io ConversionReview, in the words of the
// reference.
#include "apiserver/conversion_review.h"

#include <utility>

#include "api/denial.h"
#include "api/field_error.h"
#include "api/json.h"
#include "api/label_rules.h"
#include "api/type_words.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Fault = std::optional<std::string>;

std::string named(const Value& object) {
    return object["apiVersion"].text() + ", Kind=" + object["kind"].text();
}

/// What of its identity a webhook may not touch.
Fault identity_fault(const Value& before, const Value& after) {
    const auto differs = [](const char* what, const Value& a, const Value& b) -> Fault {
        if (a.text_or("") == b.text_or("")) return std::nullopt;
        return std::string("must have the same ") + what + ": " + a.text() + " != " + b.text();
    };
    const Value& old = before["metadata"];
    const Value& now = after["metadata"];
    if (Fault fault = differs("name", old["name"], now["name"])) return fault;
    if (Fault fault = differs("namespace", old["namespace"], now["namespace"])) return fault;
    return differs("UID", old["uid"], now["uid"]);
}

/// Labels or annotations, which are the webhook's to change.
Fault take_texts(const char* field, const Value& given, Value& metadata) {
    if (given.is_null()) {
        metadata.erase(field);
        return std::nullopt;
    }
    const std::string at = std::string("metadata.") + field;
    if (!given.is_object())
        return "invalid " + at + " of type " + std::string(api::go_type(given)) +
               " in converted object";
    for (const auto& [key, value] : given.members()) {
        if (!value.is_string()) {
            return at + "[" + key + "] must be a string, but is " +
                   std::string(api::go_type(value)) + " in converted object";
        }
    }
    if (!(given == metadata[field])) {
        std::vector<api::FieldError> errors;
        const api::Path root;
        const api::Path path = root.child("metadata");
        if (at == "metadata.labels") {
            api::check_labels(given, path.child("labels"), errors);
        } else {
            api::check_annotations(given, path.child("annotation"), errors);
        }
        if (!errors.empty()) return api::joined(errors);
    }
    metadata.set(field, given);
    return std::nullopt;
}

/// The metadata that the object had, with the labels and annotations that came back.
Fault restore_metadata(const Value& before, Value& after) {
    if (!after.has("metadata")) return "missing metadata in converted object";
    const Value given = after["metadata"];
    if (!given.is_object())
        return "invalid metadata of type " + std::string(api::go_type(given)) +
               " in converted object";
    Value metadata = before["metadata"];
    for (const char* field : {"labels", "annotations"}) {
        if (Fault fault = take_texts(field, given[field], metadata)) return fault;
    }
    after.set("metadata", std::move(metadata));
    return std::nullopt;
}

Fault object_fault(const Value& before, const Value& after, const std::string& wanted) {
    if (!after.is_object()) return "it is not an object";
    if (after["apiVersion"].text_or("") != wanted) {
        return "invalid groupVersion (expected " + wanted + ", received " +
               after["apiVersion"].text() + ")";
    }
    if (!(after["kind"] == before["kind"])) {
        return "invalid kind (expected " + before["kind"].text() + ", received " +
               after["kind"].text() + ")";
    }
    return std::nullopt;
}

/// What the document as a whole says wrongly, after "failed: ".
Fault review_fault(const ConversionReview& review, const Value& answer) {
    const Value& response = answer["response"];
    if (review.version == "v1") {
        constexpr const char* wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview";
        std::string got = named(answer);
        if (answer["apiVersion"].text_or("").empty()) got = "/" + got;
        if (got != wanted)
            return std::string("expected webhook response of ") + wanted + ", got " + got;
    }
    if (!response.is_object()) return "no response provided";
    if (review.version == "v1" && response["uid"].text_or("") != review.uid) {
        return "expected response.uid=" + quoted(review.uid) + ", got " +
               quoted(response["uid"].text_or(""));
    }
    const Value& result = response["result"];
    if (result["status"].text_or("") == "Success") return std::nullopt;
    if (!result["message"].text_or("").empty()) return result["message"].text();
    return "response.result.status was '" + result["status"].text() + "', not 'Success'";
}

}  // namespace

std::optional<std::string> conversion_version(const Value& versions) {
    for (const Value& version : versions.items()) {
        const std::string_view text = version.text_or("");
        if (text == "v1" || text == "v1beta1") return std::string(text);
    }
    return std::nullopt;
}

Value conversion_document(const ConversionReview& review) {
    Value objects = Value::array();
    for (const Value& object : review.objects)
        objects.push(object);
    return Value::object({{"kind", "ConversionReview"},
                          {"apiVersion", "apiextensions.k8s.io/" + review.version},
                          {"request", Value::object({{"uid", review.uid},
                                                     {"desiredAPIVersion", review.wanted},
                                                     {"objects", std::move(objects)}})}});
}

std::string conversion_failure(const ConversionReview& review, std::string_view why) {
    return "conversion webhook for " + named(review.objects.front()) +
           " failed: " + std::string(why);
}

std::variant<std::vector<Value>, std::string> read_converted(const ConversionReview& review,
                                                             const Value& answer) {
    if (const Fault fault = review_fault(review, answer)) return conversion_failure(review, *fault);
    const std::string webhook = "conversion webhook for " + named(review.objects.front());
    const Value& converted = answer["response"]["convertedObjects"];
    if (converted.size() != review.objects.size()) {
        return webhook + " returned " + std::to_string(converted.size()) + " objects, expected " +
               std::to_string(review.objects.size());
    }
    std::vector<Value> made;
    for (std::size_t i = 0; i < converted.size(); ++i) {
        const bool alone = review.objects.size() == 1;
        const std::string invalid =
            webhook + " returned invalid " + (alone ? "" : "converted ") + "object";
        const std::string at = " at index " + std::to_string(i);
        const Value& before = review.objects[i];
        Value after = converted[i];
        if (after.is_object() && after["kind"].text_or("").empty()) {
            const std::string missing = "Object 'Kind' is missing in '" + api::to_json(after) + "'";
            return alone ? missing : invalid + at + ": " + missing;
        }
        if (const Fault fault = object_fault(before, after, review.wanted))
            return invalid + at + ": " + *fault;
        if (const Fault fault = identity_fault(before, after))
            return invalid + (alone ? "" : at) + ": " + *fault;
        if (const Fault fault = restore_metadata(before, after)) {
            return webhook + " returned invalid metadata" +
                   (alone ? std::string() : " in object" + at) + ": " + *fault;
        }
        made.push_back(std::move(after));
    }
    return made;
}

}  // namespace muster::apiserver
