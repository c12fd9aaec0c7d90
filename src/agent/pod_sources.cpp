// agent/pod_sources.cpp - see pod_sources.h.
#include "agent/pod_sources.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr std::size_t kEntryCost = 256;  // Of an entry, beside its key and text.

/// Without items all of it.
void add_items(const Value& source, KeysNeeded& keys) {
    if (!source.has("items")) keys.all = true;
    for (const Value& item : source["items"].items())
        keys.names.insert(item["key"].text());
}

void add_volume(const Value& volume, SourcesNeeded& needed) {
    if (const Value& map = volume["configMap"]; map.is_object())
        add_items(map, needed.config_maps[map["name"].text()]);
    if (const Value& secret = volume["secret"]; secret.is_object())
        add_items(secret, needed.secrets[secret["secretName"].text()]);
    for (const Value& source : volume["projected"]["sources"].items()) {
        if (const Value& map = source["configMap"]; map.is_object())
            add_items(map, needed.config_maps[map["name"].text()]);
        if (const Value& secret = source["secret"]; secret.is_object())
            add_items(secret, needed.secrets[secret["name"].text()]);
        if (const Value& token = source["serviceAccountToken"]; token.is_object())
            needed.tokens.insert(
                {token["audience"].text(), token["expirationSeconds"].integer_or(3600)});
    }
}

void add_container(const Value& container, SourcesNeeded& needed) {
    for (const Value& variable : container["env"].items()) {
        const Value& from = variable["valueFrom"];
        if (const Value& map = from["configMapKeyRef"]; map.is_object())
            needed.config_maps[map["name"].text()].names.insert(map["key"].text());
        if (const Value& secret = from["secretKeyRef"]; secret.is_object())
            needed.secrets[secret["name"].text()].names.insert(secret["key"].text());
    }
    for (const Value& from : container["envFrom"].items()) {
        if (const Value& map = from["configMapRef"]; map.is_object())
            needed.config_maps[map["name"].text()].all = true;
        if (const Value& secret = from["secretRef"]; secret.is_object())
            needed.secrets[secret["name"].text()].all = true;
    }
}

/// "metadata.labels['key']": the map and the key.
std::optional<std::pair<std::string, std::string>> map_reference(const std::string& path) {
    const std::size_t open = path.find("['");
    if (open == std::string::npos || !path.ends_with("']")) return std::nullopt;
    return std::pair(path.substr(0, open), path.substr(open + 2, path.size() - open - 4));
}

/// The lines of a whole map in the downward API: key="escaped value".
std::string map_lines(const Value& map) {
    std::vector<std::string> lines;
    for (const Value::Member& member : map.members())
        lines.push_back(member.key + "=" + quoted(member.value.text()));
    std::sort(lines.begin(), lines.end());
    return join(lines, "\n");
}

}  // namespace

SourcesNeeded sources_of_variables(const Value& pod) {
    SourcesNeeded needed;
    for (const char* list : {"initContainers", "containers"})
        for (const Value& container : pod["spec"][list].items())
            add_container(container, needed);
    return needed;
}

SourcesNeeded sources_needed(const Value& pod) {
    SourcesNeeded needed = sources_of_variables(pod);
    for (const Value& volume : pod["spec"]["volumes"].items())
        add_volume(volume, needed);
    return needed;
}

Value kept_of(const Value& object, const KeysNeeded& keys) {
    Value kept = Value::object({{"kind", object["kind"]}});
    for (const char* part : {"data", "binaryData"}) {
        if (object[part].empty()) continue;
        Value::Object& members = kept.at(part).mutable_members();
        for (const Value::Member& member : object[part].members())
            if (keys.all || keys.names.contains(std::string(member.key))) members.push_back(member);
    }
    return kept;
}

std::size_t cost_of(const Value& kept) {
    std::size_t cost = 0;
    for (const char* part : {"data", "binaryData"})
        for (const Value::Member& member : kept[part].members())
            cost += std::string_view(member.key).size() + member.value.text().size() + kEntryCost;
    return cost;
}

std::optional<std::string> SourceEntry::bytes() const {
    return base64 ? from_base64(text->text()) : std::optional(text->text());
}

const SourceIndex::Entries& SourceIndex::of(const Value& object) {
    const auto [at, added] = known_.try_emplace(&object);
    Entries& entries = at->second;
    if (!added) return entries;
    const bool is_secret = object["kind"].text() == "Secret";
    for (const Value::Member& member : object["data"].members())
        entries.try_emplace(member.key, SourceEntry{&member.value, is_secret, false});
    if (is_secret) return entries;
    for (const Value::Member& member : object["binaryData"].members())
        entries.try_emplace(member.key, SourceEntry{&member.value, true, true});
    return entries;
}

const SourceEntry* SourceIndex::find(const Value& object, std::string_view key) {
    const Entries& entries = of(object);
    const auto at = entries.find(key);
    return at == entries.end() ? nullptr : &at->second;
}

std::optional<std::string> field_value(const Value& pod, const PodPlace& place,
                                       const std::string& path) {
    const Value& metadata = pod["metadata"];
    if (path == "metadata.name") return metadata["name"].text();
    if (path == "metadata.namespace") return metadata["namespace"].text();
    if (path == "metadata.uid") return metadata["uid"].text();
    if (path == "metadata.labels") return map_lines(metadata["labels"]);
    if (path == "metadata.annotations") return map_lines(metadata["annotations"]);
    if (path == "spec.nodeName" || path == "spec.host") return place.node_name;
    if (path == "spec.serviceAccountName")
        return std::string(pod["spec"]["serviceAccountName"].text_or("default"));
    if (path == "status.hostIP" || path == "status.hostIPs") return place.host_ip;
    if (path == "status.podIP" || path == "status.podIPs") return place.pod_ip;
    if (const auto reference = map_reference(path)) {
        if (reference->first == "metadata.labels")
            return metadata["labels"][reference->second].text();
        if (reference->first == "metadata.annotations")
            return metadata["annotations"][reference->second].text();
    }
    return std::nullopt;
}

std::optional<std::string> resource_value(const Value& pod, const PodPlace& place,
                                          const Value& reference,
                                          const std::string& default_container) {
    const std::string wanted(reference["containerName"].text_or(default_container));
    const std::string resource = reference["resource"].text();
    const auto dot = split_first(resource, '.');
    if (!dot) return std::nullopt;
    const std::string name(dot->after);
    const Value* found = nullptr;
    for (const char* list : {"containers", "initContainers"})
        for (const Value& container : pod["spec"][list].items())
            if (container["name"].text() == wanted) found = &container;
    if (!found) return std::nullopt;
    std::string text = (*found)["resources"][dot->before][name].text();
    if (text.empty() && dot->before == "limits") text = place.allocatable[name].text();
    const Quantity amount = Quantity::parse(text).value_or(Quantity{});
    const Quantity divisor =
        Quantity::parse(reference["divisor"].text_or("1")).value_or(Quantity::from_units(1));
    // Rounded up, as in the kubelet; cpu may be divided by thousandths.
    const bool thousandths = name == "cpu";
    std::int64_t unit = thousandths ? divisor.milli() : divisor.units();
    if (unit <= 0) unit = thousandths ? 1000 : 1;
    const std::int64_t value = thousandths ? amount.milli() : amount.units();
    return std::to_string(value / unit + (value % unit > 0 ? 1 : 0));
}

}  // namespace muster::agent
