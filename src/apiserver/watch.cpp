// apiserver/watch.cpp - the life of a watch stream.
#include "apiserver/watch.h"

#include <algorithm>
#include <utility>

#include "api/json.h"
#include "apiserver/answer.h"
#include "apiserver/conversions.h"
#include "apiserver/request_options.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "apiserver/table.h"
#include "apiserver/turns.h"
#include "base/log.h"
#include "base/text.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr Duration bookmark_every = seconds(60);
constexpr std::int64_t longest_life = 7 * 24 * 3600;
constexpr std::string_view initial_end = "INITIAL END";  // Among queued events: that bookmark.
constexpr int least_life = 1800;  // Seconds; without timeoutSeconds up to twice as long.

std::string event_line(std::string_view type, std::string_view object) {
    std::string line = "{\"type\":\"";
    line.reserve(object.size() + 40);
    line += type;
    line += "\",\"object\":";
    while (!object.empty() && object.back() == '\n')
        object.remove_suffix(1);
    line += object;
    line += "}\n";
    return line;
}

/// The object as a removal shows it: its last state, in the version of the removal.
Value removed(Value object, store::Revision revision) {
    object.at("metadata").set("resourceVersion", std::to_string(revision));
    return object;
}

Duration life_of(Context& context, const net::Request& request) {
    const auto given = query_number(request, "timeoutSeconds");
    if (given && *given > 0) return seconds(std::min<std::int64_t>(*given, longest_life));
    return seconds(least_life + static_cast<std::int64_t>(context.random.below(least_life)));
}

WatchStream::Start start_of(Context& context, const net::Request& request) {
    WatchStream::Start start;
    const auto version = requested_version(request);
    const bool from_now = !version || *version == 0;
    start.initial_events = request.has_query("sendInitialEvents")
                               ? net::query_flag(request, "sendInitialEvents")
                               : from_now;
    start.initial_bookmark =
        start.initial_events && net::query_flag(request, "allowWatchBookmarks");
    start.since = from_now || start.initial_events ? context.store.revision() : *version;
    return start;
}

}  // namespace

void serve_watch(Context& context, const ExchangePtr& exchange) {
    check_list_options(exchange->request);
    static_cast<void>(start_of(context, exchange->request));  // Refuse before waiting.
    auto stream = std::make_shared<WatchStream>(context, exchange);
    const auto begin = [&context, exchange, stream] {
        stream->begin(start_of(context, exchange->request));
    };
    if (net::query_flag(exchange->request, "sendInitialEvents")) {
        const std::string prefix = Selection::of(*exchange).prefix;
        when_current(context, exchange, context.store.staged_under(prefix), begin);
    } else {
        when_fresh(context, exchange, 0, begin);
    }
}

/// All watchers together hold too much: those that lag by more than a fair part of it are ended,
/// from the loop and not now, when the store may be in the middle of telling its watchers.
void end_laggards(Context& context) {
    if (std::exchange(context.ending_laggards, true)) return;
    context.loop.post([&context, alive = std::weak_ptr<int>(context.alive)] {
        if (alive.expired()) return;
        context.ending_laggards = false;
        std::vector<std::shared_ptr<WatchStream>> laggards;
        std::size_t most = 0;
        for (const auto& watch : context.watches)
            most = std::max(most, watch->lag());
        for (const auto& watch : context.watches) {
            if (watch->lag() > 0 && watch->lag() >= most / 2) laggards.push_back(watch);
        }
        for (const auto& watch : laggards)
            watch->cut();
    });
}

WatchStream::WatchStream(Context& context, ExchangePtr exchange)
    : context_(context), exchange_(std::move(exchange)), selection_(Selection::of(*exchange_)) {
    const Form& form = exchange_->form;
    if (form.yaml) throw StatusError(Reason::not_acceptable, "a watch is streamed as JSON only");
    form_key_ = exchange_->kind->group + "/" + exchange_->version->name + "/" + form.meta_version +
                "/" + std::to_string(static_cast<int>(form.shape)) +
                std::to_string(static_cast<int>(form.include)) + "?";
}

void WatchStream::begin(const Start& start) {
    const Duration life = life_of(context_, exchange_->request);
    net::Response head;
    head.headers.add("Content-Type", content_type(exchange_->form));
    head.headers.add("Cache-Control", "no-cache, private");
    head.account = exchange_->account;
    head.shares_pieces = true;
    const auto self = shared_from_this();
    context_.watches.insert(self);
    exchange_->answered = true;
    exchange_->responder->begin(std::move(head));
    exchange_->responder->on_closed([weak = weak_from_this()] {
        if (const auto stream = weak.lock()) stream->close();
    });
    seen_ = start.since;
    if (start.initial_events) send_initial(start);
    if (ended_) return;  // The client was gone before it began.
    watch_ = context_.store.watch(selection_.prefix, start.since,
                                  [weak = weak_from_this()](const store::Change& change) {
                                      if (const auto stream = weak.lock()) stream->take(change);
                                  });
    if (!watch_) {
        send_gone(start.since);
        return;
    }
    timeout_ = context_.loop.after(life, [weak = weak_from_this()] {
        const auto stream = weak.lock();
        if (stream == nullptr) return;
        stream->timeout_.reset();
        stream->end();
    });
    if (net::query_flag(exchange_->request, "allowWatchBookmarks")) schedule_bookmark();
}

void WatchStream::send_initial(const Start& start) {
    const std::vector<store::Entry> entries = selected_entries(context_, selection_);
    if (asks_webhook()) {
        // Trees take a multiple of their text.
        constexpr std::size_t tree_factor = 6;
        queued_ = net::Charge(exchange_->account, nullptr);
        for (const store::Entry& entry : entries) {
            queued_.add(tree_factor * entry.value->size());
            send_later("ADDED", read_stored(*entry.value));
        }
    } else if (!exchange_->request.charge) {
        for (const store::Entry& entry : entries)
            write(make_bytes(initial_line(entry)));
    } else if (!entries.empty()) {
        const std::string key =
            "watch " + text_key(context_, *exchange_, context_.store.revision());
        exchange_->responder->write_rope(
            shared_text(context_, *exchange_, key, [&] { return initial_lines(entries); }));
        first_row_ = false;
    }
    if (start.initial_bookmark && asks_webhook()) {
        send_later(initial_end, {});
    } else if (start.initial_bookmark) {
        send_bookmark(seen_now(), true);
    }
}

std::string WatchStream::initial_line(const store::Entry& entry) {
    const Value tree = takes_stored_text() ? Value() : read_stored(*entry.value);
    return encode("ADDED", tree, entry.value);
}

/// The events of present objects, of which all who begin the same watch now send the same.
std::shared_ptr<net::Rope> WatchStream::initial_lines(const std::vector<store::Entry>& entries) {
    auto lines = std::make_shared<net::Rope>();
    for (const store::Entry& entry : entries) {
        if (!takes_stored_text()) {
            lines->add(initial_line(entry));
            continue;
        }
        const std::size_t size = entry.value->find_last_not_of('\n') + 1;
        lines->add("{\"type\":\"ADDED\",\"object\":");
        lines->add(entry.value, size);
        lines->add("}\n");
    }
    return lines;
}

bool WatchStream::takes_stored_text() const {
    return exchange_->form.shape == Form::Shape::object &&
           is_stored_form(*exchange_->kind, exchange_->version->name);
}

/// Changes become visible and are sent or queued in the same step, so the store's revision is
/// always such that all up to it was.
store::Revision WatchStream::seen_now() const {
    return std::max(seen_, context_.store.revision());
}

void WatchStream::schedule_bookmark() {
    bookmark_ = context_.loop.after(bookmark_every, [weak = weak_from_this()] {
        const auto stream = weak.lock();
        if (stream == nullptr || stream->ended_) return;
        if (stream->queue_.empty()) stream->send_bookmark(stream->seen_now(), false);
        stream->schedule_bookmark();
    });
}

/// A bookmark says that everything up to a revision has been sent.
void WatchStream::send_bookmark(store::Revision seen, bool initial_events_end) {
    const api::Kind& kind = *exchange_->kind;
    const std::string revision = std::to_string(seen);
    Value metadata = Value::object({{"resourceVersion", revision}});
    if (initial_events_end) {
        metadata.set("annotations", Value::object({{"k8s.io/initial-events-end", "true"}}));
    }
    Value object;
    if (exchange_->form.shape == Form::Shape::table) {
        object = empty_table(kind, *exchange_->version, exchange_->form);
        object.set("metadata", metadata);
    } else {
        const bool whole = exchange_->form.shape == Form::Shape::object;
        object = Value::object(
            {{"kind", whole ? kind.kind : std::string("PartialObjectMetadata")},
             {"apiVersion", whole ? api::to_api_version({kind.group, exchange_->version->name})
                                  : "meta.k8s.io/" + exchange_->form.meta_version},
             {"metadata", metadata}});
    }
    write(make_bytes(event_line("BOOKMARK", api::to_json(object))));
}

void WatchStream::send_gone(store::Revision since) {
    const StatusError error = expired("too old resource version: " + std::to_string(since) + " (" +
                                      std::to_string(context_.store.oldest_watchable()) + ")");
    write(make_bytes(event_line("ERROR", api::to_json(status_of(error)))));
    end();
}

const Value& WatchStream::tree_after(const store::Change& change) {
    std::shared_ptr<const Value>& tree = context_.shared.after.tree;
    if (tree == nullptr) {
        const auto fresh = context_.fresh_trees.find(change.revision);
        tree = fresh != context_.fresh_trees.end()
                   ? fresh->second
                   : std::make_shared<const Value>(read_stored(*change.after));
    }
    return *tree;
}

const Value& WatchStream::tree_before(const store::Change& change) {
    std::shared_ptr<const Value>& tree = context_.shared.before.tree;
    if (tree == nullptr) tree = std::make_shared<const Value>(read_stored(*change.before));
    return *tree;
}

/// The first watches of a change look through its text, which is quicker than parsing. When it is
/// parsed, or there are many of them, they share the tree and its labels.
bool WatchStream::selects(const store::Change& change, const Bytes& text, SharedChange::Side& side,
                          TreeOf tree_of) {
    constexpr int looks_max = 4;
    if (text == nullptr) return false;
    if (!selection_.needs_object()) return selection_.matches(change.key, {});
    const bool looks_through = side.tree == nullptr && ++side.looks <= looks_max;
    if (looks_through && !selection_.may_match(*text)) return false;
    const Value& tree = (this->*tree_of)(change);
    if (!side.labels) side.labels.emplace(tree["metadata"]["labels"]);
    return selection_.matches(change.key, tree, *side.labels);
}

void WatchStream::take(const store::Change& change) {
    if (ended_ || change.revision <= seen_) return;
    seen_ = change.revision;
    if (context_.shared.revision != change.revision) {
        context_.shared = SharedChange{};
        context_.shared.revision = change.revision;
    }
    SharedChange& shared = context_.shared;
    const bool was = selects(change, change.before, shared.before, &WatchStream::tree_before);
    const bool is = selects(change, change.after, shared.after, &WatchStream::tree_after);
    if (is) {
        send_event(was ? "MODIFIED" : "ADDED", change);
    } else if (was) {
        send_event("DELETED", change);
    }
}

void WatchStream::send_event(std::string_view type, const store::Change& change) {
    if (asks_webhook()) {
        send_later(type, type == "DELETED" ? removed(tree_before(change), change.revision)
                                           : tree_after(change));
        return;
    }
    const bool shareable = exchange_->form.shape != Form::Shape::table || !first_row_;
    form_key_.back() = type.front();
    if (shareable) {
        const auto found = context_.shared.lines.find(form_key_);
        if (found != context_.shared.lines.end()) {
            write(found->second);
            return;
        }
    }
    Bytes line;
    if (type == "DELETED") {
        line = counted(encode(type, removed(tree_before(change), change.revision), nullptr));
    } else if (takes_stored_text()) {
        line = counted(event_line(type, *change.after));
    } else {
        line = counted(encode(type, tree_after(change), change.after));
    }
    if (shareable) context_.shared.lines.emplace(form_key_, line);
    write(std::move(line));
}

std::string WatchStream::encode(std::string_view type, const Value& stored, const Bytes& bytes) {
    const Form& form = exchange_->form;
    const bool as_stored = is_stored_form(*exchange_->kind, exchange_->version->name);
    if (bytes != nullptr && as_stored && form.shape == Form::Shape::object) {
        return event_line(type, *bytes);
    }
    Value object =
        shown_in(context_, *exchange_, *exchange_->kind, stored, exchange_->version->name);
    object = shaped(*exchange_, std::move(object), context_.loop.now());
    if (form.shape == Form::Shape::table && !std::exchange(first_row_, false)) {
        object.erase("columnDefinitions");
        object.set("columnDefinitions", Value());
    }
    return event_line(type, api::to_json(object));
}

/// Bytes that count as backlog until the last watcher has sent them.
Bytes WatchStream::counted(std::string line) const {
    struct Counted {
        Counted(std::string the_line, std::shared_ptr<std::atomic<std::size_t>> all)
            : line(std::move(the_line)), backlog(std::move(all)) {
            *backlog += line.size();
        }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
        ~Counted() { *backlog -= line.size(); }
        std::string line;
        std::shared_ptr<std::atomic<std::size_t>> backlog;
    };
    const auto held = std::make_shared<const Counted>(std::move(line), context_.backlog);
    return {held, &held->line};
}

/// Stored bytes are not what this client gets, and only a webhook knows what he does.
bool WatchStream::asks_webhook() const {
    return exchange_->kind->by_webhook &&
           !is_stored_form(*exchange_->kind, exchange_->version->name);
}

void WatchStream::send_later(std::string_view type, Value stored) {
    queue_.push_back({std::string(type), std::move(stored), seen_now()});
    if (std::exchange(asking_, true)) return;
    // In its own time: what happens at once is converted at once.
    context_.loop.post([weak = weak_from_this()] {
        if (const auto stream = weak.lock()) stream->send_queued();
    });
}

/// Sends what is queued, in order, once all of it is converted; what comes meanwhile is next.
void WatchStream::send_queued() {
    if (ended_) return;
    exchange_->conversions = nullptr;
    const auto send = [weak = weak_from_this(), count = queue_.size()] {
        const auto stream = weak.lock();
        if (stream == nullptr || stream->ended_) return;
        std::vector<const Value*> objects;
        for (std::size_t i = 0; i < count; ++i) {
            if (stream->queue_[i].type != initial_end) objects.push_back(&stream->queue_[i].stored);
        }
        know_all(stream->context_, *stream->exchange_, *stream->exchange_->kind, objects,
                 stream->exchange_->version->name);
        for (std::size_t i = 0; i < count; ++i) {
            const Queued next = std::move(stream->queue_.front());
            stream->queue_.pop_front();
            if (next.type == initial_end) {
                stream->send_bookmark(next.seen, true);
            } else {
                stream->write(make_bytes(stream->encode(next.type, next.stored, nullptr)));
            }
            if (stream->ended_) return;
        }
        stream->asking_ = !stream->queue_.empty();
        if (!stream->asking_) stream->queued_.clear();
        if (stream->asking_) stream->send_queued();
    };
    guarded(exchange_, send, [weak = weak_from_this()](const StatusError& error) {
        if (const auto stream = weak.lock()) stream->send_trouble(error);
    });
}

/// The client has to begin anew: an event that cannot be shown may not be left out.
void WatchStream::send_trouble(const StatusError& error) {
    write(make_bytes(event_line("ERROR", api::to_json(status_of(error)))));
    end();
}

void WatchStream::write(Bytes line) {
    if (ended_) return;
    exchange_->responder->write(std::move(line));
    // Our own controllers share these bytes; to show them everything anew would cost far more than
    // they lag behind.
    if (exchange_->request.peer.trusted) return;
    if (*context_.backlog > context_.options.watch_backlog_limit) end_laggards(context_);
    if (exchange_->responder->buffered() <= context_.options.watch_buffer_limit) return;
    // Not now: the store may be in the middle of telling its watchers.
    context_.loop.post([weak = weak_from_this()] {
        if (const auto stream = weak.lock()) stream->cut();
    });
}

std::size_t WatchStream::lag() const {
    return exchange_->request.peer.trusted ? 0 : exchange_->responder->buffered();
}

/// Ends the stream of a client that does not read; what it has not taken is dropped.
void WatchStream::cut() {
    if (ended_) return;
    log_warning("apiserver", "a watcher of " + exchange_->kind->plural + " (" +
                                 exchange_->user.name + ") does not read; its watch is ended");
    const auto self = shared_from_this();
    const ExchangePtr exchange = exchange_;
    close();
    exchange->responder->cut();
}

void WatchStream::end() {
    if (ended_) return;
    const auto self = shared_from_this();
    const ExchangePtr exchange = exchange_;
    close();
    exchange->responder->finish();
}

void WatchStream::close() {
    if (std::exchange(ended_, true)) return;
    if (watch_) context_.store.unwatch(*watch_);
    if (timeout_) context_.loop.cancel(*timeout_);
    if (bookmark_) context_.loop.cancel(*bookmark_);
    context_.watches.erase(shared_from_this());
}

}  // namespace muster::apiserver
