// net/http2_test.cpp - HTTP/2 over loopback, with nghttp2 as the client.
#include <map>
#include <thread>

#include <doctest/doctest.h>
#include <nghttp2/nghttp2.h>

#include "net/loopback_test.h"

namespace muster::net {

namespace {

/// A blocking client; what it got is there to be looked at.
class Http2Client {
public:
    struct Answer {
        std::string status;
        std::string content_type;
        std::string body;
        bool closed = false;
        std::uint32_t error = 0;
    };

    explicit Http2Client(int port) : socket_(port) {
        nghttp2_session_callbacks* calls = nullptr;
        nghttp2_session_callbacks_new(&calls);
        nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
        nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
        nghttp2_session_client_new(&session_, calls, this);
        nghttp2_session_callbacks_del(calls);
        nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    }
    ~Http2Client() { nghttp2_session_del(session_); }
    Http2Client(const Http2Client&) = delete;
    Http2Client& operator=(const Http2Client&) = delete;

    std::int32_t start(const std::string& method, const std::string& path,
                       const std::string& body = "") {
        std::vector<std::pair<std::string, std::string>> fields = {
            {":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}};
        std::vector<nghttp2_nv> list;
        for (auto& [name, value] : fields)
            list.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                            reinterpret_cast<std::uint8_t*>(value.data()), name.size(),
                            value.size(), NGHTTP2_NV_FLAG_NONE});
        nghttp2_data_provider data{};
        data.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* out,
                                std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                                void* user) -> ssize_t {
            std::string& rest = static_cast<Http2Client*>(user)->bodies_[id];
            const std::size_t step = std::min(size, rest.size());
            rest.copy(reinterpret_cast<char*>(out), step);
            rest.erase(0, step);
            if (rest.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
            return static_cast<ssize_t>(step);
        };
        const std::int32_t id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                                       body.empty() ? nullptr : &data, nullptr);
        bodies_[id] = body;
        return id;
    }

    /// What of a body has not gone out, since no window is open for it.
    std::size_t unsent(std::int32_t id) const { return bodies_.at(id).size(); }

    void reset(std::int32_t id) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    }

    void send() {
        const std::uint8_t* bytes = nullptr;
        for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;)
            socket_.put({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
    }

    /// Sends and reads until the question is answered with true, or the connection ends.
    template <class Question>
    bool run_until(Question question) {
        for (;;) {
            send();
            if (question()) return true;
            char buffer[8192];
            const auto got = recv(socket_.fd, buffer, sizeof buffer, 0);
            if (got <= 0) return false;
            nghttp2_session_mem_recv(session_, reinterpret_cast<std::uint8_t*>(buffer),
                                     static_cast<std::size_t>(got));
        }
    }

    Answer finish(std::int32_t id) {
        run_until([&] { return answers[id].closed; });
        return answers[id];
    }

    std::map<std::int32_t, Answer> answers;
    bool told_to_go = false;

private:
    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                         std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                         std::uint8_t, void* user) {
        Answer& answer = static_cast<Http2Client*>(user)->answers[frame->hd.stream_id];
        const std::string key(reinterpret_cast<const char*>(name), name_size);
        const std::string text(reinterpret_cast<const char*>(value), value_size);
        if (key == ":status") answer.status = text;
        if (key == "content-type") answer.content_type = text;
        return 0;
    }
    static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                       std::size_t size, void* user) {
        static_cast<Http2Client*>(user)->answers[id].body.append(
            reinterpret_cast<const char*>(data), size);
        return 0;
    }
    static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
        Answer& answer = static_cast<Http2Client*>(user)->answers[id];
        answer.closed = true;
        answer.error = error;
        return 0;
    }
    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_GOAWAY) static_cast<Http2Client*>(user)->told_to_go = true;
        return 0;
    }

    RawSocket socket_;
    nghttp2_session* session_ = nullptr;
    std::map<std::int32_t, std::string> bodies_;
};

void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
    Response response;
    response.headers.set("Content-Type", "text/plain");
    response.body = make_bytes(request.method + " " + request.path + " " +
                               std::string(request.headers.get("host")) + " " + *request.body);
    responder->respond(std::move(response));
}

}  // namespace

TEST_CASE("three hundred requests at once on one connection are all answered") {
    TestServer server(echo);
    Http2Client client(server.server->port());
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 300; ++i)
        ids.push_back(client.start("POST", "/" + std::to_string(i), "body"));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto answer = client.finish(ids[i]);
        CHECK(answer.status == "200");
        CHECK(answer.content_type == "text/plain");
        CHECK(answer.body == "POST /" + std::to_string(i) + " x body");
    }
}

TEST_CASE("bodies larger than every window arrive whole in both directions") {
    TestServer server(echo);
    Http2Client client(server.server->port());
    const auto answer = client.finish(client.start("PUT", "/", std::string(3'000'000, 'b')));
    CHECK(answer.body.size() == 3'000'000 + std::string("PUT / x ").size());
}

TEST_CASE("over HTTP/2 a body or header over the limit is refused, other streams go on") {
    ServerOptions options;
    options.body_limit = 1000;
    options.header_limit = 2000;
    TestServer server(echo, options);
    Http2Client client(server.server->port());
    const auto large = client.start("POST", "/", std::string(100'000, 'x'));
    const auto small = client.start("POST", "/", "fits");
    const auto long_path = client.start("GET", "/" + std::string(3000, 'p'));
    client.run_until([&] { return client.answers[large].body.ends_with("\n"); });
    CHECK(client.answers[large].status == "413");
    CHECK(client.answers[large].body.find("RequestEntityTooLarge") != std::string::npos);
    CHECK(client.finish(small).body == "POST / x fits");
    CHECK(client.finish(long_path).status == "431");
}

TEST_CASE("bodies that nobody takes on are held in small, and other streams go on beside them") {
    std::vector<std::pair<Request, std::shared_ptr<Responder>>> stalled;
    ServerOptions options;
    options.streamed_body = [](const Request& head) { return head.path == "/upload"; };
    TestServer server(
        [&](const Request& request, const std::shared_ptr<Responder>& responder) {
            if (request.path != "/upload") return echo(request, responder);
            stalled.emplace_back(request, responder);
        },
        options);
    {
        Http2Client client(server.server->port());
        const std::string body(1 << 20, 'u');
        std::vector<std::int32_t> uploads;
        // More of them than would fill the connection's window, if they could.
        constexpr std::size_t count = 300;
        for (std::size_t i = 0; i < count; ++i)
            uploads.push_back(client.start("POST", "/upload", body));
        client.send();
        for (const std::size_t size : {std::size_t{10}, std::size_t{2 << 20}}) {
            const auto answer = client.finish(client.start("PUT", "/", std::string(size, 'b')));
            CHECK(answer.body.size() == size + std::string("PUT / x ").size());
        }
        std::size_t sent = 0;
        for (const std::int32_t id : uploads)
            sent += body.size() - client.unsent(id);
        CHECK(sent <= count * (64 << 10));
    }
    run_on(server.home, [&] { stalled.clear(); });
}

TEST_CASE("watches stream side by side, and a reset one is told to its handler") {
    std::map<std::string, std::shared_ptr<Responder>> watches;
    std::promise<std::string> gone;
    TestServer server([&](const Request& request, const std::shared_ptr<Responder>& responder) {
        responder->begin(Response{});
        responder->write(make_bytes("first"));
        responder->on_closed([&, path = request.path] { gone.set_value(path); });
        watches[request.path] = responder;
    });
    Http2Client client(server.server->port());
    const auto a = client.start("GET", "/a");
    const auto b = client.start("GET", "/b");
    client.run_until(
        [&] { return client.answers[a].body == "first" && client.answers[b].body == "first"; });
    client.reset(a);
    client.send();
    CHECK(gone.get_future().get() == "/a");
    run_on(server.home, [&] {
        watches.at("/a")->write(make_bytes("to nobody"));
        watches.at("/b")->write(make_bytes(" second"));
        watches.at("/b")->finish();
    });
    CHECK(client.finish(b).body == "first second");
    CHECK(client.answers[a].body == "first");
    run_on(server.home, [&] {
        watches.at("/a")->finish();
        watches.clear();
    });
}

TEST_CASE("a stream whose window is shut is held back and counted, and goes on when it opens") {
    std::shared_ptr<Responder> kept;
    std::promise<void> written;
    TestServer server([&](const Request&, const std::shared_ptr<Responder>& responder) {
        kept = responder;
        responder->begin(Response{});
        responder->write(make_bytes(std::string(8 << 20, 'x')));
        responder->finish();
        written.set_value();
    });
    Http2Client client(server.server->port());
    const auto id = client.start("GET", "/");
    client.send();
    written.get_future().wait();
    std::size_t waiting = 0;
    run_on(server.home, [&] { waiting = kept->buffered(); });
    CHECK(waiting > 7 << 20);
    CHECK(client.finish(id).body.size() == 8 << 20);
    run_on(server.home, [&] { kept = nullptr; });
}

TEST_CASE("bytes that are not HTTP/2 end the connection, and a stopping server says go away") {
    TestServer server([](const Request&, const std::shared_ptr<Responder>& responder) {
        responder->begin(Response{});
        responder->on_closed([responder] { responder->finish(); });
    });
    RawSocket socket(server.server->port());
    socket.put("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(100, '\xff'));
    socket.read_all();
    Http2Client client(server.server->port());
    client.start("GET", "/watch");
    client.run_until([&] { return !client.answers.empty(); });
    std::thread stopping([&] { server.server->stop(milliseconds(50)); });
    client.run_until([] { return false; });
    stopping.join();
    CHECK(client.told_to_go);
}

}  // namespace muster::net
