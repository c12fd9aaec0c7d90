// apiserver/health.cpp - the server answers at all: that is what these say.
#include "apiserver/health.h"

#include <string>

#include "apiserver/answer.h"

namespace muster::apiserver {

bool serve_health(Exchange& exchange) {
    static constexpr const char* checks[] = {"ping", "log", "store"};
    const std::string& path = exchange.route.path;
    for (const std::string name : {"healthz", "livez", "readyz"}) {
        const std::string root = "/" + name;
        if (path == root) {
            if (!exchange.request.has_query("verbose")) {
                send_text(exchange, 200, "ok");
                return true;
            }
            std::string text;
            for (const char* check : checks)
                text += "[+]" + std::string(check) + " ok\n";
            send_text(exchange, 200, text + name + " check passed\n");
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
