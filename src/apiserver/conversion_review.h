// apiserver/conversion_review.h - the ConversionReview that goes to the webhook of a definition,
// and what its answer is worth.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/value.h"

namespace muster::apiserver {

/// The document; absent when the webhook understands no version of it that is known.
struct ConversionReview {
    std::string version;  // Of the review: "v1", "v1beta1".
    std::string uid;
    std::string wanted;               // An apiVersion.
    std::vector<api::Value> objects;  // None of which has that.
};
std::optional<std::string> conversion_version(const api::Value& versions);
api::Value conversion_document(const ConversionReview& review);

/// The objects in the version that was wanted, in order, or why they are not to be had. Of their
/// metadata only labels and annotations are the webhook's.
std::variant<std::vector<api::Value>, std::string> read_converted(const ConversionReview& review,
                                                                  const api::Value& answer);

/// "conversion webhook for stable.example.com/v1, Kind=CronTab failed: ..."
std::string conversion_failure(const ConversionReview& review, std::string_view why);

}  // namespace muster::apiserver
