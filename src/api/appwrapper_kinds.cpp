// api/appwrapper_kinds.cpp - AppWrapper of MCAD.
#include "api/definition.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

Kind make(const char* group, std::vector<const char*> versions) {
    Kind made;
    made.group = group;
    made.kind = "AppWrapper";
    made.plural = "appwrappers";
    made.singular = "appwrapper";
    made.has_status = true;
    made.custom = true;
    for (const char* name : versions) {
        Version version;
        version.name = name;
        version.schema = LazySchema("codeflare.Any");
        made.versions.push_back(std::move(version));
    }
    made.storage = "v1beta1";
    return made;
}

}  // namespace

std::string_view appwrapper_definitions() {
    return R"(@codeflare.Any
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec any
status any
)";
}

std::vector<Kind> appwrapper_kinds() {
    Kind union_kind = make("workload.codeflare.dev", {"v1beta1", "v1beta2"});
    union_kind.short_names = {"aw"};
    return {std::move(union_kind), make("mcad.ibm.com", {"v1beta1"})};
}

}  // namespace muster::api
