// control/appwrapper/items.h - what an AppWrapper wraps: the objects to create and the pods that
// they will need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::appwrapper {

inline constexpr std::string_view wrapper_label = "appwrapper.mcad.ibm.com";
inline constexpr std::string_view resource_name_label = "resourceName";

/// Pods that a wrapped object needs: declared as custompodresources, or read from the object.
struct WrappedPods {
    std::string name;  // "<wrapper>-<number>"
    std::int64_t count = 1;
    api::Value pod_template;
};
std::vector<WrappedPods> wrapped_pods(const api::Value& wrapper);

/// One wrapped object, ready to be created.
struct Item {
    const api::Kind* kind = nullptr;  // Null: this server does not have the kind.
    std::string api_version;
    api::Key key;
    api::Value body;
    std::string completion_status;  // Names of conditions, separated by commas.
};

/// In the order of the AppWrapper. Labels, owner, namespace and the length of names are set.
std::vector<Item> items_of(const kube::Object& wrapper);

/// Names are cut to 63 characters.
std::string cut_name(std::string_view name);

/// True when the object (as seen) shows one of the item's completion conditions.
bool is_completed(const Item& item, const api::Value& object);

/// minAvailable of the schedulingSpec.
std::int64_t min_available(const api::Value& wrapper);

}  // namespace muster::control::appwrapper
