// apiserver/openapi.cpp - OpenAPI documents, made when first asked for and named by their hash.
#include "apiserver/openapi.h"

#include <map>
#include <string>
#include <utility>

#include "api/json.h"
#include "api/openapi.h"
#include "apiserver/answer.h"
#include "apiserver/status_error.h"
#include "net/secret.h"

namespace muster::apiserver {
namespace {

/// A document and its hash, which is part of its address: clients keep it for ever.
struct Document {
    Bytes json;
    std::string hash;
};

/// "api/v1", "apis/batch/v1".
std::string path_of(const api::GroupVersion& version) {
    return version.group.empty() ? "api/" + version.version
                                 : "apis/" + version.group + "/" + version.version;
}

/// All documents by path. They say the same as long as the program runs.
const std::map<std::string, Document>& documents() {
    static const std::map<std::string, Document> made = [] {
        std::map<std::string, Document> all;
        for (const api::GroupVersion& version : api::open_api_group_versions()) {
            std::string text = api::to_json(api::open_api_document(version));
            std::string hash = net::sha256_hex(text);
            all[path_of(version)] = {make_bytes(std::move(text)), std::move(hash)};
        }
        return all;
    }();
    return made;
}

void send_index(Exchange& exchange) {
    api::Value paths = api::Value::object();
    for (const auto& [path, document] : documents()) {
        paths.set(path, api::Value::object({{"serverRelativeURL",
                                             "/openapi/v3/" + path + "?hash=" + document.hash}}));
    }
    send_value(exchange, 200, api::Value::object({{"paths", paths}}));
}

}  // namespace

void serve_openapi(Exchange& exchange) {
    const std::string& path = exchange.route.path;
    if (path == "/openapi/v3" || path == "/openapi/v3/") {
        send_index(exchange);
        return;
    }
    const std::string prefix = "/openapi/v3/";
    if (!path.starts_with(prefix)) {
        throw StatusError(Reason::not_found,
                          "this server publishes OpenAPI v3 at /openapi/v3, not "
                          "v2");
    }
    const auto found = documents().find(path.substr(prefix.size()));
    if (found == documents().end()) throw no_such_resource();
    const Document& document = found->second;
    net::Response response;
    response.headers.add("Content-Type", "application/json");
    response.headers.add("ETag", "\"" + document.hash + "\"");
    response.headers.add("Vary", "Accept");
    const bool named = exchange.request.query_value("hash") == document.hash;
    response.headers.add("Cache-Control", named ? "public, immutable" : "no-cache, private");
    if (exchange.request.headers.get("If-None-Match") == "\"" + document.hash + "\"") {
        response.status = 304;
        response.body = make_bytes("");
    } else {
        response.body = document.json;
    }
    exchange.responder->respond(std::move(response));
}

}  // namespace muster::apiserver
