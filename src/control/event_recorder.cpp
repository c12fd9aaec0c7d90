// control/event_recorder.cpp - names events after their content, so that an equal one only counts
// up.
#include "control/event_recorder.h"

#include <cstdio>
#include <utility>

#include "api/guest_kinds.h"
#include "base/hash.h"
#include "base/log.h"
#include "kube/request.h"
#include "kube/while_alive.h"

namespace muster::control {
namespace {

constexpr std::size_t names_kept_max = 4096;
constexpr std::size_t message_bytes_max = 1024;  // The API server's own limit.

std::string name_of(const Event& event, std::string_view uid) {
    std::uint64_t hash = stable_hash(uid);
    for (const std::string* part : {&event.type, &event.reason, &event.message}) {
        hash = stable_hash(*part, stable_hash("\n", hash));
    }
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    return event.about.name.substr(0, 200) + "." + digits;
}

}  // namespace

void EventRecorder::record(const Event& event, const kube::Object* about,
                           std::string_view api_version, std::string_view component) {
    const std::string uid = about != nullptr ? about->uid : std::string();
    const std::string name = name_of(event, uid);
    const std::string ns = event.about.ns.empty() ? "default" : event.about.ns;
    const kube::Target target{{"", "events"}, "v1"};
    const std::string now = to_rfc3339(loop_.now());
    if (written_.size() > names_kept_max) written_.clear();
    const std::int64_t count = ++written_[name];
    if (count > 1) {
        const api::Value patch = api::Value::object({{"count", count}, {"lastTimestamp", now}});
        return send(kube::patch(target, {target.resource, ns, name}, "",
                                "application/merge-patch+json", patch));
    }
    const api::Kind* kind =
        api::find_known_kind(event.about.resource.group, event.about.resource.plural);
    api::Value involved =
        api::Value::object({{"apiVersion", api_version},
                            {"kind", kind != nullptr ? kind->kind : std::string()},
                            {"name", event.about.name}});
    if (!event.about.ns.empty()) involved.set("namespace", event.about.ns);
    if (!uid.empty()) involved.set("uid", uid);
    if (about != nullptr) involved.set("resourceVersion", std::to_string(about->version));
    api::Value body =
        api::Value::object({{"apiVersion", "v1"},
                            {"kind", "Event"},
                            {"metadata", api::Value::object({{"name", name}, {"namespace", ns}})},
                            {"involvedObject", std::move(involved)},
                            {"type", event.type},
                            {"reason", event.reason},
                            {"message", event.message.substr(0, message_bytes_max)},
                            {"source", api::Value::object({{"component", component}})},
                            {"reportingComponent", component},
                            {"reportingInstance", component},
                            {"firstTimestamp", now},
                            {"lastTimestamp", now},
                            {"count", 1}});
    if (!event.action.empty()) body.set("action", event.action);
    send(kube::create(target, ns, name, "", body));
}

void EventRecorder::send(net::Request request) {
    if (waiting_.size() >= waiting_max) {
        if (!std::exchange(losing_, true))
            log_warning("events", "more come than the server takes; some are lost");
        return;
    }
    waiting_.push_back(std::move(request));
    send_waiting();
}

void EventRecorder::send_waiting() {
    while (in_flight_ < in_flight_max && !waiting_.empty()) {
        net::Request next = std::move(waiting_.front());
        waiting_.pop_front();
        ++in_flight_;
        transport_.send(std::move(next), kube::while_alive(alive_, [this](const net::Response&) {
                            --in_flight_;
                            send_waiting();
                        }));
    }
    if (waiting_.empty()) losing_ = false;
}

}  // namespace muster::control
