// apiserver/webhook_call.cpp - the address of a webhook, the patience with it, and its answer.
#include "apiserver/webhook_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/json.h"
#include "api/type_words.h"
#include "api/webhook_client.h"
#include "api/yaml.h"
#include "apiserver/commit.h"
#include "apiserver/exchange.h"
#include "apiserver/service_endpoint.h"
#include "base/text.h"
#include "net/pki.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::size_t longest_shown = 2048;  // Of an answer that is an error.
constexpr std::int64_t https_port = 443;

/// What a client library says of a code that comes without a Status.
std::string code_text(int code, const std::string& said) {
    switch (code) {
        case 400:
            return "the server rejected our request for an unknown reason";
        case 401:
            return "the server has asked for the client to provide credentials";
        case 403:
        case 415:
            return said;
        case 404:
            return "the server could not find the requested resource";
        case 405:
            return "the server does not allow this method on the requested resource";
        case 406:
            return said == "unknown" ? "the server was unable to respond with a content type that "
                                       "the client supports"
                                     : said;
        case 409:
            return "the server reported a conflict";
        case 422:
            return "the server rejected our request due to an error in our request";
        case 429:
            return "the server has received too many requests and has asked us to try again later";
        case 503:
            return "the server is currently unable to handle the request";
        case 504:
            return "the server was unable to return a response in the time allotted, but may still "
                   "be processing the request";
        default:
            break;
    }
    if (code >= 500) {
        return "an error on the server (" + quoted(said) +
               ") has prevented the request from succeeding";
    }
    return "the server responded with the status code " + std::to_string(code) +
           " but did not return more information";
}

/// Of an answer that is no success.
std::string refusal_text(const net::Response& response) {
    auto parsed = api::parse_json(*response.body);
    if (const auto* good = std::get_if<api::Parsed>(&parsed)) {
        const Value& body = good->value;
        if (body["kind"].text_or("") == "Status" && body["status"].text_or("") != "Success")
            return body["message"].text();
    }
    const std::string_view type = response.headers.get("Content-Type");
    std::string said = "unknown";
    if (type.empty() || type.starts_with("text/"))
        said = trim(std::string_view(*response.body).substr(0, longest_shown));
    return code_text(response.status, said);
}

/// JSON, or YAML, as the reference's clients read it; or what is wrong with it.
std::variant<Value, std::string> document_in(const std::string& body) {
    auto json = api::parse_json(body);
    Value document;
    if (auto* good = std::get_if<api::Parsed>(&json)) {
        document = std::move(good->value);
    } else {
        auto yaml = api::parse_yaml(body);
        auto* documents = std::get_if<std::vector<api::Parsed>>(&yaml);
        if (documents == nullptr || documents->size() != 1)
            return std::get<api::ParseError>(json).text;
        document = std::move(documents->front().value);
    }
    if (document.is_null()) document = Value::object();
    if (document.is_object()) return document;
    return "json: cannot unmarshal " + std::string(api::json_type(document)) +
           R"( into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; )"
           R"(Kind string "json:\"kind,omitempty\"" })";
}

struct Wrong {
    std::string url;
    std::string why;
};

std::string with_timeout(std::string path, Duration timeout) {
    if (path.empty()) path = "/";
    return path + "?timeout=" + std::to_string(timeout.nanoseconds / seconds(1).nanoseconds) + "s";
}

const Value* port_of(const Value& service, std::int64_t number) {
    for (const Value& port : service["spec"]["ports"].items()) {
        if (port["port"].integer_or(0) == number) return &port;
    }
    return nullptr;
}

std::variant<WebhookCall, Wrong> to_service(Context& context, const Value& given,
                                            Duration timeout) {
    const std::string name = given["name"].text(), ns = given["namespace"].text();
    const std::int64_t number = given["port"].integer_or(https_port);
    WebhookCall call;
    call.way = WebhookCall::Way::pods;
    call.server_name = name + "." + ns + ".svc";
    call.request.path = given["path"].text();
    call.url = "https://" + call.server_name + ":" + std::to_string(number) +
               with_timeout(call.request.path, timeout);
    const Value service = newest_of(context, *api::find_kind("", "services"), ns, name).object;
    if (service.is_null()) return Wrong{call.url, "service " + quoted(name) + " not found"};
    const Value* port = port_of(service, number);
    if (port == nullptr) {
        return Wrong{call.url, "no service port " + std::to_string(number) + " found for service " +
                                   quoted(name)};
    }
    const auto endpoint = ready_endpoint(context, ns, name, *port);
    if (!endpoint) return Wrong{call.url, "no endpoints available for service " + quoted(name)};
    call.target = {net::Target::Scheme::https, endpoint->address, endpoint->port};
    return call;
}

std::variant<WebhookCall, Wrong> to_url(const Value& given, Duration timeout) {
    const api::WebhookUrl url = api::webhook_url(given.text_or(""));
    WebhookCall call;
    call.request.path = url.path;
    call.url = url.scheme + "://" + url.host + with_timeout(url.path, timeout);
    const auto parsed = net::parse_url("https://" + url.host + "/");
    if (!url.fault.empty() || url.scheme != "https" || !parsed)
        return Wrong{call.url, "the URL leads nowhere"};
    call.target = parsed->target;
    return call;
}

/// The call without its body.
std::variant<WebhookCall, Wrong> address(Context& context, const Value& client, Duration timeout) {
    auto made = client["service"].is_object() ? to_service(context, client["service"], timeout)
                                              : to_url(client["url"], timeout);
    auto* call = std::get_if<WebhookCall>(&made);
    if (call == nullptr) return made;
    if (call->request.path.empty()) call->request.path = "/";
    call->timeout = timeout;
    call->authority_pem = from_base64(client["caBundle"].text_or("")).value_or("");
    if (trim(call->authority_pem).empty()) call->authority_pem.clear();
    if (!call->authority_pem.empty() && !net::read_certificate(call->authority_pem))
        return Wrong{call->url,
                     "unable to load root certificates: unable to parse bytes as PEM block"};
    net::Request& request = call->request;
    request.method = "POST";
    request.query_text = with_timeout("", timeout).substr(2);
    request.headers.set("Accept", "application/json, */*");
    request.headers.set("Content-Type", "application/json");
    request.headers.set("User-Agent", "muster");
    request.headers.set("Connection", "close");  // Each question has a connection of its own.
    const std::string& url = call->url;
    request.headers.set("Host", url.substr(8, url.find('/', 8) - 8));
    return made;
}

std::string post_fault(const std::string& url, std::string_view why) {
    return "Post " + quoted(url) + ": " + std::string(why);
}

/// A call under way: it ends by an answer or by its patience, whichever comes first.
struct Pending {
    std::function<void(WebhookAnswer)> done;
    std::optional<Loop::TimerId> timer;
    WebhookCaller::Drop drop;
};

void finish(Context& context, const std::shared_ptr<Pending>& pending, WebhookAnswer answer) {
    if (pending->done == nullptr) return;
    if (pending->timer) context.loop.cancel(*pending->timer);
    const auto done = std::exchange(pending->done, nullptr);
    done(std::move(answer));
}

}  // namespace

std::string call_fault(const WebhookCall& call, std::string_view why) {
    const std::string place = call.target.host + ":" + std::to_string(call.target.port);
    const auto says = [&](std::string_view words) { return why.find(words) != std::string::npos; };
    std::string text(why);
    if (says("Connection refused") || says("refused")) {
        text = "dial tcp " + place + ": connect: connection refused";
    } else if (says("no such host")) {
        text = "dial tcp: lookup " + call.target.host + ": no such host";
    } else if (says("No route to host") || says("unreachable")) {
        text = "dial tcp " + place + ": connect: no route to host";
    } else if (says("timed out while connecting")) {
        text = "dial tcp " + place + ": i/o timeout";
    } else if (says("hostname mismatch") || says("IP address mismatch")) {
        const std::string& name = call.server_name.empty() ? call.target.host : call.server_name;
        text = "tls: failed to verify certificate: x509: certificate is not valid for " + name;
    } else if (says("has expired") || says("not yet valid")) {
        text =
            "tls: failed to verify certificate: x509: certificate has expired or is not yet "
            "valid";
    } else if (says("is not trusted")) {
        text = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    } else if (says("closed the connection") || says("connection broke")) {
        text = "EOF";
    } else if (says("wrong version number") || says("packet length too long")) {
        text = "http: server gave HTTP response to HTTPS client";
    }
    return post_fault(call.url, text);
}

WebhookAnswer read_answer(const net::Response& response) {
    if (response.status < 200 || response.status > 206) return refusal_text(response);
    const std::string& body = *response.body;
    if (body.empty()) {
        return "0-length response with status code: " + std::to_string(response.status) +
               " and content type: " + std::string(response.headers.get("Content-Type"));
    }
    auto parsed = document_in(body);
    if (const auto* problem = std::get_if<std::string>(&parsed))
        return "couldn't get version/kind; json parse error: " + *problem;
    Value document = std::move(std::get<Value>(parsed));
    if (document["kind"].text_or("") == "Status" && document["status"].text_or("") != "Success")
        return document["message"].text();
    return document;
}

void call_webhook(Context& context, const Value& client, const Value& document, Duration timeout,
                  std::function<void(WebhookAnswer)> done) {
    const auto pending = std::make_shared<Pending>();
    pending->done = std::move(done);
    const auto later = [&context, pending](std::string fault) {
        context.loop.post([&context, pending, fault, alive = std::weak_ptr(context.alive)] {
            if (!alive.expired()) finish(context, pending, fault);
        });
    };
    auto made = address(context, client, timeout);
    if (const auto* wrong = std::get_if<Wrong>(&made)) {
        later(post_fault(wrong->url, wrong->why));
        return;
    }
    WebhookCall& call = std::get<WebhookCall>(made);
    if (context.caller == nullptr) {
        later(post_fault(call.url, "this server has no way to call webhooks"));
        return;
    }
    call.request.body = make_bytes(api::to_json(document));
    WebhookCall known = call;
    known.request = {};
    pending->timer = context.loop.after(
        timeout, [&context, pending, url = call.url, alive = std::weak_ptr(context.alive)] {
            if (alive.expired()) return;
            pending->timer.reset();
            pending->drop();
            finish(context, pending, post_fault(url, "context deadline exceeded"));
        });
    pending->drop = context.caller->call(
        std::move(call), [&context, pending, known = std::move(known),
                          alive = std::weak_ptr(context.alive)](const net::Response& response) {
            if (alive.expired()) return;
            finish(
                context, pending,
                response.status == 0 ? call_fault(known, *response.body) : read_answer(response));
        });
}

}  // namespace muster::apiserver
