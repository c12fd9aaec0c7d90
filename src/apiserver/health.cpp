// apiserver/health.cpp - the server answers at all: that is what these say.
#include "apiserver/health.h"

#include <algorithm>
#include <string>
#include <vector>

#include "apiserver/answer.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

constexpr const char* checks[] = {"ping", "log", "store"};

/// What ?verbose shows; ?exclude leaves checks out, and is told of those that are none.
std::string report(const net::Request& request, const std::string& name) {
    std::vector<std::string> excluded;
    for (const auto& [key, value] : request.query) {
        if (key == "exclude") excluded.push_back("\"" + value + "\"");
    }
    std::string text;
    for (const std::string check : checks) {
        const auto left_out = std::find(excluded.begin(), excluded.end(), "\"" + check + "\"");
        text += "[+]" + check + (left_out == excluded.end() ? " ok\n" : " excluded: ok\n");
        if (left_out != excluded.end()) excluded.erase(left_out);
    }
    if (!excluded.empty()) {
        text += "warn: some health checks cannot be excluded: no matches for " +
                join(excluded, ",") + "\n";
    }
    return text + name + " check passed\n";
}

}  // namespace

bool serve_health(Exchange& exchange) {
    const std::string& path = exchange.route.path;
    for (const std::string name : {"healthz", "livez", "readyz"}) {
        const std::string root = "/" + name;
        if (path == root) {
            if (!exchange.request.has_query("verbose")) {
                send_text(exchange, 200, "ok");
                return true;
            }
            send_text(exchange, 200, report(exchange.request, name));
            return true;
        }
        for (const char* check : checks) {
            if (path != root + "/" + check) continue;
            send_text(exchange, 200, "ok");
            return true;
        }
    }
    return false;
}

}  // namespace muster::apiserver
