// control/writer.h - sends one write to the API server and says what came of it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "control/controller.h"
#include "kube/cache.h"
#include "kube/request.h"
#include "kube/transport.h"

namespace muster::control {

/// What came of a write.
struct Outcome {
    enum class Kind {
        written,     // `object` is what the server has now (null when it did not say).
        removed,     // It is gone from the API.
        vanished,    // There was nothing to change: not found.
        conflicted,  // Somebody else was quicker; seen soon.
        refused,     // The server will refuse it again: invalid, forbidden, unknown namespace.
        failed,      // Unreachable, overloaded, broken: try again.
    };
    Kind kind = Kind::failed;
    kube::ObjectPtr object;
    int code = 0;
    std::string reason;
    std::string message;
    Duration wait;         // Of a failure: it is not to be tried again before, as the server asked.
    bool is_busy = false;  // The server has no time for anybody, as far as it says.
};

/// Sends writes under a field manager. Lives on the runner's loop.
class Writer {
public:
    explicit Writer(kube::Transport& transport) : transport_(transport) {}

    /// `done` runs later, once. `version_seen` is the version in which the cache holds the
    /// resource; an answer in another version is not handed out as an object.
    void send(const Write& write, std::string_view manager, std::string_view version_seen,
              std::function<void(Outcome)> done);

    /// Reads one object from the server: written (`object` is set), vanished, or a failure.
    void look(const api::Key& key, std::string_view version_seen,
              std::function<void(Outcome)> done);

private:
    void compare_existing(const Write& write, const kube::Target& target,
                          std::string_view version_seen, std::function<void(Outcome)> done);
    kube::Transport& transport_;
};

}  // namespace muster::control
