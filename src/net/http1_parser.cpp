// net/http1_parser.cpp - the only file that includes Boost.Beast: its parsers, used without
// streams.
#include "net/http1_parser.h"

#include <limits>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace muster::net {
namespace http = boost::beast::http;

/// Beast has one parser for each direction, each for one message.
struct Http1Parser::State {
    Reads reads;
    Limits limits;
    std::optional<http::request_parser<http::string_body>> request;
    std::optional<http::response_parser<http::string_body>> response;
    std::string held;         // Beast wants a header in one piece: what came of it so far.
    bool line_ended = false;  // The last character that Beast took of a header ended a line.
    Problem problem = Problem::none;

    template <class Visit>
    auto with(Visit visit) const {
        return reads == Reads::requests ? visit(*request) : visit(*response);
    }
    template <class Visit>
    auto with(Visit visit) {
        return reads == Reads::requests ? visit(*request) : visit(*response);
    }

    std::size_t put(std::string_view bytes);
    void look_for_folds(std::string_view taken);
    void fail(const boost::beast::error_code& failed);
};

namespace {

template <class Parser>
void set_up(Parser& parser, const Http1Parser::Limits& limits) {
    parser.header_limit(static_cast<std::uint32_t>(limits.header));
    if (limits.body == 0) {
        parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    } else {
        parser.body_limit(limits.body);
    }
}

}  // namespace

Http1Parser::Http1Parser(Reads reads, Limits limits) : state_(std::make_unique<State>()) {
    state_->reads = reads;
    state_->limits = limits;
    next();
}

Http1Parser::~Http1Parser() = default;

void Http1Parser::next(Body body) {
    state_->problem = Problem::none;
    state_->held.clear();
    state_->line_ended = false;
    if (state_->reads == Reads::requests) {
        set_up(state_->request.emplace(), state_->limits);
    } else {
        set_up(state_->response.emplace(), state_->limits);
        state_->response->skip(body == Body::none);
    }
}

void Http1Parser::State::fail(const boost::beast::error_code& failed) {
    if (failed == http::error::body_limit) {
        problem = Problem::body_too_large;
    } else if (failed == http::error::header_limit) {
        problem = Problem::header_too_large;
    } else {
        problem = Problem::malformed;
    }
}

/// Gives bytes to the parser, which may want more before it takes any.
std::size_t Http1Parser::State::put(std::string_view bytes) {
    boost::beast::error_code failed;
    const std::size_t used = with([&](auto& parser) {
        return parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), failed);
    });
    if (failed && failed != http::error::need_more) fail(failed);
    return used;
}

/// A request's field that goes on in the next line is refused (RFC 9112 5.2): who stands before
/// this server may have taken that line for another field.
void Http1Parser::State::look_for_folds(std::string_view taken) {
    for (const char c : taken) {
        if (line_ended && (c == ' ' || c == '\t')) problem = Problem::malformed;
        line_ended = c == '\n';
    }
}

std::size_t Http1Parser::feed(std::string_view bytes) {
    if (header_done()) {
        std::size_t used = 0;
        while (used < bytes.size() && !done() && problem() == Problem::none) {
            const std::size_t step = state_->put(bytes.substr(used));
            if (step == 0) break;  // A chunk's header came in part.
            used += step;
        }
        return used;
    }
    const std::size_t before = state_->held.size();
    state_->held += bytes;
    const std::size_t used = state_->put(state_->held);
    if (state_->reads == Reads::requests)
        state_->look_for_folds(std::string_view(state_->held).substr(0, used));
    if (problem() != Problem::none) return bytes.size();
    // The parser takes start line and fields as they are complete; what it took is never held.
    const std::size_t taken_now = used > before ? used - before : 0;
    if (header_done()) {
        state_->held.clear();
        return taken_now;
    }
    state_->held.erase(0, used);
    return bytes.size();
}

void Http1Parser::end_of_stream() {
    boost::beast::error_code failed;
    state_->with([&](auto& parser) { parser.put_eof(failed); });
    if (failed) state_->fail(failed);
}

Http1Parser::Problem Http1Parser::problem() const {
    return state_->problem;
}

bool Http1Parser::started() const {
    return !state_->held.empty() ||
           state_->with([](const auto& parser) { return parser.got_some(); });
}

bool Http1Parser::header_done() const {
    return state_->with([](const auto& parser) { return parser.is_header_done(); });
}

bool Http1Parser::done() const {
    return state_->with([](const auto& parser) { return parser.is_done(); });
}

bool Http1Parser::keeps_alive() const {
    return state_->with([](const auto& parser) { return parser.keep_alive(); });
}

bool Http1Parser::is_http10() const {
    return state_->with([](const auto& parser) { return parser.get().version() == 10; });
}

int Http1Parser::status() const {
    return static_cast<int>(state_->response->get().result_int());
}

std::string Http1Parser::method() const {
    return std::string(state_->request->get().method_string());
}

std::string Http1Parser::target() const {
    return std::string(state_->request->get().target());
}

Headers Http1Parser::headers() const {
    Headers headers;
    state_->with([&](const auto& parser) {
        for (const auto& field : parser.get())
            headers.add(std::string(field.name_string()), std::string(field.value()));
    });
    return headers;
}

bool Http1Parser::upgraded() const {
    return state_->with([](const auto& parser) { return parser.upgrade(); });
}

std::size_t Http1Parser::body_size() const {
    return state_->with([](const auto& parser) { return parser.get().body().size(); });
}

std::string Http1Parser::take_body() {
    return state_->with([](auto& parser) { return std::exchange(parser.get().body(), {}); });
}

}  // namespace muster::net
