// apiserver/test_server.h - a server over a manual loop and a disk in memory, spoken to in verbs:
// for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/json.h"
#include "apiserver/server.h"
#include "base/manual_loop.h"
#include "store/memory_journal.h"

namespace muster::apiserver {

/// What came back for one request.
struct Reply : net::Responder {
    int answers = 0;
    int status = 0;
    net::Headers headers;
    std::string text;
    bool streaming = false;
    bool finished = false;
    bool is_cut = false;
    net::RopePtr rope;       // What it was given in shared pieces.
    std::size_t unread = 0;  // What `buffered` says.
    std::function<void()> closed;

    void respond(net::Response response) override {
        ++answers;
        status = response.status;
        headers = std::move(response.headers);
        rope = std::move(response.rope);
        text = rope ? rope->text() : *response.body;
    }
    void begin(net::Response head) override {
        ++answers;
        streaming = true;
        status = head.status;
        headers = std::move(head.headers);
    }
    void write(Bytes piece) override { text += *piece; }
    void write_rope(net::RopePtr lines) override {
        text += lines->text();
        rope = std::move(lines);
    }
    void finish() override { finished = true; }
    void cut() override { is_cut = true; }
    std::size_t buffered() const override { return unread; }
    void on_closed(std::function<void()> handler) override { closed = std::move(handler); }
    net::Backlog backlog() const override { return nullptr; }
    std::shared_ptr<net::Channel> upgrade_websocket(std::string) override { return nullptr; }
    std::shared_ptr<net::Channel> upgrade_raw(net::Response) override { return nullptr; }

    api::Value json() const {
        auto parsed = api::parse_json(text);
        const auto* good = std::get_if<api::Parsed>(&parsed);
        return good == nullptr ? api::Value() : good->value;
    }
    /// The events of a watch so far.
    std::vector<api::Value> events() const {
        std::vector<api::Value> found;
        std::size_t from = 0;
        for (std::size_t end = text.find('\n'); end != std::string::npos;
             end = text.find('\n', from)) {
            auto parsed = api::parse_json(std::string_view(text).substr(from, end - from));
            found.push_back(std::get<api::Parsed>(parsed).value);
            from = end + 1;
        }
        return found;
    }
    /// "ADDED a, MODIFIED a, BOOKMARK ": types and names of the events.
    std::string story() const {
        std::string told;
        for (const api::Value& event : events()) {
            if (!told.empty()) told += ", ";
            told += event["type"].text() + " " + event["object"]["metadata"]["name"].text();
        }
        return told;
    }
    std::string message() const { return json()["message"].text(); }
    std::string reason() const { return json()["reason"].text(); }
};
using ReplyPtr = std::shared_ptr<Reply>;

/// The server with its world. Requests come from `system:admin` of system:masters unless said
/// otherwise.
class TestServer {
public:
    explicit TestServer(Options options = {}, std::shared_ptr<store::MemoryDisk> disk =
                                                  std::make_shared<store::MemoryDisk>())
        : store(std::make_unique<store::MemoryJournal>(std::move(disk), &loop)),
          server(store, loop, std::move(options)) {
        server.bootstrap(nullptr);
        loop.run();
    }

    /// Sends a request and lets everything that can happen now happen.
    ReplyPtr send(net::Request request) {
        const auto reply = std::make_shared<Reply>();
        server.handle(std::move(request), reply);
        loop.run();
        return reply;
    }

    net::Request request(std::string method, const std::string& target, std::string body = "",
                         const std::string& type = "") const {
        net::Request made;
        made.method = std::move(method);
        const std::size_t mark = target.find('?');
        made.path = target.substr(0, mark);
        if (mark != std::string::npos) made.query = net::parse_query(target.substr(mark + 1));
        made.body = make_bytes(std::move(body));
        if (!type.empty()) made.headers.set("Content-Type", type);
        made.headers.set("User-Agent", "tester/1.0");
        made.peer.certificate_name = user;
        made.peer.certificate_groups = groups;
        return made;
    }

    ReplyPtr get(const std::string& path) { return send(request("GET", path)); }
    ReplyPtr post(const std::string& path, std::string body) {
        return send(request("POST", path, std::move(body)));
    }
    ReplyPtr put(const std::string& path, std::string body) {
        return send(request("PUT", path, std::move(body)));
    }
    ReplyPtr merge(const std::string& path, std::string body) {
        return send(request("PATCH", path, std::move(body), "application/merge-patch+json"));
    }
    ReplyPtr apply(const std::string& path, std::string body) {
        return send(request("PATCH", path, std::move(body), "application/apply-patch+yaml"));
    }
    ReplyPtr remove(const std::string& path, std::string body = "") {
        return send(request("DELETE", path, std::move(body)));
    }
    ReplyPtr get_as(const std::string& path, const std::string& accept) {
        net::Request made = request("GET", path);
        made.headers.set("Accept", accept);
        return send(std::move(made));
    }

    ManualLoop loop;
    store::Store store;
    Server server;
    std::string user = "system:admin";
    std::vector<std::string> groups{"system:masters"};
};

}  // namespace muster::apiserver
