// api/webhook_client.cpp - the URL or the service of a webhook, checked in kube-apiserver's words.
#include "api/webhook_client.h"

#include <algorithm>

#include "api/field_error.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

constexpr std::string_view form = "; desired format: https://host[/path]";

bool is_scheme(std::string_view text) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !text.empty() && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
           });
}

/// What is wrong with "host:port", or nothing.
std::string host_fault(std::string_view host) {
    const std::size_t from = host.starts_with('[') ? host.find(']') : 0;
    if (from == std::string_view::npos) return "missing ']' in host";
    const std::size_t colon = host.find(':', from);
    if (colon == std::string_view::npos) return "";
    const std::string_view port = host.substr(colon);
    const bool digits =
        std::all_of(port.begin() + 1, port.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits ? "" : "invalid port " + quoted(port) + " after host";
}

void check_url(const Value& given, const Path& path, Errors& errors) {
    const WebhookUrl url = webhook_url(given.text_or(""));
    if (!url.fault.empty()) {
        errors.push_back(
            required(path, "url must be a valid URL: " + url.fault + std::string(form)));
        return;
    }
    const auto wrong = [&](const std::string& shown, std::string_view why) {
        errors.push_back(invalid(path, Value(shown), why));
    };
    if (url.scheme != "https")
        wrong(url.scheme, "'https' is the only allowed URL scheme" + std::string(form));
    if (url.host.empty()) wrong(url.host, "host must be specified" + std::string(form));
    if (!url.user.empty()) wrong(url.user, "user information is not permitted in the URL");
    if (!url.fragment.empty()) wrong(url.fragment, "fragments are not permitted in the URL");
    if (!url.query.empty()) wrong(url.query, "query parameters are not permitted in the URL");
}

void check_path(const Value& given, const Path& path, Errors& errors) {
    const std::string_view text = given.text_or("");
    if (text.empty() || text == "/") return;
    if (text == "//") {
        errors.push_back(invalid(path, given, "segment[0] may not be empty"));
        return;
    }
    if (!text.starts_with('/')) errors.push_back(invalid(path, given, "must start with a '/'"));
    std::string_view rest = text.substr(1);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    const std::vector<std::string_view> steps = split(rest, '/');
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string segment = "segment[" + std::to_string(i) + "]";
        if (steps[i].empty()) {
            errors.push_back(invalid(path, given, segment + " may not be empty"));
            continue;
        }
        for (const std::string& fault : dns1123_subdomain_faults(steps[i]))
            errors.push_back(invalid(path, given, segment + ": " + fault));
    }
}

void check_service(const Value& service, const Path& path, Errors& errors) {
    for (const char* field : {"name", "namespace"}) {
        if (service[field].text_or("").empty()) errors.push_back(required(path.child(field)));
    }
    const std::int64_t port = service["port"].integer_or(443);
    if (port < 1 || port > 65535) {
        errors.push_back(invalid(path.child("port"), service["port"],
                                 "port is not valid: must be between 1 and 65535, inclusive"));
    }
    check_path(service["path"], path.child("path"), errors);
}

}  // namespace

WebhookUrl webhook_url(std::string_view text) {
    WebhookUrl url;
    const auto fail = [&](const std::string& why) {
        url.fault = "parse " + quoted(text) + ": " + why;
        return url;
    };
    const bool printable = std::none_of(text.begin(), text.end(),
                                        [](char c) { return c > 0 && (c < ' ' || c == 127); });
    if (!printable) return fail("net/url: invalid control character in URL");
    std::string_view rest = text;
    if (const auto halves = split_first(rest, '#')) {
        url.fragment = halves->after;
        rest = halves->before;
    }
    if (rest.starts_with(':')) return fail("missing protocol scheme");
    if (const auto halves = split_first(rest, ':'); halves && is_scheme(halves->before)) {
        url.scheme = to_lower(halves->before);
        rest = halves->after;
    } else if (halves && halves->before.find('/') == std::string_view::npos) {
        return fail("first path segment in URL cannot contain colon");
    }
    if (const auto halves = split_first(rest, '?')) {
        url.query = halves->after;
        rest = halves->before;
    }
    if (!rest.starts_with("//")) {
        url.path = rest;
        return url;
    }
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    url.path = rest.substr(slash);
    std::string_view place = rest.substr(0, slash);
    if (const auto halves = split_last(place, '@')) {
        url.user = halves->before;
        place = halves->after;
    }
    if (const std::string fault = host_fault(place); !fault.empty()) return fail(fault);
    if (place.find(' ') != std::string_view::npos)
        return fail("invalid character \" \" in host name");
    url.host = place;
    return url;
}

void check_webhook_client(const Value& client, const Path& path, Errors& errors) {
    const bool by_url = client["url"].is_string();
    const bool by_service = client["service"].is_object();
    if (by_url == by_service) {
        errors.push_back(required(path, "exactly one of url or service is required"));
    } else if (by_url) {
        check_url(client["url"], path.child("url"), errors);
    } else {
        check_service(client["service"], path.child("service"), errors);
    }
}

}  // namespace muster::api
