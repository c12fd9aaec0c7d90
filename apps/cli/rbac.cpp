// apps/cli/rbac.cpp - `muster rbac`: what the operator may do, and roles for people, as documents
// that a cluster takes.
#include "api/json.h"
#include "api/yaml.h"
#include "apps/cli/access_documents.h"
#include "apps/cli/command.h"
#include "apps/cli/verbs.h"

namespace muster::cli {

int rbac(const RbacOptions& options) {
    std::vector<api::Value> documents = operator_access({options.prefix, options.ns});
    for (api::Value& role : user_roles({options.prefix, options.ns}))
        documents.push_back(std::move(role));
    if (options.output == "yaml") {
        for (const api::Value& each : documents)
            print("---\n" + api::to_yaml(each));
        return 0;
    }
    api::Value items = api::Value::array();
    for (api::Value& each : documents)
        items.push(std::move(each));
    print(api::to_pretty_json(api::Value::object(
              {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}})) +
          "\n");
    return 0;
}

}  // namespace muster::cli
