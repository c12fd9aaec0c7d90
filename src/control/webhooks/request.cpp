// control/webhooks/request.cpp - the frame of a review.
#include "control/webhooks/request.h"

#include <utility>

#include "api/json.h"

namespace muster::control::webhooks {

std::variant<api::Value, std::string> request_in(std::string_view body, std::string_view kind,
                                                 std::string_view api_version) {
    auto parsed = api::parse_json(body);
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        return "the body is not JSON: " + error->text;
    api::Value& review = std::get<api::Parsed>(parsed).value;
    if (review["apiVersion"].text_or("") != api_version || review["kind"].text_or("") != kind) {
        return "the body is no " + std::string(kind) + " of " + std::string(api_version);
    }
    if (review["request"]["uid"].text_or("").empty())
        return "the " + std::string(kind) + " has no request with a uid";
    return std::move(review.at("request"));
}

}  // namespace muster::control::webhooks
