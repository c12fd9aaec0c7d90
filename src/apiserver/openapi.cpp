// apiserver/openapi.cpp - OpenAPI documents, made when first asked for and named by their hash.
#include "apiserver/openapi.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "api/openapi.h"
#include "apiserver/answer.h"
#include "apiserver/status_error.h"
#include "base/verify.h"
#include "net/secret.h"

namespace muster::apiserver {
namespace {

/// "api/v1", "apis/batch/v1".
std::string path_of(const api::GroupVersion& version) {
    return version.group.empty() ? "api/" + version.version
                                 : "apis/" + version.group + "/" + version.version;
}

/// The document of a group version, made when it is first asked for.
const OpenApiDocument& document_of(Context& context, const api::GroupVersion& version) {
    OpenApiDocument& document = context.open_api[path_of(version)];
    if (document.json == nullptr) {
        std::string text = api::to_json(api::open_api_document(context.kinds, version));
        document.hash = net::sha256_hex(text);
        document.json = make_bytes(std::move(text));
    }
    return document;
}

constexpr std::string_view old_swagger = "2.0";
constexpr std::string_view old_title = "Muster";
constexpr std::string_view old_version = "v3";
constexpr std::string_view old_description = "The schemas are published at /openapi/v3.";

/// A field of a protobuf message that holds text or a message.
void add_field(std::string& message, int number, std::string_view content) {
    VERIFY(content.size() < 128);  // One byte of length.
    message += static_cast<char>(number << 3 | 2);
    message += static_cast<char>(content.size());
    message += content;
}

/// OpenAPI v2 without any schema: kubectl asks it about kinds that v3 does not have, and says that
/// there is no such kind only when it gets an answer.
void send_old(Exchange& exchange) {
    if (exchange.request.headers.get("Accept").find("proto-openapi.spec.v2") ==
        std::string_view::npos) {
        send_value(
            exchange, 200,
            api::Value::object({{"swagger", old_swagger},
                                {"info", api::Value::object({{"title", old_title},
                                                             {"version", old_version},
                                                             {"description", old_description}})},
                                {"paths", api::Value::object()},
                                {"definitions", api::Value::object()}}));
        return;
    }
    std::string info;
    add_field(info, 1, old_title);
    add_field(info, 2, old_version);
    add_field(info, 3, old_description);
    std::string document;
    add_field(document, 1, old_swagger);
    add_field(document, 2, info);
    add_field(document, 8, "");  // No paths.
    net::Response response;
    response.headers.add("Content-Type",
                         "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    response.body = make_bytes(std::move(document));
    exchange.responder->respond(std::move(response));
}

void send_index(Context& context, Exchange& exchange) {
    std::map<std::string, std::string> hashes;  // By path, which orders them.
    for (const api::GroupVersion& version : api::open_api_group_versions(context.kinds))
        hashes[path_of(version)] = document_of(context, version).hash;
    api::Value paths = api::Value::object();
    for (const auto& [path, hash] : hashes) {
        paths.set(path, api::Value::object(
                            {{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + hash}}));
    }
    send_value(exchange, 200, api::Value::object({{"paths", paths}}));
}

}  // namespace

void serve_openapi(Context& context, Exchange& exchange) {
    const std::string& path = exchange.route.path;
    if (path == "/openapi/v3" || path == "/openapi/v3/") {
        send_index(context, exchange);
        return;
    }
    if (path == "/openapi/v2") {
        send_old(exchange);
        return;
    }
    const std::string prefix = "/openapi/v3/";
    if (!path.starts_with(prefix)) throw no_such_resource();
    const auto versions = api::open_api_group_versions(context.kinds);
    const auto found =
        std::find_if(versions.begin(), versions.end(), [&](const api::GroupVersion& version) {
            return path_of(version) == std::string_view(path).substr(prefix.size());
        });
    if (found == versions.end()) throw no_such_resource();
    const OpenApiDocument& document = document_of(context, *found);
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
