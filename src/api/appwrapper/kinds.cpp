// api/appwrapper/kinds.cpp - AppWrapper in the groups and versions it has had, and what makes one
// invalid.
#include "api/field_error.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

enum class Form { none, generic_items, components };

Form form_of(const Value& object) {
    if (!object["spec"]["components"].empty()) return Form::components;
    return object["spec"]["resources"].is_null() ? Form::none : Form::generic_items;
}

void check_items(const Value& items, const Path& path, std::vector<FieldError>& errors) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Path item = path.item(i);
        const Path wrapped = item.child("generictemplate");
        const Value& object = items[i]["generictemplate"];
        if (!object.is_object()) {
            errors.push_back(required(wrapped, "the object to wrap"));
            continue;
        }
        for (const char* field : {"apiVersion", "kind"}) {
            if (!object[field].text_or("").empty()) continue;
            errors.push_back(required(wrapped.child(field), "a wrapped object needs it"));
        }
    }
}

std::vector<FieldError> validate_app_wrapper(const Value& object, const Value* old) {
    std::vector<FieldError> errors;
    const Path spec = Path().child("spec");
    const Path resources = spec.child("resources");
    const Form form = form_of(object);
    if (old != nullptr && form_of(*old) != form) {
        errors.push_back(forbidden(spec,
                                   "whether an AppWrapper has resources.GenericItems or "
                                   "components is fixed at its creation"));
    }
    if (form == Form::components) {
        errors.push_back(forbidden(spec.child("components"),
                                   "AppWrappers with components (v1beta2) are not supported yet by "
                                   "this version of Muster; use resources.GenericItems (v1beta1)"));
    }
    if (form == Form::none) {
        errors.push_back(required(resources, "an AppWrapper wraps something: give GenericItems"));
    }
    if (!object["spec"]["resources"]["Items"].empty()) {
        errors.push_back(forbidden(resources.child("Items"), "use GenericItems"));
    }
    check_items(object["spec"]["resources"]["GenericItems"], resources.child("GenericItems"),
                errors);
    return errors;
}

Kind make(const char* group, const std::vector<const char*>& versions) {
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
        version.schema = LazySchema("codeflare.v1beta1.AppWrapper");
        made.versions.push_back(std::move(version));
    }
    made.storage = "v1beta1";
    made.validate = validate_app_wrapper;
    return made;
}

}  // namespace

std::vector<Kind> appwrapper_kinds() {
    Kind union_kind = make("workload.codeflare.dev", {"v1beta1", "v1beta2"});
    union_kind.short_names = {"aw"};
    return {std::move(union_kind), make("mcad.ibm.com", {"v1beta1"})};
}

}  // namespace muster::api
