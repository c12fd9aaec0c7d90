// apps/cli/missing_crds.cpp - a definition is Muster's when it has Muster's label.
#include "apps/cli/missing_crds.h"

#include <map>

#include "api/crd.h"

namespace muster::cli {
namespace {

bool is_ours(const api::Value& metadata) {
    return metadata["labels"][api::crd_label].text_or("") == api::crd_label_value;
}

}  // namespace

MissingCrds missing_crds(const std::vector<const api::Kind*>& kinds, const api::Value& present) {
    std::map<std::string, const api::Value*> there;
    for (const api::Value& definition : present.items())
        there.emplace(definition["metadata"]["name"].text(), &definition["metadata"]);
    MissingCrds missing;
    for (const api::Kind* kind : kinds) {
        const std::string name = kind->plural + "." + kind->group;
        const auto found = there.find(name);
        const bool is_there = found != there.end();
        if (is_there && !(*found->second)["deletionTimestamp"].is_null()) {
            missing.leaving.push_back(name);
        } else if (is_there && !is_ours(*found->second)) {
            missing.others.push_back(name);
        } else {
            missing.wanted.push_back(kind);
        }
    }
    return missing;
}

}  // namespace muster::cli
