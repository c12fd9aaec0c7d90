// apiserver/read.h - get and list.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/exchange.h"
#include "apiserver/selector.h"

namespace muster::apiserver {

void serve_get(Context& context, const ExchangePtr& exchange);
void serve_list(Context& context, const ExchangePtr& exchange);

/// The selectors of a list, watch or deletecollection, and the prefix of keys they look at.
struct Selection {
    LabelSelector labels;
    FieldSelector fields;
    std::string prefix;

    static Selection of(const Exchange& exchange);
    bool needs_object() const { return !labels.empty() || fields.needs_object(); }
    bool matches(std::string_view key, const api::Value& object) const;
    bool matches(std::string_view key, const api::Value& object, const LabelIndex& index) const;
    /// False when the stored text shows that `matches` would be false.
    bool may_match(std::string_view json) const {
        return fields.may_match(json) && labels.may_match(json);
    }

private:
    bool fields_match(std::string_view key, const api::Value& object) const;
};

/// What a list found.
struct Page {
    std::vector<store::Entry> entries;
    store::Revision revision = 0;
    std::string next;                       // Where to go on; empty: this is all.
    std::optional<std::int64_t> remaining;  // How many more there are, when that is known.
};

/// The page that the request asks for: `limit`, `continue`, `resourceVersion`. With a limit it ends
/// before it has much more than 16 MiB of text. Throws StatusError (400, 410).
Page page_of(Context& context, const Exchange& exchange, const Selection& selection);

/// What a request asks for, in which form and at which revision: who asks for the same gets the
/// same.
std::string text_key(const Context& context, const Exchange& exchange, store::Revision revision);

/// The metadata of a list in its own kind. Lists of added kinds say `continue` also when it is
/// empty.
api::Value list_meta(const api::Kind& kind, const Page& page);

/// Calls `each` with every item of a page in the version of the exchange, in order. Only a few of
/// them are trees at the same time.
void for_shown_items(Context& context, Exchange& exchange, const Page& page,
                     const std::function<void(api::Value item)>& each);

/// Present objects that a selection selects, with their visible revision.
std::vector<store::Entry> selected_entries(Context& context, const Selection& selection);

/// A resourceVersion parameter. Absent when empty. Throws StatusError (400) when not a number.
std::optional<std::int64_t> requested_version(const net::Request& request);

/// Runs `then` once the visible revision is at least `version`; answers 504 when it is not within
/// three seconds.
void when_fresh(Context& context, const ExchangePtr& exchange, std::int64_t version,
                std::function<void()> then);

/// Runs `then` when a read may be answered: once the version that it names is visible, or, when it
/// names none, `staged`, the newest write that the server took before it of what it reads. Who
/// starts anew would otherwise not see what it did before, and do another thing as well.
void when_current(Context& context, const ExchangePtr& exchange, store::Revision staged,
                  std::function<void()> then);

}  // namespace muster::apiserver
