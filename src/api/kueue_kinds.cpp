// api/kueue_kinds.cpp - the kinds of Kueue: names, columns, versions.
#include "api/definition.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

Version version(const char* name, const char* kind, std::vector<Column> columns) {
    Version made;
    made.name = name;
    made.schema = LazySchema(std::string("kueue.") + name + "." + kind);
    made.columns = std::move(columns);
    return made;
}

Kind make(const char* kind, const char* plural, std::vector<std::string> short_names,
          bool namespaced, std::vector<Column> columns) {
    Kind made;
    made.group = "kueue.x-k8s.io";
    made.kind = kind;
    made.plural = plural;
    made.singular = std::string(plural, std::string_view(plural).size() - 1);
    made.short_names = std::move(short_names);
    made.namespaced = namespaced;
    made.custom = true;
    made.versions = {version("v1beta2", kind, columns), version("v1beta1", kind, columns)};
    made.storage = "v1beta2";
    return made;
}

}  // namespace

std::string_view kueue_definitions() {
    return R"(@kueue.v1beta2.ClusterQueue
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec any
status any
)";
}

std::vector<Kind> kueue_kinds() {
    return {};
}

}  // namespace muster::api
