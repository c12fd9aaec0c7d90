// apiserver/admission_review.h - the AdmissionReview that goes to a webhook, and what its answer
// says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/patch.h"
#include "api/value.h"
#include "apiserver/user.h"
#include "apiserver/webhook_rules.h"

namespace muster::apiserver {

/// A request as a webhook hears of it.
struct ReviewRequest {
    std::string uid;  // Of the question, not of the object; empty in match conditions.
    VersionedResource as;
    VersionedResource resource;  // As the client asked.
    std::string subresource;
    std::string name;
    std::string ns;
    std::string operation;
    bool dry_run = false;
    api::Value options;  // Null for a connection.
};

/// The request of a review, without its objects.
api::Value review_request(const ReviewRequest& request, const User& user);

/// The first of a webhook's versions of reviews that is known: "v1", "v1beta1"; absent: none is.
std::optional<std::string> review_version(const api::Value& versions);

/// The document. `request` is completed by the objects, null when there is none.
api::Value admission_review(const std::string& version, api::Value request, api::Value object,
                            api::Value old_object);

/// What a webhook said.
struct Verdict {
    bool allowed = false;
    api::Value result;  // A Status or null.
    std::vector<std::string> warnings;
    api::Value patch;         // Operations; null: none.
    std::string patch_fault;  // It cannot be read, or is of a type that nobody knows.
};

/// What the document that came back says, or why it says nothing.
std::variant<Verdict, std::string> read_verdict(const api::Value& review,
                                                const std::string& version, Phase phase,
                                                const std::string& uid);

/// The Status of a refusal.
api::Value refusal_of(const std::string& webhook, const api::Value& result);

}  // namespace muster::apiserver
