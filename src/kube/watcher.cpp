// kube/watcher.cpp - the watch state machine over a transport.
#include "kube/watcher.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "api/json.h"
#include "base/log.h"
#include "kube/retry_after.h"

namespace muster::kube {
namespace {

constexpr std::int64_t page_size = 500;
/// An object is at most a few megabytes: a longer line is no event.
constexpr std::size_t line_max = 64 << 20;
/// What is read of a refusal.
constexpr std::size_t refusal_max = 1 << 20;
/// Servers that do not know how to stream all objects may keep quiet about it.
constexpr Duration listing_silence = seconds(30);
constexpr Duration absent_wait = seconds(10);
constexpr Duration asked_wait_max = seconds(60);

std::int64_t number_of(const std::string& version) {
    std::int64_t number = 0;
    std::from_chars(version.data(), version.data() + version.size(), number);
    return number;
}

/// Objects that no list has: the question is only how far the server has come. Without a limit it
/// answers from its cache, whatever there is of the kind.
net::Request question_of_reach(const Target& target, const std::string& version) {
    net::Request request = list(target, "");
    request.query = {{"resourceVersion", version},
                     {"resourceVersionMatch", "NotOlderThan"},
                     {"fieldSelector", "metadata.name=muster-asks-for-the-version"}};
    return request;
}

/// A Status that says that the version asked for has not been reached. Servers before 1.18 do not
/// give it as a reason.
bool is_not_reached(const api::Value& status) {
    for (const api::Value& cause : status["details"]["causes"].items()) {
        if (cause["reason"].text_or("") == "ResourceVersionTooLarge") return true;
    }
    return status["reason"].text_or("") == "Timeout" &&
           status["message"].text_or("").find("Too large resource version") != std::string::npos;
}

}  // namespace

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
    ++attempt_;
    state_ = State::stopped;
}

void Watcher::open() {
    if (state_ == State::stopped) return;
    state_ = version_.empty() ? State::listing : doubted_ ? State::checking : State::watching;
    ++attempt_;
    listed_.clear();
    partial_.clear();
    if (state_ == State::checking) return ask_whether_reached();
    if (state_ == State::listing && listing_ == Listing::paged) return ask_page("");
    open_stream();
    if (state_ == State::listing) guard_listing();
}

void Watcher::open_stream() {
    Transport::Stream stream;
    // What comes of an earlier stream beside its successor counts for nothing.
    const auto is_current = [this, alive = std::weak_ptr<int>(alive_), attempt = attempt_] {
        return !alive.expired() && attempt == attempt_;
    };
    stream.on_head = [this, is_current](const net::Response& head) {
        if (is_current()) take_head(head);
    };
    stream.on_piece = [this, is_current](std::string_view piece) {
        if (is_current()) take_piece(piece);
    };
    stream.on_closed = [this, is_current] {
        if (!is_current()) return;
        open_ = false;
        take_closed();
    };
    open_ = true;
    refused_ = false;
    if (logs(LogLevel::debug)) {
        log_debug("kube", version_.empty() ? "a watch begins with all objects" : "a watch goes on",
                  {{"group", target_.resource.group},
                   {"resource", target_.resource.plural},
                   {"resourceVersion", version_}});
    }
    stream_ = transport_.open(watch(target_, version_), std::move(stream));
}

void Watcher::ask_whether_reached() {
    transport_.send(question_of_reach(target_, version_),
                    [this, alive = std::weak_ptr<int>(alive_),
                     attempt = attempt_](const net::Response& answer) {
                        if (alive.expired() || attempt != attempt_) return;
                        const bool no_question =
                            answer.status == 400 || answer.status == 405 || answer.status == 422;
                        if (answer.status == 200 || no_question) {
                            doubted_ = false;
                            return open();
                        }
                        take_refusal(answer);
                        if (!alive.expired()) retry();
                    });
}

void Watcher::ask_page(const std::string& token) {
    net::Request request = list(target_, "");
    request.query.emplace_back("limit", std::to_string(page_size));
    if (!token.empty()) request.query.emplace_back("continue", token);
    transport_.send(std::move(request), [this, alive = std::weak_ptr<int>(alive_),
                                         attempt = attempt_](const net::Response& page) {
        if (!alive.expired() && attempt == attempt_) take_page(page);
    });
}

void Watcher::take_page(const net::Response& page) {
    if (page.status != 200) {
        take_refusal(page);
        return retry();
    }
    auto parsed = api::parse_json(*page.body, api::FieldOwners::left_out);
    auto* document = std::get_if<api::Parsed>(&parsed);
    if (!document) return break_off("no JSON: " + std::get<api::ParseError>(parsed).text);
    api::Value& list = document->value;
    take_items(list);
    const api::Value& metadata = list["metadata"];
    if (const std::string token = metadata["continue"].text(); !token.empty())
        return ask_page(token);
    const std::string version = metadata["resourceVersion"].text();
    const auto alive = std::weak_ptr<int>(alive_);
    finish_listing(number_of(version));
    if (alive.expired() || state_ == State::stopped) return;
    version_ = version;
    open();
}

/// The items of a list of built-in objects do not say what they are.
void Watcher::take_items(api::Value& list) {
    std::string kind = list["kind"].text();
    if (kind.ends_with("List")) kind.resize(kind.size() - std::string_view("List").size());
    for (const api::Value& item : list["items"].items()) {
        api::Value value = item;
        if (!value.has("kind")) value.set("kind", kind);
        if (!value.has("apiVersion")) value.set("apiVersion", list["apiVersion"]);
        ObjectPtr object = make_object(target_.resource, std::move(value));
        const Place place{object->key.ns, object->key.name};
        listed_[place] = std::move(object);
    }
}

void Watcher::take_head(const net::Response& head) {
    refused_ = head.status != 200;
    if (refused_) return take_refusal(head);
    // When all objects are still to come it is their end that counts.
    if (state_ == State::watching) regain();
}

/// The body of a refusal, which may say more than its head, has come as pieces.
void Watcher::take_closed() {
    if (refused_ && is_not_reached(body_of({0, {}, make_bytes(partial_)}))) take_not_reached();
    retry();
}

/// The server is behind what it told before, and might be for good. What it has now is listed anew,
/// consistently; pages come past its memory, which may be what is behind.
void Watcher::take_not_reached() {
    if (version_.empty()) listing_ = Listing::paged;
    forget_version();
}

void Watcher::forget_version() {
    newest_ = std::max(newest_, number_of(version_));
    version_.clear();
}

/// What is to be asked next, and when.
void Watcher::take_refusal(const net::Response& answer) {
    wait_at_least_ = asked_wait(answer, asked_wait_max);
    switch (answer.status) {
        case 404:
            return take_absence();
        case 410:
            forget_version();
            break;
        case 400:
        case 405:
        case 422:
            if (state_ == State::listing) listing_ = Listing::paged;
            break;
        default:
            break;
    }
    doubted_ = true;
    if (answer.body && is_not_reached(body_of(answer))) take_not_reached();
    ++failures_;
    const std::string_view said = answer.body ? std::string_view(*answer.body) : "";
    lose("answered " + std::to_string(answer.status) +
         (answer.status == 0 ? ": " + std::string(said) : ""));
}

/// It may come, or come back: it is asked for again.
void Watcher::take_absence() {
    wait_at_least_ = absent_wait;
    if (was_there_) {
        lose("answered 404: the server does not have them any more");
    } else {
        trouble_.clear();  // Whatever it was, the server has answered now.
        if (!told_synced_) warn("the server does not have them (yet)");
    }
    tell_synced();
}

void Watcher::take_piece(std::string_view piece) {
    const auto alive = std::weak_ptr<int>(alive_);
    const std::int64_t attempt = attempt_;
    ++heard_;
    if (refused_) {
        if (partial_.size() + piece.size() <= refusal_max) partial_ += piece;
        return;
    }
    while (!piece.empty()) {
        const std::size_t end = piece.find('\n');
        if (partial_.size() + std::min(end, piece.size()) > line_max)
            return break_off("a line without an end");
        if (end == std::string_view::npos) {
            partial_ += piece;
            return;
        }
        std::string line = std::exchange(partial_, {});
        line += piece.substr(0, end);
        piece.remove_prefix(end + 1);
        if (!line.empty() && !take_line(line)) return;
        if (alive.expired() || attempt != attempt_) return;
    }
}

/// False: the stream is of no use any more. What it told until then counts.
bool Watcher::take_line(std::string_view line) {
    auto parsed = api::parse_watch_event(line, [this](const auto& head) { return wants(head); });
    if (auto* problem = std::get_if<api::ParseError>(&parsed)) {
        // An event that cannot be read would be lost: from the one before, everything is told anew.
        break_off("no JSON: " + problem->text);
        return false;
    }
    auto& event = std::get<api::WatchEvent>(parsed);
    if (event.type.empty()) {
        break_off("something that is no event");
        return false;
    }
    if (event.type == "ERROR") {
        if (event.object["code"].integer_or(0) == 410) forget_version();
        if (is_not_reached(event.object)) take_not_reached();
        doubted_ = true;
        break_off(event.object["message"].text());
        return false;
    }
    failures_ = 0;
    if (state_ == State::watching) regain();
    if (event.object.is_null() && !event.version.empty()) {
        // Unwanted: known as the answer to an own write.
        version_ = event.version;
        if (events_.passed != nullptr) events_.passed(number_of(event.version));
    } else {
        take_object(event.type, std::move(event.object));
    }
    return true;
}

bool Watcher::wants(const api::WatchEvent& head) {
    if (state_ != State::watching || events_.is_news == nullptr) return true;
    if (head.type != "ADDED" && head.type != "MODIFIED") return true;
    const std::int64_t version = number_of(head.version);
    return version == 0 || events_.is_news({target_.resource, head.ns, head.name}, version);
}

void Watcher::take_object(std::string_view type, api::Value value) {
    const std::string version = value["metadata"]["resourceVersion"].text();
    if (type == "BOOKMARK") {
        const bool is_end =
            value["metadata"]["annotations"]["k8s.io/initial-events-end"].text_or("") == "true";
        if (state_ == State::listing && is_end) {
            version_ = version;
            return finish_listing(number_of(version));
        }
        if (state_ == State::watching) version_ = version;
        return;
    }
    ObjectPtr object = make_object(target_.resource, std::move(value));
    if (state_ == State::watching) {
        version_ = version;
        return take_change(type, std::move(object));
    }
    const Place place{object->key.ns, object->key.name};
    if (type == "DELETED") {
        listed_.erase(place);
    } else {
        listed_[place] = std::move(object);
    }
}

void Watcher::take_change(std::string_view type, ObjectPtr object) {
    if (type == "DELETED") {
        told_.erase({object->key.ns, object->key.name});
        return events_.removed(object->key, object->version);
    }
    // Who holds the objects was asked before this one was read.
    if (events_.is_news == nullptr) {
        if (!is_news(*object, told_)) return;
        told_[{object->key.ns, object->key.name}] = object->version;
    }
    events_.applied(std::move(object));
}

/// Nobody hears of the same change twice.
bool Watcher::is_news(const Object& object, const Told& told) const {
    if (events_.is_news != nullptr) return events_.is_news(object.key, object.version);
    const auto before = told.find({object.key.ns, object.key.name});
    return before == told.end() || before->second < object.version;
}

void Watcher::finish_listing(std::int64_t list_version) {
    state_ = State::watching;
    doubted_ = false;
    was_there_ = true;
    regain();
    const std::map<Place, ObjectPtr> listed = std::exchange(listed_, {});
    Told told = std::exchange(told_, {});
    const bool rewound = list_version < std::exchange(newest_, 0);
    if (rewound) {
        warn("the server is back with an older state: version " + std::to_string(list_version));
        // Numbers of two histories cannot be compared: all that is there is news.
        if (events_.rewound != nullptr) events_.rewound();
        for (auto& [place, version] : told)
            version = 0;
    }
    for (const auto& [place, version] : told) {
        if (!listed.contains(place)) {
            events_.removed({target_.resource, place.first, place.second},
                            std::max(list_version, version + 1));
        }
    }
    if (events_.listed != nullptr) {
        events_.listed(list_version, [&listed](const api::Key& key) {
            return listed.contains({key.ns, key.name});
        });
    }
    for (const auto& [place, object] : listed) {
        if (events_.is_news == nullptr) told_[place] = object->version;
        if (is_news(*object, told)) events_.applied(object);
    }
    tell_synced();
}

void Watcher::tell_synced() {
    if (!std::exchange(told_synced_, true)) events_.synced();
}

/// Pages are asked for when nothing has come for a while that says that all objects were told.
void Watcher::guard_listing() {
    loop_.after(listing_silence,
                [this, alive = std::weak_ptr<int>(alive_), attempt = attempt_, heard = heard_] {
                    if (alive.expired() || attempt != attempt_ || state_ != State::listing) return;
                    if (heard != heard_) return guard_listing();
                    listing_ = Listing::paged;
                    break_off("the objects do not come as a stream");
                });
}

void Watcher::break_off(const std::string& why) {
    lose(why);
    if (open_) transport_.cancel(stream_);
    open_ = false;
    retry();
}

/// Told once, however often it is tried again meanwhile.
void Watcher::lose(const std::string& why) {
    if (why == trouble_) return;
    trouble_ = why;
    warn(why);
}

void Watcher::regain() {
    if (trouble_.empty()) return;
    trouble_.clear();
    log_info("kube", "the watch is back",
             {{"group", target_.resource.group}, {"resource", target_.resource.plural}});
}

void Watcher::warn(const std::string& text) const {
    const std::string group = target_.resource.group.empty() ? "" : "." + target_.resource.group;
    log_warning("kube", "watch of " + target_.resource.plural + group + ": " + text,
                {{"group", target_.resource.group}, {"resource", target_.resource.plural}});
}

void Watcher::retry() {
    if (state_ == State::stopped) return;
    state_ = State::waiting;
    ++attempt_;
    // The first try after a clean end is immediate; failures wait 50 ms, doubling up to 5 s.
    const int doublings = std::min(failures_, 7);
    const Duration delay = failures_ == 0 ? milliseconds(1) : milliseconds(50LL << doublings);
    if (++failures_ > 2) doubted_ = true;  // Nothing at all was heard for long.
    loop_.after(std::max(delay, std::exchange(wait_at_least_, {})),
                [this, alive = std::weak_ptr<int>(alive_), attempt = attempt_] {
                    if (!alive.expired() && attempt == attempt_) open();
                });
}

}  // namespace muster::kube
