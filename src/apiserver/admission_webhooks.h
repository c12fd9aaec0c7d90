// apiserver/admission_webhooks.h - somebody's webhooks about one request: the mutating ones one
// after the other, the validating ones at once.
//
// Nothing waits: when no webhook is concerned, what comes next is run before the call returns; else
// when the answers are there. What comes next is a step of its own (guarded), and has to look again
// at whatever others may have changed meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/value.h"
#include "apiserver/exchange.h"
#include "apiserver/status_error.h"
#include "apiserver/webhook_rules.h"

namespace muster::apiserver {

/// What is asked about, and how its object looks to a webhook.
struct Reviewed {
    VersionedResource resource;
    std::vector<VersionedResource> equivalents;
    std::string operation;
    std::string subresource;
    std::string name;
    std::string ns;
    api::Value options;
    api::Value object;    // Null on DELETE. Mutating webhooks change it.
    api::Value old;       // Null on CREATE.
    bool waited = false;  // An answer came later: others may have been served meanwhile.

    /// Object or old object as a webhook sees it; and what it made of that, checked and with its
    /// defaults. Both may throw NotYetKnown and StatusError. Null: nobody was to be asked when the
    /// write began, and nobody is.
    std::function<api::Value(const api::Value& object, const VersionedResource& as, Phase phase)>
        show;
    std::function<api::Value(api::Value changed, const VersionedResource& as)> take;
    /// The server's own steps, once more, after a webhook has changed the object.
    std::function<void()> repeat_own_steps;
};
using ReviewedPtr = std::shared_ptr<Reviewed>;

/// What is done after the webhooks, or instead.
struct AfterReview {
    std::function<void()> go_on;
    std::function<void(const StatusError&)> refuse;
};

void ask_mutating(Context& context, const ExchangePtr& exchange, const ReviewedPtr& reviewed,
                  AfterReview after);
void ask_validating(Context& context, const ExchangePtr& exchange, const ReviewedPtr& reviewed,
                    AfterReview after);

/// CreateOptions, UpdateOptions or DeleteOptions as the query of a request gives them.
api::Value options_of_write(const net::Request& request, const std::string& kind);

}  // namespace muster::apiserver
