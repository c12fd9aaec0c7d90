// kube/request.h - requests to an API server as values: built here, sent by a transport.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/kind.h"
#include "api/value.h"
#include "net/http.h"

namespace muster::kube {

/// Which resource, in which version.
struct Target {
    api::GroupResource resource;
    std::string version;
};

/// "/apis/batch/v1/namespaces/default/jobs/train/status". Empty parts are left out.
std::string path_of(const Target& target, std::string_view ns, std::string_view name,
                    std::string_view subresource = "");

net::Request get(const Target& target, std::string_view ns, std::string_view name);
net::Request list(const Target& target, std::string_view ns);
net::Request create(const Target& target, std::string_view ns, std::string_view name,
                    std::string_view subresource, const api::Value& body);
net::Request update(const Target& target, const api::Key& key, std::string_view subresource,
                    const api::Value& body);

/// `content_type`: application/merge-patch+json, json-patch+json, strategic-merge-patch+json,
/// apply-patch+yaml.
net::Request patch(const Target& target, const api::Key& key, std::string_view subresource,
                   std::string_view content_type, const api::Value& body);

/// Preconditions, propagation and grace as DeleteOptions; empty ones are left out.
net::Request remove(const Target& target, const api::Key& key, std::string_view uid,
                    std::string_view propagation,
                    std::optional<std::int64_t> grace_seconds = std::nullopt);

/// Every object of the resource in a namespace.
net::Request remove_all(const Target& target, std::string_view ns, std::string_view propagation);

/// A watch from `since`; an empty `since` asks for all present objects first (WatchList), ended by
/// a bookmark.
net::Request watch(const Target& target, std::string_view since);

/// The JSON of an answer; null when it has none.
api::Value body_of(const net::Response& response, api::FieldOwners owners = api::FieldOwners::kept);

}  // namespace muster::kube
