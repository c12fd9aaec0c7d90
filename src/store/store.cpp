// store/store.cpp - the state in memory, what is on its way to disk, and the telling of changes.
#include "store/store.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/verify.h"
#include "store/history.h"
#include "store/watch_table.h"

namespace muster::store {

struct Store::State {
    struct Pending {
        std::string key;
        Bytes value;
        Revision revision = 0;
        Done done;
    };

    State(std::unique_ptr<Journal> opened, HistoryLimits limits)
        : journal(std::move(opened)), visible_revision(load()), history(limits, visible_revision) {}

    Revision load();
    void make_visible(Pending pending);
    void commit_durable();

    std::unique_ptr<Journal> journal;
    // Each name is a view of its entry's own key.
    std::map<std::string_view, std::unique_ptr<Entry>> entries;
    Revision visible_revision = 0;
    History history;
    WatchTable watches;

    // Staged and not yet visible, in order, and the newest of them for each key.
    std::deque<Pending> pending;
    std::unordered_map<std::string, Entry> newest_staged;
    Revision staged_revision = visible_revision;

    // How many of `pending` are durable. They become visible one at a time, also when a watcher or
    // a `done` stages more and the journal is quick.
    std::size_t durable = 0;
    bool committing = false;
    // Ends with this state: what the journal posts later finds nobody.
    std::shared_ptr<State*> self = std::make_shared<State*>(this);
};

Revision Store::State::load() {
    return journal->load_all([this](Record record) {
        VERIFY(record.value != nullptr);
        auto entry = std::make_unique<Entry>(
            Entry{std::move(record.key), std::move(record.value), record.revision});
        const std::string_view name = entry->key;
        entries.emplace_hint(entries.end(), name, std::move(entry));
    });
}

void Store::State::commit_durable() {
    if (committing) return;
    committing = true;
    while (durable > 0) {
        --durable;
        Pending first = std::move(pending.front());
        pending.pop_front();
        make_visible(std::move(first));
    }
    committing = false;
}

void Store::State::make_visible(Pending write) {
    const auto staged = newest_staged.find(write.key);
    if (staged != newest_staged.end() && staged->second.revision == write.revision)
        newest_staged.erase(staged);
    visible_revision = write.revision;

    Change change{write.key, nullptr, write.value, write.revision, 0};
    const auto found = entries.find(write.key);
    if (found != entries.end()) {
        change.before = found->second->value;
        change.before_revision = found->second->revision;
    }
    if (!write.value) {
        entries.erase(found);
    } else if (found != entries.end()) {
        found->second->value = std::move(write.value);
        found->second->revision = write.revision;
    } else {
        auto entry = std::make_unique<Entry>(
            Entry{std::move(write.key), std::move(write.value), write.revision});
        const std::string_view name = entry->key;
        entries.emplace(name, std::move(entry));
    }
    history.add(change);
    watches.tell(change);
    if (write.done) write.done();
}

Store::Store(std::unique_ptr<Journal> journal, HistoryLimits limits)
    : state_(std::make_unique<State>(std::move(journal), limits)) {}

Store::~Store() = default;

Revision Store::revision() const {
    return state_->visible_revision;
}

Revision Store::next_revision() const {
    return state_->staged_revision + 1;
}

const Entry* Store::find(std::string_view key) const {
    const auto found = state_->entries.find(key);
    return found == state_->entries.end() ? nullptr : found->second.get();
}

Entry Store::newest(std::string_view key) const {
    const auto staged = state_->newest_staged.find(std::string(key));
    if (staged != state_->newest_staged.end()) return staged->second;
    if (const Entry* visible = find(key)) return *visible;
    return {std::string(key), nullptr, 0};
}

Revision Store::staged_under(std::string_view prefix) const {
    Revision newest = 0;
    for (const auto& [key, entry] : state_->newest_staged) {
        if (key.starts_with(prefix)) newest = std::max(newest, entry.revision);
    }
    return newest;
}

std::vector<Entry> Store::range(std::string_view prefix, std::string_view start_after,
                                std::size_t limit) const {
    const auto& entries = state_->entries;
    std::vector<Entry> found;
    auto at = start_after < prefix ? entries.lower_bound(prefix) : entries.upper_bound(start_after);
    for (; at != entries.end() && found.size() < limit && at->first.starts_with(prefix); ++at)
        found.push_back(*at->second);
    return found;
}

std::size_t Store::count(std::string_view prefix) const {
    std::size_t count = 0;
    for (auto at = state_->entries.lower_bound(prefix);
         at != state_->entries.end() && at->first.starts_with(prefix); ++at) {
        ++count;
    }
    return count;
}

Room Store::room() const {
    return state_->journal->room();
}

Staged Store::stage(std::string key, Bytes value, Revision expected, Done done) {
    const Entry before = newest(key);
    const Revision found = before.value ? before.revision : 0;
    if (found != expected || (!value && found == 0)) return Staged::conflict;
    const Revision revision = ++state_->staged_revision;
    state_->newest_staged[key] = Entry{key, value, revision};
    state_->pending.push_back({key, value, revision, std::move(done)});
    state_->journal->append({Record{std::move(key), std::move(value), revision}},
                            [self = std::weak_ptr<State*>(state_->self)] {
                                const std::shared_ptr<State*> state = self.lock();
                                if (!state) return;
                                ++(*state)->durable;
                                (*state)->commit_durable();
                            });
    return Staged::accepted;
}

std::optional<Store::WatchId> Store::watch(std::string prefix, Revision since, Watcher watcher) {
    if (since < oldest_watchable()) return std::nullopt;
    // What becomes durable while the past is told waits until the watcher is in the table.
    const bool outermost = !state_->committing;
    state_->committing = true;
    const Revision seen = std::max(since, revision());
    if (since < revision()) {
        state_->history.each_after(since, prefix, watcher);
    }
    const WatchId id = state_->watches.add(std::move(prefix), seen, std::move(watcher));
    if (outermost) {
        state_->committing = false;
        state_->commit_durable();
    }
    return id;
}

void Store::unwatch(WatchId watch) {
    state_->watches.remove(watch);
}

Revision Store::oldest_watchable() const {
    return state_->history.forgotten();
}

}  // namespace muster::store
