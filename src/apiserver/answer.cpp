// apiserver/answer.cpp - the last step of a request: bytes and headers.
#include "apiserver/answer.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/yaml.h"
#include "apiserver/conversions.h"
#include "apiserver/stored.h"
#include "apiserver/table.h"
#include "apiserver/turns.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

/// A quoted string as RFC 7234 wants it in a Warning header.
std::string warning_text(const std::string& warning) {
    std::string text = "299 - \"";
    for (const char c : warning) {
        if (c == '"' || c == '\\') text += '\\';
        text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return text + "\"";
}

/// Each once, and not more of them than fits into an answer's head.
std::vector<std::string> said_warnings(const std::vector<std::string>& given) {
    constexpr std::size_t all_max = 4096, each_max = 256;
    constexpr std::string_view ellipsis = "...";
    std::set<std::string_view> met;
    std::vector<std::string> said;
    std::size_t size = 0, shortened = 0;
    for (const std::string& warning : given) {
        if (!met.insert(warning).second) continue;
        size += warning.size();
        shortened += std::min(warning.size(), each_max + ellipsis.size());
        if (shortened > all_max) break;
        said.push_back(warning);
    }
    if (size <= all_max) return said;
    for (std::string& warning : said) {
        if (warning.size() > each_max) warning.replace(each_max, std::string::npos, ellipsis);
    }
    return said;
}

/// Smaller answers are not worth the time; kube-apiserver's limit.
constexpr std::size_t packed_from = 128 << 10;

bool accepts_gzip(const net::Request& request) {
    for (std::string_view part : split(request.headers.get("Accept-Encoding"), ',')) {
        const std::string_view name = trim(part.substr(0, part.find(';')));
        if (name != "gzip" && name != "*") continue;
        const std::string_view weight = trim(part.substr(std::min(part.find("q="), part.size())));
        return weight != "q=0" && weight != "q=0.0" && weight != "q=0.00" && weight != "q=0.000";
    }
    return false;
}

net::Response response_of(const Exchange& exchange, int code, Bytes body, std::string type) {
    net::Response response;
    response.status = code;
    response.headers.add("Content-Type", std::move(type));
    response.headers.add("Cache-Control", "no-cache, private");
    for (const std::string& warning : said_warnings(exchange.warnings)) {
        response.headers.add("Warning", warning_text(warning));
    }
    response.body = std::move(body);
    if (response.body->size() >= packed_from) {
        response.headers.add("Vary", "Accept-Encoding");
        if (accepts_gzip(exchange.request)) response.packing = net::Response::Packing::gzip;
    }
    charge_answer(exchange, response);
    return response;
}

/// An answer may repeat what the client sent, which may be no UTF-8: JSON must be.
Bytes readable(Bytes text) {
    if (is_utf8(*text)) return text;
    std::string repaired = *text;
    for (char& c : repaired) {
        if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    return make_bytes(std::move(repaired));
}

/// YAML cannot be written at all of what is no UTF-8.
std::string yaml_of(const api::Value& value) {
    const Bytes text = make_bytes(api::to_json(value));
    const Bytes good = readable(text);
    if (good == text) return api::to_yaml(value);
    return api::to_yaml(std::get<api::Parsed>(api::parse_json(*good)).value);
}

}  // namespace

std::string encoded(const Form& form, const api::Value& value) {
    if (form.yaml) return yaml_of(value);
    return (form.pretty ? api::to_pretty_json(value) : api::to_json(value)) + "\n";
}

std::string content_type(const Form& form) {
    std::string type = form.yaml ? "application/yaml" : "application/json";
    return type;
}

void send_json(Exchange& exchange, int code, Bytes json, const std::string& type) {
    exchange.answered = true;
    exchange.responder->respond(response_of(exchange, code, std::move(json), type));
}

void send_rope(Exchange& exchange, int code, net::RopePtr rope, const std::string& type) {
    if (!exchange.request.charge || rope->size() < packed_from)
        return send_json(exchange, code, make_bytes(rope->text()), type);
    exchange.answered = true;
    net::Response response = response_of(exchange, code, make_bytes(""), type);
    response.rope = std::move(rope);
    response.headers.add("Vary", "Accept-Encoding");
    if (accepts_gzip(exchange.request)) response.packing = net::Response::Packing::gzip;
    exchange.responder->respond(std::move(response));
}

void send_value(Exchange& exchange, int code, const api::Value& value) {
    send_json(exchange, code, make_bytes(encoded(exchange.form, value)),
              content_type(exchange.form));
}

void send_text(Exchange& exchange, int code, std::string text) {
    send_json(exchange, code, make_bytes(std::move(text)), "text/plain; charset=utf-8");
}

void send_error(Exchange& exchange, const StatusError& error) {
    if (error.is_page()) return send_text(exchange, 404, "404 page not found\n");
    Form form;
    form.yaml = exchange.form.yaml;
    form.pretty = exchange.form.pretty;
    net::Response response =
        response_of(exchange, error.code(), readable(make_bytes(encoded(form, status_of(error)))),
                    content_type(form));
    const std::int64_t retry = error.details()["retryAfterSeconds"].integer_or(0);
    if (retry > 0) response.headers.add("Retry-After", std::to_string(retry));
    if (error.code() == 401) response.headers.add("WWW-Authenticate", "Bearer");
    exchange.answered = true;
    exchange.responder->respond(std::move(response));
}

api::Value to_metadata(const api::Value& object, const std::string& meta_version) {
    return api::Value::object({{"kind", "PartialObjectMetadata"},
                               {"apiVersion", "meta.k8s.io/" + meta_version},
                               {"metadata", object["metadata"]}});
}

api::Value shaped(const Exchange& exchange, api::Value object, Time now) {
    if (exchange.form.shape == Form::Shape::metadata) {
        return to_metadata(object, exchange.form.meta_version);
    }
    if (exchange.form.shape == Form::Shape::table) {
        api::Value table = empty_table(*exchange.kind, *exchange.version, exchange.form);
        table.set("metadata",
                  api::Value::object({{"resourceVersion", object["metadata"]["resourceVersion"]}}));
        table.at("rows").push(
            table_row(*exchange.kind, *exchange.version, exchange.form, object, now));
        return table;
    }
    return object;
}

void send_object(Context& context, Exchange& exchange, int code, const api::Value& stored,
                 const Bytes& bytes) {
    const Form& form = exchange.form;
    const bool as_stored = is_stored_form(*exchange.kind, exchange.version->name);
    if (bytes != nullptr && as_stored && form.shape == Form::Shape::object && !form.yaml &&
        !form.pretty) {
        send_json(exchange, code, bytes, content_type(form));
        return;
    }
    api::Value tree = stored.is_null() && bytes != nullptr ? read_stored(*bytes) : stored;
    tree = shown_in(context, exchange, *exchange.kind, std::move(tree), exchange.version->name);
    send_value(exchange, code, shaped(exchange, std::move(tree), context.loop.now()));
}

void guarded(const ExchangePtr& exchange, const std::function<void()>& step,
             const std::function<void(const StatusError&)>& refuse) {
    const auto refused = [&](const StatusError& error) {
        if (refuse != nullptr) {
            refuse(error);
        } else if (!exchange->answered) {
            send_error(*exchange, error);
        } else {
            log_error("apiserver", exchange->request.method + " " + exchange->request.path +
                                       ", already answered: " + error.what());
        }
    };
    const Stopwatch stopwatch(exchange);
    try {
        step();
    } catch (const NotYetKnown& needed) {
        needed.find_out([exchange, step, refuse] { guarded(exchange, step, refuse); },
                        [exchange, refuse](const StatusError& error) {
                            guarded(
                                exchange, [error] { throw StatusError(error); }, refuse);
                        });
    } catch (const StatusError& error) {
        refused(error);
    } catch (const Error& error) {
        refused(StatusError(error.reason(), error.what()));
    } catch (const std::exception& error) {
        log_error("apiserver",
                  exchange->request.method + " " + exchange->request.path + ": " + error.what());
        refused(StatusError(Reason::internal_error,
                            std::string("Internal error occurred: ") + error.what()));
    }
}

}  // namespace muster::apiserver
