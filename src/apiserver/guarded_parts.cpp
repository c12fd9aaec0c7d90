// apiserver/guarded_parts.cpp - see guarded_parts.h.
#include "apiserver/guarded_parts.h"

#include <utility>

namespace muster::apiserver {

using api::Value;

namespace {

/// What `status` of some kinds may not change beside the spec.
void keep_more_of_status(const api::Kind& kind, const Value& old, Value& object) {
    if (kind.resource() == api::GroupResource{"apps", "deployments"})
        object.at("metadata").set("labels", old["metadata"]["labels"]);
    const Value& quality = old["status"]["qosClass"];
    if (kind.group.empty() && kind.plural == "pods" && quality.is_string() &&
        object["status"]["qosClass"].text_or("").empty()) {
        if (!object["status"].is_object()) object.set("status", Value::object());
        object.at("status").set("qosClass", quality);
    }
}

bool is_of_status(std::string_view member) {
    return member == "status" || member == "metadata";
}

/// Nearly every write of a status, and it is far cheaper to find that than to copy the rest.
bool same_beside_status(const Value& old, const Value& object) {
    auto mine = object.members().begin();
    const auto end = object.members().end();
    const auto pass_status = [&] {
        while (mine != end && is_of_status(mine->key))
            ++mine;
    };
    for (const auto& member : old.members()) {
        if (is_of_status(member.key)) continue;
        pass_status();
        if (mine == end || mine->key != member.key || mine->value != member.value) return false;
        ++mine;
    }
    pass_status();
    return mine == end;
}

void put_back_all_but_status(const Value& old, Value& object) {
    Value result = old;
    result.set("status", object["status"]);
    result.set("metadata", object["metadata"]);
    object = std::move(result);
}

}  // namespace

void keep_guarded_parts(const api::Kind& kind, std::string_view subresource, const Value& old,
                        Value& object) {
    if (subresource == "status") {
        if (!same_beside_status(old, object)) put_back_all_but_status(old, object);
        if (object["status"].is_null()) object.erase("status");
        if (kind.custom) {
            const Value managed = object["metadata"]["managedFields"];
            object.set("metadata", old["metadata"]);
            object.at("metadata").set("managedFields", managed);
        } else {
            object.at("metadata").set("ownerReferences", old["metadata"]["ownerReferences"]);
        }
        keep_more_of_status(kind, old, object);
        for (const char* name : {"labels", "managedFields", "ownerReferences"}) {
            if (object["metadata"][name].is_null()) object.at("metadata").erase(name);
        }
        return;
    }
    if (!subresource.empty()) return;
    if (kind.has_status) {
        if (old["status"].is_null()) {
            object.erase("status");
        } else {
            object.set("status", old["status"]);
        }
    }
}

void keep_namespace_spec(const api::Kind& kind, std::string_view subresource, const Value& old,
                         Value& object) {
    if (subresource.empty() && kind.plural == "namespaces" && kind.group.empty())
        object.set("spec", old["spec"]);
}

}  // namespace muster::apiserver
