// apiserver/reviews.h - objects that are asked, not kept: who am I, may I, who is this.
#pragma once

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// The kind of a review at a path; null when the path is none.
const api::Kind* find_review(const Route& route);

/// POST of an access review, a TokenReview or a SelfSubjectReview.
void serve_review(Context& context, const ExchangePtr& exchange, const api::Kind& kind);

}  // namespace muster::apiserver
