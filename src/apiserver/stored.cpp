// apiserver/stored.cpp - keys of the store, and conversion at its border.
#include "apiserver/stored.h"

#include <utility>
#include <variant>

#include "api/json.h"
#include "base/error.h"
#include "base/verify.h"

namespace muster::apiserver {

std::string key_prefix(const api::Kind& kind, std::string_view ns) {
    const bool elsewhere = !kind.stored_as.empty();
    std::string prefix = "/";
    prefix += kind.group.empty() || elsewhere ? std::string_view("core") : kind.group;
    prefix += '/';
    prefix += elsewhere ? kind.stored_as : kind.plural;
    prefix += '/';
    if (!ns.empty()) {
        prefix += ns;
        prefix += '/';
    }
    return prefix;
}

std::string key_of(const api::Kind& kind, std::string_view ns, std::string_view name) {
    std::string key = key_prefix(kind, ns);
    if (ns.empty()) key += '/';
    key += name;
    return key;
}

Place place_of(std::string_view key) {
    const std::size_t last = key.rfind('/');
    const std::size_t before = key.rfind('/', last - 1);
    VERIFY(last != std::string_view::npos && before != std::string_view::npos);
    return {key.substr(before + 1, last - before - 1), key.substr(last + 1)};
}

std::string stored_api_version(const api::Kind& kind) {
    if (!kind.stored_as.empty()) return "v1";
    return api::to_api_version({kind.group, kind.storage});
}

api::Value read_stored(const std::string& bytes) {
    auto parsed = api::parse_json(bytes);
    if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
        throw Error(Reason::internal_error, "a stored object cannot be read: " + problem->text);
    }
    return std::move(std::get<api::Parsed>(parsed).value);
}

bool is_stored_form(const api::Kind& kind, std::string_view version) {
    return kind.stored_as.empty() && kind.storage == version && !kind.reread;
}

api::Value in_version(const api::Kind& kind, api::Value stored, std::string_view version) {
    if (is_stored_form(kind, version)) return stored;
    const std::string api_version = api::to_api_version({kind.group, std::string(version)});
    if (kind.convert != nullptr) {
        stored = kind.convert(std::move(stored),
                              kind.stored_as.empty() ? version : std::string_view(api_version));
    }
    stored.set("apiVersion", api_version);
    if (kind.stored_schema == nullptr) return stored;
    // Defaults are those of the version that is stored. What an older definition let in, or another
    // version has, is not in this one.
    api::apply_defaults(*kind.stored_schema, stored);
    api::prune(*kind.find_version(version)->schema, stored);
    return stored;
}

api::Value to_stored(const api::Kind& kind, api::Value object) {
    const std::string api_version = stored_api_version(kind);
    if (object["apiVersion"].text_or("") == api_version) return object;
    if (kind.convert != nullptr) {
        object =
            kind.convert(std::move(object), kind.stored_as.empty() ? std::string_view(kind.storage)
                                                                   : std::string_view(api_version));
    }
    object.set("apiVersion", api_version);
    if (kind.stored_schema != nullptr) api::prune(*kind.stored_schema, object);
    return object;
}

}  // namespace muster::apiserver
