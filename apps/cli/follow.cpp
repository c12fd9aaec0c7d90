// apps/cli/follow.cpp - lists one object, then watches it from there; starts over when the watch
// ends.
#include "apps/cli/follow.h"

#include <variant>

#include "api/json.h"
#include "apps/cli/lines.h"

namespace muster::cli {
namespace {

/// One watch's events; true when it was enough.
bool watch(Session& session, const std::string& path, const std::string& version,
           const std::function<bool(const api::Value&)>& enough, std::optional<Time> deadline) {
    bool satisfied = false;
    Lines lines;
    const std::string query = "&watch=true&resourceVersion=" + version;
    session.stream(
        get_request(path + query),
        [&](std::string_view piece) {
            lines.add(piece);
            while (const auto line = lines.next()) {
                auto parsed = api::parse_json(*line);
                const auto* event = std::get_if<api::Parsed>(&parsed);
                if (!event) continue;
                const std::string_view type = event->value["type"].text_or("");
                if (type == "ERROR") return Session::Go::stop;  // Too old: list again.
                if (type == "BOOKMARK") continue;
                satisfied = enough(type == "DELETED" ? api::Value() : event->value["object"]);
                if (satisfied) return Session::Go::stop;
            }
            return Session::Go::on;
        },
        deadline);
    return satisfied;
}

}  // namespace

bool follow(Session& session, const Placed& place,
            const std::function<bool(const api::Value& object)>& enough,
            std::optional<Time> deadline) {
    const std::string path =
        place.resource->path(place.ns) + selector_query("", "metadata.name=" + place.name);
    for (;;) {
        const api::Value list = session.get(path);
        if (enough(list["items"][0])) return true;
        if (watch(session, path, list["metadata"]["resourceVersion"].text(), enough, deadline))
            return true;
        if (deadline && session.now() >= *deadline) return false;
    }
}

}  // namespace muster::cli
