// control/small_server.h - for tests: a server of objects in memory, with faults on demand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/json.h"
#include "api/patch.h"
#include "base/manual_loop.h"
#include "base/text.h"
#include "kube/transport.h"

namespace muster::control {

using api::Value;

inline const api::GroupResource maps{"", "configmaps"};
inline const api::GroupResource secrets{"", "secrets"};

/// A server of objects in memory: create, update, delete, get and watch, and faults on demand.
class SmallServer : public kube::Transport {
public:
    explicit SmallServer(ManualLoop& loop) : loop_(loop) {}

    int conflicts_left = 0;
    int refusals_left = 0;
    int busy_left = 0;  // Answered 429: in seven seconds again.
    std::string busy_because = "TooManyRequests";
    int writes = 0;
    bool changes_nothing = false;  // What is written is taken and thrown away.
    bool watch_is_late = false;    // Watch events wait until deliver().

    void send(net::Request request, OnResponse on_response) override {
        net::Response response = answer(request);
        loop_.post([on_response, response] { on_response(response); });
    }

    StreamId open(net::Request request, Stream stream) override {
        const StreamId id{++last_stream_};
        Watch watch{plural_of(request.path), std::move(stream)};
        const std::string since(request.query_value("resourceVersion"));
        watches_[id] = watch;
        loop_.post([this, id, since] { begin(id, since); });
        return id;
    }

    void cancel(StreamId id) override { watches_.erase(id); }

    /// A user's write.
    void put(const std::string& plural, Value object) {
        const std::string name = object["metadata"]["name"].text();
        const bool fresh = !objects_[plural].contains(name);
        object.at("metadata").set("resourceVersion", std::to_string(++version_));
        if (object["metadata"]["uid"].is_null())
            object.at("metadata").set("uid", "u" + std::to_string(version_));
        objects_[plural][name] = object;
        tell(plural, fresh ? "ADDED" : "MODIFIED", object);
    }

    void remove(const std::string& plural, const std::string& name) {
        Value object = objects_[plural][name];
        objects_[plural].erase(name);
        object.at("metadata").set("resourceVersion", std::to_string(++version_));
        tell(plural, "DELETED", object);
    }

    const Value* find(const std::string& plural, const std::string& name) {
        const auto found = objects_[plural].find(name);
        return found == objects_[plural].end() ? nullptr : &found->second;
    }

    void deliver() {
        watch_is_late = false;
        auto late = std::move(late_);
        late_.clear();
        for (auto& [plural, line] : late)
            push(plural, line);
    }

    /// Breaks every watch; `version_expired`: resuming is refused with 410.
    void break_watches(bool version_expired) {
        expired_ = version_expired;
        late_.clear();
        auto watches = std::move(watches_);
        watches_.clear();
        for (auto& [id, watch] : watches)
            watch.stream.on_closed();
    }

    using Objects = std::map<std::string, std::map<std::string, Value>>;
    struct Backup {
        Objects objects;
        std::int64_t version = 0;
    };
    Backup backup() const { return {objects_, version_}; }
    /// What was written since is lost, and its versions are given to other writes.
    void restore(const Backup& backup) {
        objects_ = backup.objects;
        version_ = backup.version;
        break_watches(false);
    }

private:
    struct Watch {
        std::string plural;
        Stream stream;
    };

    static std::string plural_of(const std::string& path) {
        std::string rest = path.substr(path.find("/v1/") + 4);
        if (rest.starts_with("namespaces/")) rest = rest.substr(rest.find('/', 11) + 1);
        return rest.substr(0, rest.find('/'));
    }

    static std::string line(const std::string& type, const Value& object) {
        return api::to_json(Value::object({{"type", type}, {"object", object}})) + "\n";
    }

    void begin(StreamId id, const std::string& since) {
        const auto found = watches_.find(id);
        if (found == watches_.end()) return;
        if (!since.empty() && expired_) {
            expired_ = false;
            Stream stream = std::move(found->second.stream);
            watches_.erase(found);
            stream.on_head(net::Response{410, {}, nullptr});
            stream.on_closed();
            return;
        }
        const Stream stream = found->second.stream;
        if (parse_integer(since).value_or(0) > version_) {
            watches_.erase(found);
            stream.on_head(net::Response{504, {}, nullptr});
            stream.on_piece(R"({"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})");
            stream.on_closed();
            return;
        }
        stream.on_head(net::Response{200, {}, nullptr});
        if (!since.empty()) return;
        for (const auto& [name, object] : objects_[found->second.plural])
            stream.on_piece(line("ADDED", object));
        Value mark;
        mark.at("metadata").set("resourceVersion", std::to_string(version_));
        mark.at("metadata").at("annotations").set("k8s.io/initial-events-end", "true");
        // In two pieces, as a network may cut it.
        const std::string text = line("BOOKMARK", mark);
        stream.on_piece(text.substr(0, 10));
        stream.on_piece(text.substr(10));
    }

    void tell(const std::string& plural, const std::string& type, const Value& object) {
        if (watch_is_late) {
            late_.emplace_back(plural, line(type, object));
        } else {
            push(plural, line(type, object));
        }
    }

    void push(const std::string& plural, const std::string& text) {
        for (const auto& [id, watch] : watches_) {
            if (watch.plural == plural)
                loop_.post([this, id = id, text] {
                    const auto found = watches_.find(id);
                    if (found == watches_.end()) return;
                    const Stream stream = found->second.stream;
                    stream.on_piece(text);
                });
        }
    }

    static net::Response status(int code, const std::string& reason) {
        const Value body =
            Value::object({{"kind", "Status"}, {"reason", reason}, {"message", reason}});
        return {code, {}, make_bytes(api::to_json(body))};
    }

    net::Response answer(const net::Request& request) {
        const std::string plural = plural_of(request.path);
        if (plural == "events") return {201, {}, make_bytes("{}")};
        const std::string name = request.path.substr(request.path.rfind('/') + 1);
        if (request.method == "GET") {
            const Value* found = find(plural, name);
            return found == nullptr ? status(404, "NotFound")
                                    : net::Response{200, {}, make_bytes(api::to_json(*found))};
        }
        ++writes;
        if (conflicts_left > 0) return --conflicts_left, status(409, "Conflict");
        if (busy_left > 0) {
            --busy_left;
            net::Response busy = status(429, busy_because);
            busy.headers.set("Retry-After", "7");
            return busy;
        }
        if (refusals_left > 0) return --refusals_left, status(422, "Invalid");
        Value body = std::get<api::Parsed>(api::parse_json(*request.body)).value;
        if (request.method == "DELETE") {
            if (find(plural, name) == nullptr) return status(404, "NotFound");
            remove(plural, name);
            return {200, {}, make_bytes(R"({"kind":"Status","status":"Success"})")};
        }
        const std::string created = body["metadata"]["name"].text();
        const Value* present = find(plural, created);
        const Value& demanded = body["metadata"]["resourceVersion"];
        if (present != nullptr && !demanded.is_null() &&
            !(demanded == (*present)["metadata"]["resourceVersion"])) {
            return status(409, "Conflict");
        }
        if (request.method == "POST" && find(plural, created) != nullptr)
            return status(409, "AlreadyExists");
        if (!changes_nothing) put(plural, body);
        return {200, {}, make_bytes(api::to_json(*find(plural, created)))};
    }

    ManualLoop& loop_;
    Objects objects_;
    std::map<StreamId, Watch> watches_;
    std::vector<std::pair<std::string, std::string>> late_;
    std::uint64_t last_stream_ = 0;
    std::int64_t version_ = 10;
    bool expired_ = false;
};

inline Value config_map(const std::string& name) {
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "ConfigMap"},
                          {"metadata", Value::object({{"name", name}, {"namespace", "team"}})}});
}

}  // namespace muster::control
