// kube/watcher_ground_test.h - for tests: a scripted server, and a watcher of it that keeps what it
// tells.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kube/hand_loop_test.h"
#include "kube/watcher.h"

namespace muster::kube {

/// Keeps what was asked; the test answers.
class ScriptedServer final : public Transport {
public:
    void send(net::Request request, OnResponse on_response) override {
        asked = request;
        answer = std::move(on_response);
    }
    StreamId open(net::Request request, Stream stream) override {
        asked = request;
        streams.push_back(std::move(stream));
        live = true;
        return StreamId{streams.size()};
    }
    void cancel(StreamId) override { live = false; }

    void refuse(int status, const std::string& retry_after = "",
                const std::string& body = "404 page not found\n{\"kind\":\"Status\"}\n") {
        net::Response head;
        head.status = status;
        if (!retry_after.empty()) head.headers.set("Retry-After", retry_after);
        const Stream stream = streams.back();
        stream.on_head(head);
        stream.on_piece(body.substr(0, body.size() / 2));
        stream.on_piece(body.substr(body.size() / 2));
        live = false;
        stream.on_closed();
    }
    void accept() {
        const Stream stream = streams.back();
        net::Response head;
        head.status = 200;
        stream.on_head(head);
    }
    /// To what was asked last, and is no stream.
    void reply(int status, const std::string& body) {
        net::Response response;
        response.status = status;
        response.body = make_bytes(body);
        std::exchange(answer, nullptr)(response);
    }
    void say(const std::string& text) {
        const Stream stream = streams.back();
        stream.on_piece(text);
    }
    void end() {
        const Stream stream = streams.back();
        live = false;
        stream.on_closed();
    }
    std::string query(const std::string& name) const {
        return std::string(asked.query_value(name));
    }

    net::Request asked;
    OnResponse answer;
    std::vector<Stream> streams;
    bool live = false;
};

inline std::string object(const std::string& name, int version) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":")" + name +
           R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}

inline std::string event(const std::string& type, const std::string& name, int version) {
    return R"({"type":")" + type + R"(","object":)" + object(name, version) + "}\n";
}

inline std::string listed_until(int version) {
    return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" +
           std::to_string(version) +
           R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})"
           "\n";
}

/// Whether who is told also holds the objects, or leaves it to the watcher to know what it told.
enum class Holds { no, yes };

struct Ground {
    HandLoop loop;
    ScriptedServer server;
    std::string told;    // "+a1" applied, "-a" removed, "." synced.
    std::string passed;  // "=7": held already.
    std::map<std::string, std::int64_t> held;
    Watcher watcher;

    explicit Ground(Holds holds = Holds::no)
        : watcher(server, loop, Target{{"batch", "jobs"}, "v1"}, events(holds)) {
        watcher.start();
    }

    WatchEvents events(Holds holds) {
        WatchEvents events;
        events.applied = [this](const ObjectPtr& seen) {
            told += "+" + seen->key.name + std::to_string(seen->version);
            held[seen->key.name] = seen->version;
        };
        events.removed = [this](const api::Key& key, std::int64_t) {
            told += "-" + key.name;
            held.erase(key.name);
        };
        events.synced = [this] { told += "."; };
        if (holds == Holds::no) return events;
        events.rewound = [this] {
            for (auto& [name, version] : held)
                version = 0;
        };
        events.listed = [this](std::int64_t, const std::function<bool(const api::Key&)>& has) {
            std::erase_if(held, [&](const auto& each) {
                const bool gone = !has({{"batch", "jobs"}, "n", each.first});
                if (gone) told += "-" + each.first;
                return gone;
            });
        };
        events.is_news = [this](const api::Key& key, std::int64_t version) {
            const auto found = held.find(key.name);
            return found == held.end() || found->second < version;
        };
        events.passed = [this](std::int64_t version) { passed += "=" + std::to_string(version); };
        return events;
    }
    /// What was told since the last time.
    std::string news() { return std::exchange(told, {}); }
};

}  // namespace muster::kube
