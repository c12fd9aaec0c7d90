// kube/watcher.cpp - the watch state machine over a transport.
#include "kube/watcher.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "api/json.h"
#include "base/log.h"

namespace muster::kube {

Watcher::Watcher(Transport& transport, Loop& loop, Target target, WatchEvents events)
    : transport_(transport), loop_(loop), target_(std::move(target)), events_(std::move(events)) {}

Watcher::~Watcher() {
    stop();
}

void Watcher::start() {
    open();
}

void Watcher::stop() {
    if (open_) transport_.cancel(stream_);
    open_ = false;
    state_ = State::stopped;
}

void Watcher::open() {
    if (state_ == State::stopped) return;
    state_ = version_.empty() ? State::listing : State::watching;
    listed_.clear();
    partial_.clear();
    Transport::Stream stream;
    stream.on_head = [this](const net::Response& head) { take_head(head); };
    stream.on_piece = [this](std::string_view piece) { take_piece(piece); };
    stream.on_closed = [this] {
        open_ = false;
        retry();
    };
    open_ = true;
    stream_ = transport_.open(watch(target_, version_), std::move(stream));
}

void Watcher::take_head(const net::Response& head) {
    if (head.status == 200) return;
    // The body is a Status; only an expired version changes what is asked next.
    if (head.status == 410) forget_version();
    ++failures_;
    log_warning("kube", "watch of " + target_.resource.plural + " was answered " +
                            std::to_string(head.status));
}

void Watcher::take_piece(std::string_view piece) {
    const auto alive = std::weak_ptr<int>(alive_);
    while (!piece.empty()) {
        const std::size_t end = piece.find('\n');
        if (end == std::string_view::npos) {
            partial_ += piece;
            return;
        }
        std::string line = std::exchange(partial_, {});
        line += piece.substr(0, end);
        piece.remove_prefix(end + 1);
        if (!line.empty()) take_line(line);
        if (alive.expired() || state_ == State::stopped || state_ == State::waiting) return;
    }
}

void Watcher::take_line(std::string_view line) {
    auto parsed = api::parse_json(line);
    if (auto* problem = std::get_if<api::ParseError>(&parsed)) {
        log_warning("kube",
                    "watch of " + target_.resource.plural + " sent no JSON: " + problem->text);
        return;
    }
    api::Value& event = std::get<api::Parsed>(parsed).value;
    const std::string type = event["type"].text();
    if (type.empty()) return;  // A Status body of a refused watch: its code was in the head.
    if (type == "ERROR") {
        if (event["object"]["code"].integer_or(0) == 410) forget_version();
        log_warning("kube", "watch of " + target_.resource.plural + ": " +
                                event["object"]["message"].text());
        return;
    }
    failures_ = 0;
    take_object(type, std::move(event.at("object")));
}

void Watcher::take_object(std::string_view type, api::Value value) {
    const std::string version = value["metadata"]["resourceVersion"].text();
    if (type == "BOOKMARK") {
        if (state_ == State::listing &&
            value["metadata"]["annotations"]["k8s.io/initial-events-end"].text_or("") == "true") {
            std::int64_t number = 0;
            std::from_chars(version.data(), version.data() + version.size(), number);
            finish_listing(number);
        }
        if (state_ == State::watching) version_ = version;
        return;
    }
    ObjectPtr object = make_object(target_.resource, std::move(value));
    const Place place{object->key.ns, object->key.name};
    if (state_ == State::listing) {
        if (type == "DELETED") {
            listed_.erase(place);
        } else {
            listed_[place] = std::move(object);
        }
        return;
    }
    version_ = version;
    if (type == "DELETED") {
        known_.erase(place);
        events_.removed(object->key, object->version);
    } else {
        known_[place] = object->version;
        events_.applied(std::move(object));
    }
}

void Watcher::finish_listing(std::int64_t list_version) {
    state_ = State::watching;
    const std::map<Place, ObjectPtr> listed = std::exchange(listed_, {});
    const std::map<Place, std::int64_t> known = std::exchange(known_, {});
    for (const auto& [place, object] : listed)
        known_[place] = object->version;
    for (const auto& [place, version] : known) {
        if (!listed.contains(place)) {
            events_.removed({target_.resource, place.first, place.second},
                            std::max(list_version, version + 1));
        }
    }
    for (const auto& [place, object] : listed) {
        const auto before = known.find(place);
        if (before == known.end() || before->second < object->version) events_.applied(object);
    }
    if (events_.listed != nullptr) {
        events_.listed(list_version, [&listed](const api::Key& key) {
            return listed.contains({key.ns, key.name});
        });
    }
    if (!std::exchange(told_synced_, true)) events_.synced();
}

void Watcher::forget_version() {
    version_.clear();
}

void Watcher::retry() {
    if (state_ == State::stopped) return;
    state_ = State::waiting;
    // The first try after a clean end is immediate; failures wait 50 ms, doubling up to 5 s.
    const int doublings = std::min(failures_, 7);
    const Duration delay = failures_ == 0 ? milliseconds(1) : milliseconds(50LL << doublings);
    ++failures_;
    loop_.after(delay, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) open();
    });
}

}  // namespace muster::kube
