// agent/pod_sources.h - what a pod refers to: config maps, secrets, tokens, services; which of them
// it needs, and what was got of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::agent {

/// A token that a projected volume asks for.
struct TokenRequest {
    std::string audience;  // Empty: the server's own.
    std::int64_t expiration_seconds = 3607;
    friend auto operator<=>(const TokenRequest&, const TokenRequest&) = default;
};

/// What must be fetched before the pod can be prepared.
struct KeysNeeded {
    bool all = false;
    std::set<std::string> names;
};
struct SourcesNeeded {
    std::map<std::string, KeysNeeded> config_maps;
    std::map<std::string, KeysNeeded> secrets;
    std::set<TokenRequest> tokens;
};
SourcesNeeded sources_needed(const api::Value& pod);

/// Those of them that variables of its containers are made of.
SourcesNeeded sources_of_variables(const api::Value& pod);

/// One entry of a config map or secret.
struct SourceEntry {
    const api::Value* text = nullptr;
    bool base64 = false;
    bool binary = false;  // Of `binaryData`, which no variable is made of.
    /// Absent when it is to be base64 and is not.
    std::optional<std::string> bytes() const;
};

/// The entries of config maps and secrets by key; each object is gone through once, for it may have
/// very many. The objects must stay where they are.
class SourceIndex {
public:
    using Entries = std::map<std::string_view, SourceEntry>;
    const Entries& of(const api::Value& object);
    /// Null when there is no such key.
    const SourceEntry* find(const api::Value& object, std::string_view key);

private:
    std::map<const api::Value*, Entries> known_;
};

/// What was fetched; an object that does not exist is not in its map.
struct Sources {
    std::map<std::string, api::Value> config_maps;
    std::map<std::string, api::Value> secrets;
    std::map<TokenRequest, std::string> tokens;
    std::map<TokenRequest, std::string> token_problems;
    std::vector<api::Value> services;  // Of the pod's namespace.
    mutable SourceIndex index;         // Of these, made as they are asked for.
};

/// What the agent knows of the pod's place.
struct PodPlace {
    std::string node_name;
    std::string host_ip;
    std::string pod_ip;
    std::optional<std::string> visible_gpus;  // Absent: nobody counts GPUs here.
    api::Value allocatable;                   // The node's.
    std::string home;
    std::string certificate_authority_pem;
};

/// The entries of a config map or secret that are needed, without the rest of it.
api::Value kept_of(const api::Value& object, const KeysNeeded& keys);

/// What such an object takes, each entry with what stands for it.
std::size_t cost_of(const api::Value& kept);

/// The value of a fieldRef; absent when there is no such field. The pod's status may be stale: ip
/// and host come from the place.
std::optional<std::string> field_value(const api::Value& pod, const PodPlace& place,
                                       const std::string& path);

/// The value of a resourceFieldRef, in units of its divisor; absent when there is none.
std::optional<std::string> resource_value(const api::Value& pod, const PodPlace& place,
                                          const api::Value& reference,
                                          const std::string& default_container);

}  // namespace muster::agent
