// apps/cli/session.cpp - runs the loop until an answer is there.
#include "apps/cli/session.h"

#include <utility>
#include <variant>

#include "api/json.h"
#include "base/text.h"

namespace muster::cli {
namespace {

constexpr Duration patience = seconds(90);

Reason reason_of(const std::string& word, int code) {
    for (int i = 0; i <= static_cast<int>(Reason::service_unavailable); ++i) {
        const auto reason = static_cast<Reason>(i);
        if (word == reason_word(reason)) return reason;
    }
    return code >= 500 ? Reason::internal_error : Reason::bad_request;
}

void split_target(const std::string& target, net::Request& request) {
    const auto halves = split_first(target, '?');
    request.path = halves ? std::string(halves->before) : target;
    if (halves) request.query = net::parse_query(halves->after);
}

}  // namespace

net::Request get_request(const std::string& path) {
    net::Request request;
    request.method = "GET";
    split_target(path, request);
    request.body = make_bytes("");
    request.headers.set("Accept", "application/json");
    return request;
}

net::Request body_request(std::string method, const std::string& path, const api::Value& body,
                          std::string content_type) {
    net::Request request;
    request.method = std::move(method);
    split_target(path, request);
    request.headers.set("Accept", "application/json");
    request.headers.set("Content-Type", std::move(content_type));
    request.body = make_bytes(body.is_null() ? "" : api::to_json(body));
    return request;
}

ServerError error_of(const net::Response& response) {
    std::string message = response.body ? *response.body : "";
    std::string word;
    auto parsed = api::parse_json(message);
    if (const auto* document = std::get_if<api::Parsed>(&parsed)) {
        const api::Value& status = document->value;
        if (status["message"].is_string()) message = status["message"].text();
        word = status["reason"].text();
    }
    if (message.empty())
        message = "the server answered with status " + std::to_string(response.status);
    const Reason reason = reason_of(word, response.status);
    if (response.status == 401)
        return {reason, "error: You must be logged in to the server (" + message + ")", 401};
    const std::string head = word.empty()        ? "Error from server: "
                             : word == "Invalid" ? "The request is invalid: "
                                                 : "Error from server (" + word + "): ";
    if (word == "Invalid") return {reason, "The " + message, response.status};
    return {reason, head + message, response.status};
}

Session::Session(kube::Connection connection)
    : connection_(connection),
      default_namespace_(connection.default_namespace),
      server_(connection.server) {
    net::ClientOptions options;
    options.response_timeout = patience;
    transport_ =
        std::make_unique<kube::HttpTransport>(loop_, loop_, std::move(connection), options);
}

net::Response Session::ask(net::Request request) {
    net::Response answer;
    transport_->send(std::move(request), [&](net::Response response) {
        answer = std::move(response);
        loop_.stop();
    });
    loop_.run();
    if (answer.status == 0) throw unreachable(answer);
    return answer;
}

Error Session::unreachable(const net::Response& answer) const {
    std::string_view where = server_;
    if (const std::size_t scheme = where.find("://"); scheme != std::string_view::npos)
        where.remove_prefix(scheme + 3);
    if (answer.body->find("refused") != std::string::npos)
        return Error(Reason::service_unavailable,
                     "The connection to the server " + std::string(where) +
                         " was refused - did you specify the right host or port?");
    return Error(Reason::service_unavailable,
                 "Unable to connect to the server " + std::string(where) + ": " + *answer.body);
}

void Session::send(net::Request request, std::function<void(net::Response)> on_response) {
    if (!ordered_) {
        net::ClientOptions options;
        options.response_timeout = patience;
        ordered_ = std::make_unique<kube::HttpTransport>(loop_, loop_, connection_, options,
                                                         kube::HttpTransport::Sends::in_order);
    }
    ordered_->send(std::move(request), std::move(on_response));
}

api::Value Session::call(net::Request request) {
    return value_of(ask(std::move(request)));
}

api::Value Session::value_of(const net::Response& response) const {
    if (response.status == 0) throw unreachable(response);
    if (response.status < 200 || response.status > 299) throw error_of(response);
    auto parsed = api::parse_json(*response.body);
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        throw Error(Reason::internal_error, "the server's answer is not JSON: " + error->text);
    return std::move(std::get<api::Parsed>(parsed).value);
}

api::Value Session::get(const std::string& path, std::string_view accept) {
    net::Request request = get_request(path);
    request.headers.set("Accept", std::string(accept));
    return call(std::move(request));
}

std::optional<api::Value> Session::find(const std::string& path) {
    try {
        return get(path);
    } catch (const ServerError& error) {
        if (error.code() == 404) return std::nullopt;
        throw;
    }
}

Session::Ended Session::stream(net::Request request,
                               const std::function<Go(std::string_view piece)>& on_piece,
                               std::optional<Time> deadline) {
    Ended ended = Ended::closed;
    net::Response head;
    std::string refusal;
    std::optional<kube::Transport::StreamId> id;
    kube::Transport::Stream calls;
    calls.on_head = [&](net::Response answer) {
        head = std::move(answer);
        if (head.status == 0) refusal = *head.body;
    };
    calls.on_piece = [&](std::string_view piece) {
        if (head.status != 200) {
            refusal += piece;
        } else if (on_piece(piece) == Go::stop) {
            ended = Ended::stopped;
            transport_->cancel(*id);
            loop_.stop();
        }
    };
    calls.on_closed = [&] { loop_.stop(); };
    id = transport_->open(std::move(request), std::move(calls));
    std::optional<Loop::TimerId> timer;
    if (deadline) {
        timer = loop_.after(*deadline - loop_.now(), [&] {
            timer.reset();
            ended = Ended::timed_out;
            transport_->cancel(*id);
            loop_.stop();
        });
    }
    loop_.run();
    if (timer) loop_.cancel(*timer);
    if (head.status == 0 && ended == Ended::closed)
        throw Error(Reason::service_unavailable, "Unable to connect to the server: " + refusal);
    if (head.status != 200 && ended == Ended::closed) {
        head.body = make_bytes(std::move(refusal));
        throw error_of(head);
    }
    return ended;
}

}  // namespace muster::cli
