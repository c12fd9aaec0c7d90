// apiserver/watch.h - watches: changes of the store as a stream of events, encoded once for all
// watchers of the same form.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/exchange.h"
#include "apiserver/read.h"

namespace muster::apiserver {

/// Opens a watch for a request. Throws StatusError before anything is sent.
void serve_watch(Context& context, const ExchangePtr& exchange);

/// Ends the watches that lag most, when all together hold too much.
void end_laggards(Context& context);

/// One watcher. Lives in Context::watches from begin to end.
class WatchStream : public std::enable_shared_from_this<WatchStream> {
public:
    WatchStream(Context& context, ExchangePtr exchange);

    /// How the stream starts.
    struct Start {
        store::Revision since = 0;
        bool initial_events = false;  // First an ADDED for each present object.
        bool initial_bookmark = false;
    };
    void begin(const Start& start);
    /// Ends the stream as a whole answer.
    void end();
    /// Ends the stream of a client that does not read.
    void cut();
    /// Bytes that its client has not taken, initial events not counted.
    std::size_t lag() const;
    api::GroupResource resource() const { return exchange_->kind->resource(); }

private:
    void send_initial(const Start& start);
    std::string initial_line(const store::Entry& entry);
    std::shared_ptr<net::Rope> initial_lines(const std::vector<store::Entry>& entries);
    bool takes_stored_text() const;
    Bytes counted(std::string line) const;
    void take(const store::Change& change);
    using TreeOf = const api::Value& (WatchStream::*)(const store::Change&);
    /// Whether the object on one side of a change is selected; its text is null where there is
    /// none.
    bool selects(const store::Change& change, const Bytes& text, SharedChange::Side& side,
                 TreeOf tree_of);
    void send_event(std::string_view type, const store::Change& change);
    void send_bookmark(store::Revision seen, bool initial_events_end);
    store::Revision seen_now() const;
    void send_gone(store::Revision since);
    void write(Bytes line);
    void schedule_bookmark();
    void close();
    const api::Value& tree_after(const store::Change& change);
    const api::Value& tree_before(const store::Change& change);
    std::string encode(std::string_view type, const api::Value& stored, const Bytes& bytes);
    bool asks_webhook() const;
    void send_later(std::string_view type, api::Value stored);
    void send_queued();
    void send_trouble(const StatusError& error);

    /// An event whose object a webhook has still to convert.
    struct Queued {
        std::string type;
        api::Value stored;
        store::Revision seen = 0;  // All up to it was sent or queued before.
    };

    Context& context_;
    ExchangePtr exchange_;
    Selection selection_;
    std::string form_key_;  // Equal for streams whose lines are equal; its last character is free.
    std::optional<store::Store::WatchId> watch_;
    std::optional<Loop::TimerId> timeout_;
    std::optional<Loop::TimerId> bookmark_;
    store::Revision seen_ = 0;
    std::deque<Queued> queue_;
    net::Charge queued_;  // For the initial events in it.
    bool asking_ = false;
    bool first_row_ = true;  // The first event of a table carries the columns.
    bool ended_ = false;
};

}  // namespace muster::apiserver
