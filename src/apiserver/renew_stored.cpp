// apiserver/renew_stored.cpp - see renew_stored.h.
#include "apiserver/renew_stored.h"

#include <utility>

#include "api/schema.h"
#include "apiserver/commit.h"
#include "apiserver/stored.h"
#include "apiserver/stored_problem.h"
#include "base/verify.h"

namespace muster::apiserver {
namespace {

using api::Value;

/// Do not change without a new form.
constexpr const char* form = R"({"emptyValues":"dropped"})";

/// Pod templates in objects that are not typed as such.
void clean_templates(const api::Kind& kind, Value& object) {
    if (kind.plural == "controllerrevisions" && kind.group == "apps")
        api::canonicalize(*api::schema_of("apps.v1.StatefulSet"), object.at("data"));
    if (kind.plural != "workloads" || !object["spec"]["podSets"].is_array()) return;
    for (Value& set : object.at("spec").at("podSets").mutable_items()) {
        if (set["template"].is_object())
            api::canonicalize(*api::schema_of("core.v1.PodTemplateSpec"), set.at("template"));
    }
}

}  // namespace

void renew_stored(Context& context) {
    const store::Entry* known = context.store.find(form_key);
    if (known != nullptr && *known->value == form) return;
    constexpr std::size_t all = 1u << 30;
    for (const api::Kind& kind : api::all_kinds()) {
        const bool holds_templates = kind.plural == "workloads";
        if (kind.custom && !holds_templates) continue;
        for (const store::Entry& entry : context.store.range(key_prefix(kind), "", all)) {
            check_stored(entry);
            const Value stored = read_stored(*entry.value);
            Value object = stored;
            if (!kind.custom) api::canonicalize(kind.storage_schema(), object);
            clean_templates(kind, object);
            if (object != stored)
                commit_put(context, kind, std::move(object), entry.revision, nullptr);
        }
    }
    const store::Entry before = context.store.newest(form_key);
    const store::Staged staged =
        context.store.stage(form_key, make_bytes(form), before.revision, nullptr);
    VERIFY(staged == store::Staged::accepted);
}

}  // namespace muster::apiserver
