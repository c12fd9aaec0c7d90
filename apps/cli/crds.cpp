// apps/cli/crds.cpp - `muster crds`: the custom kinds as documents that a cluster takes.
#include <set>

#include "api/crd.h"
#include "api/json.h"
#include "api/yaml.h"
#include "apps/cli/command.h"
#include "apps/cli/missing_crds.h"
#include "apps/cli/verbs.h"
#include "apps/up/data_directory.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::cli {
namespace {

bool is_named(const api::Kind& kind, const std::string& word) {
    const std::string name = to_lower(word);
    if (name == kind.group || name == to_lower(kind.kind) || name == kind.plural ||
        name == kind.plural + "." + kind.group) {
        return true;
    }
    for (const std::string& short_name : kind.short_names) {
        if (name == short_name) return true;
    }
    return false;
}

std::vector<const api::Kind*> all_custom() {
    std::vector<const api::Kind*> kinds;
    for (const api::Kind& kind : api::all_kinds()) {
        if (kind.custom) kinds.push_back(&kind);
    }
    return kinds;
}

std::vector<const api::Kind*> chosen_kinds(const std::vector<std::string>& words) {
    std::vector<const api::Kind*> chosen;
    for (const api::Kind* kind : all_custom()) {
        bool named = words.empty();
        for (const std::string& word : words)
            named = named || is_named(*kind, word);
        if (named) chosen.push_back(kind);
    }
    for (const std::string& word : words) {
        bool known = false;
        for (const api::Kind* kind : chosen)
            known = known || is_named(*kind, word);
        if (known) continue;
        std::set<std::string> names;
        for (const api::Kind* kind : all_custom())
            names.insert(kind->plural + "." + kind->group);
        throw Error(Reason::not_found,
                    "error: no kind or group of Muster's is called \"" + word + "\"; there are " +
                        join(std::vector<std::string>(names.begin(), names.end()), ", "));
    }
    return chosen;
}

api::Conversion conversion_of(const CrdsOptions& options) {
    api::Conversion conversion;
    const auto service = split_first(options.webhook_service, '/');
    if (!service || service->before.empty() || service->after.empty()) {
        throw Error(Reason::bad_request, "error: --webhook-service is NAMESPACE/NAME, not \"" +
                                             options.webhook_service + "\"");
    }
    conversion.service_namespace = service->before;
    conversion.service_name = service->after;
    if (options.no_conversion) conversion.service_namespace.clear();
    if (!options.ca_file.empty()) conversion.ca_bundle = up::read_file(options.ca_file);
    return conversion;
}

/// Those of the chosen that the cluster needs; what is left out and why is said beside them.
std::vector<const api::Kind*> missing_of(Command& command,
                                         const std::vector<const api::Kind*>& chosen) {
    const api::Value list = command.session().get(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json");
    MissingCrds missing = missing_crds(chosen, list["items"]);
    const std::string& server = command.session().server();
    if (!missing.leaving.empty()) {
        throw Error(Reason::conflict, "error: " + server + " is deleting " +
                                          join(missing.leaving, ", ") +
                                          "; try again when it is done");
    }
    if (!missing.others.empty()) {
        print_error(server + " has these from somebody else, and they stay as they are: " +
                    join(missing.others, ", ") + "\n");
    }
    if (missing.wanted.empty()) print_error("no definition is missing\n");
    return std::move(missing.wanted);
}

}  // namespace

int crds(Command& command, const CrdsOptions& options) {
    if (options.output != "yaml" && options.output != "json") {
        throw Error(Reason::bad_request,
                    "error: -o is yaml or json, not \"" + options.output + "\"");
    }
    const api::Conversion conversion = conversion_of(options);
    std::vector<const api::Kind*> kinds = chosen_kinds(options.words);
    if (options.missing) {
        kinds = missing_of(command, kinds);
        if (kinds.empty()) return 0;
    }
    api::Value items = api::Value::array();
    for (const api::Kind* kind : kinds) {
        api::Value crd = api::crd_of(*kind, conversion);
        if (options.output == "yaml") {
            print("---\n" + api::to_yaml(crd));
        } else {
            items.push(std::move(crd));
        }
    }
    if (options.output == "yaml") return 0;
    const bool single = items.size() == 1;
    const api::Value list =
        api::Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}});
    print(api::to_pretty_json(single ? items[0] : list) + "\n");
    return 0;
}

}  // namespace muster::cli
