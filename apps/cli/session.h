// apps/cli/session.h - a command's connection to its server: requests that are waited for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"
#include "base/error.h"
#include "base/time.h"
#include "kube/http_transport.h"
#include "net/asio_loop.h"

namespace muster::cli {

/// The server answered with an error; `what()` is the text kubectl prints.
class ServerError : public Error {
public:
    ServerError(Reason reason, const std::string& text, int code)
        : Error(reason, text), code_(code) {}
    int code() const { return code_; }

private:
    int code_;
};

/// One connection and the loop that it runs on; requests run the loop until their answer is there.
class Session {
public:
    explicit Session(kube::Connection connection);

    /// The answer, whatever its status. Throws Error when the server cannot be reached.
    net::Response ask(net::Request request);

    /// The answer's JSON. Throws ServerError when the status is not 2xx.
    api::Value call(net::Request request);
    api::Value get(const std::string& path, std::string_view accept = "application/json");
    /// Absent when there is none.
    std::optional<api::Value> find(const std::string& path);

    /// Sends a request, many at once over one connection and in order; `on_response` runs inside
    /// `wait`. Status 0: no answer.
    void send(net::Request request, std::function<void(net::Response)> on_response);
    /// Until `stop_waiting` is called from a response.
    void wait() { loop_.run(); }
    void stop_waiting() { loop_.stop(); }
    /// The answer's JSON, as `call` gives and throws.
    api::Value value_of(const net::Response& response) const;

    /// Gives each piece of a stream to `on_piece` until it says stop, the stream ends, or
    /// `deadline` has passed. Throws ServerError when the server refuses.
    enum class Go { on, stop };
    enum class Ended { stopped, closed, timed_out };
    Ended stream(net::Request request, const std::function<Go(std::string_view piece)>& on_piece,
                 std::optional<Time> deadline = std::nullopt);

    net::AsioLoop& loop() { return loop_; }
    kube::HttpTransport& transport() { return *transport_; }
    const std::string& default_namespace() const { return default_namespace_; }
    const std::string& server() const { return server_; }  // Its address.
    Time now() const { return loop_.now(); }

private:
    Error unreachable(const net::Response& answer) const;

    net::AsioLoop loop_;
    kube::Connection connection_;
    std::string default_namespace_;
    std::string server_;
    std::unique_ptr<kube::HttpTransport> transport_;
    std::unique_ptr<kube::HttpTransport> ordered_;  // Made with the first `send`.
};

/// A GET of a path that may have a query.
net::Request get_request(const std::string& path);
net::Request body_request(std::string method, const std::string& path, const api::Value& body,
                          std::string content_type = "application/json");

/// What an answer with an error status says, as kubectl puts it: "Error from server (NotFound):
/// ...".
ServerError error_of(const net::Response& response);

}  // namespace muster::cli
