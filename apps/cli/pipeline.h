// apps/cli/pipeline.h - writes many objects with several requests under way, in order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "apps/cli/command.h"
#include "net/http.h"

namespace muster::cli {

/// One object to write.
struct Writing {
    api::Value object;
    Placed placed;
    std::string problem;  // Not empty: it is not sent, and this is why.
};

/// How one object is written and told of.
struct WritePlan {
    /// Asks first what is there; else `before` is always absent.
    enum class Look { first, not_at_all };
    Look look = Look::not_at_all;
    /// The write. Absent: there is none, `done` comes right after the look.
    std::function<std::optional<net::Request>(const Writing&)> request;
    /// In the order of the objects. `after` is null when nothing was written.
    std::function<void(const Writing&, const std::optional<api::Value>& before,
                       const api::Value& after)>
        done;
};

/// Writes all, goes on after a failure as kubectl does. Objects of kinds on which others depend
/// (namespaces, definitions, queues, roles, ...) are complete before later ones begin, and
/// everything before them is; the others are under way together, and are sent in order.
void write_in_order(Command& command, std::vector<Writing> writings, const WritePlan& plan);

}  // namespace muster::cli
