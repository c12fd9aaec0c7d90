// control/appwrapper/demand.h - what an AppWrapper asks for and what it wraps, read from its spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::control::appwrapper {

/// The two resources that hold AppWrappers of v1beta1.
inline const api::GroupResource codeflare{"workload.codeflare.dev", "appwrappers"};
inline const api::GroupResource mcad{"mcad.ibm.com", "appwrappers"};

/// Equal pods that the AppWrapper will make.
struct PodDemand {
    std::string name;  // "item-0-1": item, then entry of its custompodresources.
    std::int64_t count = 0;
    api::Value pod_template;  // {metadata, spec} with resources; a stand-in where only amounts are
                              // declared.
};

/// All pods of the gang. An item's custompodresources count when it has them (a missing request is
/// its limit); otherwise the pods are inferred from the template: a Pod, anything with
/// spec.template (times replicas or parallelism), the groups of a RayCluster or RayJob, and the pod
/// sets of a kind that others define, as far as it says itself what they are.
std::vector<PodDemand> demand_of(const api::Value& appwrapper);

/// One wrapped object as it will be created.
struct Item {
    api::Key key;
    std::string api_version;
    api::Value body;
    std::vector<std::string> completion;  // Conditions that mean it is done; empty: not asked.
};

/// Why an item cannot be made; the sentence names the item.
struct ItemProblem {
    std::string message;
};

/// The wrapped objects in order, labelled and owned, names cut to 63 characters. A problem when one
/// is no object of a kind that is served, or lies in another namespace.
struct Items {
    std::vector<Item> items;
    std::optional<ItemProblem> problem;
};
Items items_of(const api::Value& appwrapper);

/// True for the v1beta1 form (spec.resources), which this controller runs.
bool is_v1beta1(const api::Value& appwrapper);

}  // namespace muster::control::appwrapper
