// apiserver/commit.h - the one way into the store: versions are given, indexes are told, answers
// wait for the disk.
#pragma once

#include <functional>
#include <string_view>

#include "api/kind.h"
#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// An object as it was written, in stored form, with its resourceVersion.
struct Committed {
    std::shared_ptr<const api::Value> object;
    Bytes bytes;
    store::Revision revision = 0;
};

/// The newest state of an object, staged writes included. A null object: absent.
struct Newest {
    api::Value object;
    Bytes bytes;
    store::Revision revision = 0;
};
Newest newest_of(Context& context, const api::Kind& kind, std::string_view ns,
                 std::string_view name);

/// Throws when the disk has no room for a write that somebody asks for. One that removes objects,
/// or brings one nearer to its end, is taken for longer.
enum class Purpose { write, removal };
void check_room(const Context& context, Purpose purpose);
/// Of a write of an object.
Purpose purpose_of(const api::Value& object);

/// Stages the object (stored form) over revision `expected` (0: it must be new) and calls `done`
/// once it is durable. Requires: `expected` is the newest revision.
void commit_put(Context& context, const api::Kind& kind, api::Value object,
                store::Revision expected, std::function<void(const Committed&)> done);

/// Stages the removal. `done` gets the removal's revision.
void commit_remove(Context& context, const api::Kind& kind, std::string_view ns,
                   std::string_view name, store::Revision expected,
                   std::function<void(store::Revision)> done);

/// Runs `then` when everything up to a revision is on disk; at once when it is.
void when_durable(Context& context, store::Revision revision, std::function<void()> then);

/// Tells the indexes about an object that was read at the start.
void index_object(Context& context, const std::string& key, const api::Value& object,
                  store::Revision revision);

/// Counts what was read at the start for the namespaces that it is in; Events are counted as their
/// index is told. Requires: nothing was written yet.
void count_stored(Context& context);

/// Puts the events that were read at the start in the order of their age, in which they go.
/// Requires: all are told, and none was written yet.
void order_events(Context& context);

/// Removes events that are older than an hour; called again and again by a timer.
void expire_events(Context& context);

}  // namespace muster::apiserver
