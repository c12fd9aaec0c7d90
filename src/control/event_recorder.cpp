// control/event_recorder.cpp - names events after their content, so that an equal one only counts
// up.
#include "control/event_recorder.h"

#include <algorithm>
#include <utility>

#include "api/guest_kinds.h"
#include "base/hash.h"
#include "base/log.h"
#include "kube/request.h"
#include "kube/retry_after.h"
#include "kube/while_alive.h"

namespace muster::control {
namespace {

constexpr std::size_t names_kept_max = 4096;
constexpr Duration pause_max = seconds(5);
constexpr int refusals_max = 5;
constexpr Duration asked_wait_max = minutes(1);
constexpr Duration usual_wait = seconds(1);  // When the server has no time and does not say more.
constexpr std::size_t message_bytes_max = 1024;  // The API server's own limit.

std::string name_of(const Event& event, std::string_view uid) {
    std::uint64_t hash = stable_hash(uid);
    for (const std::string* part : {&event.type, &event.reason, &event.message}) {
        hash = stable_hash(*part, stable_hash("\n", hash));
    }
    return event.about.name.substr(0, 200) + "." + to_digits(hash);
}

}  // namespace

void EventRecorder::record(const Event& event, const kube::Object* about,
                           std::string_view api_version, std::string_view component) {
    if (stopped_) return;
    if (waiting_.size() >= waiting_max) {
        if (!std::exchange(losing_, true))
            log_warning("events", "more come than the server takes; some are lost");
        return;
    }
    Waiting waiting{event, std::string(api_version), std::string(component), {}, 0, loop_.now()};
    if (about != nullptr) {
        waiting.uid = about->uid;
        waiting.version = about->version;
    }
    waiting_.push_back(std::move(waiting));
    if (!sending_) send_next();
}

net::Request EventRecorder::request_of(const Waiting& waiting, const std::string& name) {
    const Event& event = waiting.event;
    const std::string ns = event.about.ns.empty() ? "default" : event.about.ns;
    const kube::Target target{{"", "events"}, "v1"};
    const std::string at = to_rfc3339(waiting.at);
    if (written_.size() > names_kept_max) written_.clear();
    const std::int64_t count = ++written_[name];
    if (count > 1) {
        const api::Value patch = api::Value::object({{"count", count}, {"lastTimestamp", at}});
        return kube::patch(target, {target.resource, ns, name}, "", "application/merge-patch+json",
                           patch);
    }
    const api::Kind* kind =
        api::find_known_kind(event.about.resource.group, event.about.resource.plural);
    api::Value involved =
        api::Value::object({{"apiVersion", waiting.api_version},
                            {"kind", kind != nullptr ? kind->kind : std::string()},
                            {"name", event.about.name}});
    if (!event.about.ns.empty()) involved.set("namespace", event.about.ns);
    if (!waiting.uid.empty()) involved.set("uid", waiting.uid);
    if (waiting.version != 0) involved.set("resourceVersion", std::to_string(waiting.version));
    api::Value body =
        api::Value::object({{"apiVersion", "v1"},
                            {"kind", "Event"},
                            {"metadata", api::Value::object({{"name", name}, {"namespace", ns}})},
                            {"involvedObject", std::move(involved)},
                            {"type", event.type},
                            {"reason", event.reason},
                            {"message", event.message.substr(0, message_bytes_max)},
                            {"source", api::Value::object({{"component", waiting.component}})},
                            {"reportingComponent", waiting.component},
                            {"reportingInstance", waiting.component},
                            {"firstTimestamp", at},
                            {"lastTimestamp", at},
                            {"count", 1}});
    if (!event.action.empty()) body.set("action", event.action);
    return kube::create(target, ns, name, "", body);
}

void EventRecorder::send_next() {
    sending_ = !waiting_.empty();
    if (!sending_) {
        losing_ = false;
        return;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const std::string name = name_of(next.event, next.uid);
    net::Request request = request_of(next, name);
    const auto answered = [this, next = std::move(next), name,
                           sent = loop_.now()](const net::Response& response) {
        go_on(sent, take_answer(next, name, response));
    };
    transport_.send(std::move(request), kube::while_alive(alive_, answered));
}

/// What was not made, or has been removed since (the server keeps events for an hour), is made anew
/// when it comes again. Gives for how long the server wants to be left in peace.
Duration EventRecorder::take_answer(const Waiting& sent, const std::string& name,
                                    const net::Response& response) {
    const int status = response.status;
    const bool is_there = (status >= 200 && status < 300) || status == 409;
    if (is_there) return {};
    if (status == 429) {
        const Duration wait = std::max(usual_wait, kube::asked_wait(response, asked_wait_max));
        if (--written_[name] == 0) written_.erase(name);
        if (stopped_ || sent.refusals + 1 >= refusals_max) return wait;
        waiting_.push_front(sent);
        ++waiting_.front().refusals;
        return wait;
    }
    const bool was_counted = written_[name] > 1;
    written_.erase(name);
    if (status == 404 && was_counted && !stopped_) waiting_.push_front(sent);
    return {};
}

void EventRecorder::stop() {
    stopped_ = true;
    waiting_.clear();
}

void EventRecorder::go_on(Time sent, Duration wait) {
    const Duration pause = std::max(wait, std::min(loop_.now() - sent, pause_max));
    if (pause < slow) return send_next();
    loop_.after(pause, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) send_next();
    });
}

}  // namespace muster::control
