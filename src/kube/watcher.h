// kube/watcher.h - keeps one resource in view: first all objects, then each change, healed after
// any failure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/loop.h"
#include "kube/cache.h"
#include "kube/request.h"
#include "kube/transport.h"

namespace muster::kube {

/// What a watcher tells. After the first `synced`, a broken watch that has to start anew tells only
/// differences.
struct WatchEvents {
    std::function<void(ObjectPtr)> applied;                              // Created or changed.
    std::function<void(const api::Key&, std::int64_t version)> removed;  // Version of the removal.
    std::function<void()> synced;  // All present objects were told. Once.
    /// After each list of all objects, when set: its version and what was in it. Whatever one holds
    /// of that version or older and is not in it is gone, also if no watch ever told of it.
    std::function<void(std::int64_t version, const std::function<bool(const api::Key&)>& has)>
        listed = {};
    /// Set (with `listed`) by who holds the objects; then the watcher keeps no books of its own of
    /// what it has told, and `removed` is only for what a watch tells. Asked before a change is
    /// read whole. No: this version of it or a newer one is held (by an answer to a write, or
    /// because it was told), and `applied` is not called.
    std::function<bool(const api::Key&, std::int64_t version)> is_news = {};
    /// Before `listed`, when set (needed with `is_news`): the server is older than what it has told
    /// before, for it was restored from a backup. Versions that were held mean nothing any more:
    /// each object of the list that follows is news.
    std::function<void()> rewound = {};
    /// Instead of `applied`, when set: a watch told a change that was no news; its version.
    std::function<void(std::int64_t version)> passed = {};
};

/// Watches one resource for as long as it lives. States: empty (nothing seen: asks for all
/// objects), listing (they arrive into a side buffer, swapped in whole at their end), watching
/// (changes arrive), waiting (after a failure, before the next try). An expired version (410) goes
/// back to empty, and so does one that the server has not reached (ResourceVersionTooLarge). A
/// server that refuses to stream all objects is asked for pages of them.
///
/// A watch from a version that the server has not reached is silent until it has. So whoever could
/// not reach the server is asked first, before a watch goes on, whether it has come that far: it
/// may be back with an older state.
///
/// A resource that the server does not have (404) counts as seen and empty, and is asked for again
/// from time to time: it may come later.
class Watcher {
public:
    Watcher(Transport& transport, Loop& loop, Target target, WatchEvents events);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    void start();
    void stop();

    /// Why nothing is heard of the resource now; empty: it is, or the server never had it.
    const std::string& trouble() const { return trouble_; }

private:
    enum class State { empty, listing, checking, watching, waiting, stopped };
    enum class Listing { streamed, paged };
    using Place = std::pair<Symbol, std::string>;
    using Told = std::map<Place, std::int64_t>;  // Versions.

    void open();
    void open_stream();
    void ask_whether_reached();
    void ask_page(const std::string& token);
    void take_page(const net::Response& page);
    void take_items(api::Value& list);
    void take_head(const net::Response& head);
    void take_refusal(const net::Response& answer);
    void take_not_reached();
    void forget_version();
    void take_closed();
    void take_piece(std::string_view piece);
    bool take_line(std::string_view line);
    bool wants(const api::WatchEvent& head);
    void take_object(std::string_view type, api::Value value);
    void take_change(std::string_view type, ObjectPtr object);
    bool is_news(const Object& object, const Told& told) const;
    void finish_listing(std::int64_t version);
    void tell_synced();
    void guard_listing();
    void break_off(const std::string& why);
    void retry();
    void take_absence();
    void lose(const std::string& why);
    void regain();
    void warn(const std::string& text) const;

    Transport& transport_;
    Loop& loop_;
    Target target_;
    WatchEvents events_;
    State state_ = State::empty;
    Listing listing_ = Listing::streamed;
    std::string version_;      // Of the newest event; empty: start from all objects.
    std::int64_t newest_ = 0;  // The version_ that was forgotten: no list is older, unless the
                               // server is.
    std::string partial_;  // The beginning of a line whose end has not come yet; of a refusal, all.
    std::map<Place, ObjectPtr> listed_;
    Told told_;  // And not removed, to tell removals after a relist.
    Transport::StreamId stream_{};
    bool open_ = false;
    bool refused_ = false;  // The stream's head was no 200: what follows are no events.
    bool doubted_ = false;  // It may be another server, or an older state, that answers next.
    bool told_synced_ = false;
    bool was_there_ = false;  // The server has had the resource.
    std::string trouble_;
    int failures_ = 0;
    std::int64_t attempt_ = 0;  // Answers and timers of an earlier one are ignored.
    std::int64_t heard_ = 0;    // Counts what came, so that silence shows.
    Duration wait_at_least_{};  // Before the next try, as the server asked.
    std::shared_ptr<int> alive_ =
        std::make_shared<int>(0);  // Guards timers that outlive the watcher.
};

}  // namespace muster::kube
