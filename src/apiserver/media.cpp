// apiserver/media.cpp - reading Accept and Content-Type.
#include "apiserver/media.h"

#include <cstddef>

#include "apiserver/route.h"
#include "base/text.h"
#include "net/query_flag.h"

namespace muster::apiserver {
namespace {

std::string_view essence(std::string_view media) {
    return trim(media.substr(0, media.find(';')));
}

/// The form for one media range of Accept; absent when it cannot be answered.
std::optional<Form> form_of(std::string_view media) {
    Form form;
    const std::string_view type = essence(media);
    if (type == "application/yaml") {
        form.yaml = true;
    } else if (type != "application/json" && type != "*/*" && type != "application/*") {
        return std::nullopt;
    }
    const std::string_view as = parameter(media, "as");
    if (as.empty()) return form;
    if (parameter(media, "g") != "meta.k8s.io") return std::nullopt;
    const std::string_view version = parameter(media, "v");
    if (version != "v1" && version != "v1beta1") return std::nullopt;
    form.meta_version = version;
    if (as == "Table") {
        form.shape = Form::Shape::table;
    } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
        form.shape = Form::Shape::metadata;
        form.list = as == "PartialObjectMetadataList";
    } else {
        return std::nullopt;
    }
    return form;
}

bool likes_pretty(const net::Request& request) {
    if (request.has_query("pretty")) return net::query_flag(request, "pretty");
    const std::string_view agent = request.headers.get("User-Agent");
    return agent.substr(0, 5) == "curl/" || agent.substr(0, 5) == "Wget/" ||
           agent.substr(0, 8) == "Mozilla/";
}

}  // namespace

std::string_view parameter(std::string_view media, std::string_view name) {
    std::size_t at = media.find(';');
    while (at != std::string_view::npos) {
        media.remove_prefix(at + 1);
        at = media.find(';');
        const std::string_view pair = trim(media.substr(0, at));
        const std::size_t equal = pair.find('=');
        if (equal != std::string_view::npos && pair.substr(0, equal) == name) {
            return trim(pair.substr(equal + 1));
        }
    }
    return {};
}

std::optional<Form> negotiate(const net::Request& request) {
    std::string_view accept = request.headers.get("Accept");
    std::optional<Form> found;
    if (trim(accept).empty()) found = Form{};
    while (!found && !accept.empty()) {
        const std::size_t comma = accept.find(',');
        found = form_of(trim(accept.substr(0, comma)));
        if (comma == std::string_view::npos) break;
        accept.remove_prefix(comma + 1);
    }
    if (!found) return found;
    const std::string_view include = request.query_value("includeObject");
    if (include == "None") found->include = Form::Include::none;
    if (include == "Object") found->include = Form::Include::object;
    found->pretty = likes_pretty(request);
    return found;
}

std::optional<BodyType> body_type(const net::Request& request) {
    const std::string_view type = essence(request.headers.get("Content-Type"));
    if (type.empty() || type == "application/json") return BodyType::json;
    if (type == "application/yaml") return BodyType::yaml;
    if (type == "application/vnd.kubernetes.protobuf") return BodyType::protobuf;
    if (type == "application/merge-patch+json") return BodyType::merge_patch;
    if (type == "application/json-patch+json") return BodyType::json_patch;
    if (type == "application/strategic-merge-patch+json") return BodyType::strategic_patch;
    if (type == "application/apply-patch+yaml") return BodyType::apply_patch;
    return std::nullopt;
}

}  // namespace muster::apiserver
