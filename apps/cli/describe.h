// apps/cli/describe.h - objects described for people, as kubectl describe does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "base/time.h"

namespace muster::cli {

/// Any kind: its fields as they are, with their names spelled out, events at the end.
std::string describe_generic(const api::Value& object, const std::vector<api::Value>& events,
                             Time now);

/// A node with the pods that hold something of it. `lease` may be null.
std::string describe_node(const api::Value& node, const api::Value& lease,
                          const std::vector<api::Value>& pods,
                          const std::vector<api::Value>& events, Time now);

std::string describe_pod(const api::Value& pod, const std::vector<api::Value>& events, Time now);

/// What is shown with an object and is not in it.
struct Belongings {
    std::vector<api::Value> events;
    std::vector<api::Value> slices;  // Of a service.
};
/// Kinds that kubectl describes in words of their own; absent for the others.
std::optional<std::string> describe_known(const std::string& group, const api::Value& object,
                                          const Belongings& belongings, Time now);

// The parts they share:

/// The pods that a template makes: "Pod Template:" and what follows.
std::string template_lines(const api::Value& pod_template);

/// Sorted names of an object's members.
std::vector<std::string> sorted_keys(const api::Value& object);

/// "lastTransitionTime" as "Last Transition Time".
std::string spelled_out(const std::string& field);
/// Title, then one line an entry, or <none>.
std::string label_lines(const std::string& title, const api::Value& labels);
std::string annotation_lines(const api::Value& annotations);
/// Tolerations, one a line.
std::string toleration_lines(const api::Value& tolerations);
/// The volumes of a pod, each with what it is made of. `indent` before title and names.
std::string volume_lines(const api::Value& volumes, const std::string& indent = "");
/// The Events: part; tabs not yet aligned. A form feed ends the columns before it.
std::string event_lines(const std::vector<api::Value>& events, Time now);
/// "5m" since an RFC 3339 time; "<unknown>" when there is none.
std::string age_of(const api::Value& time, Time now);
/// "Sat, 21 Nov 2026 12:00:00 +0000" as kubectl prints times.
std::string long_time(const api::Value& time);
/// Aligns, block by block: form feeds stand between blocks.
std::string align_blocks(const std::string& text);

}  // namespace muster::cli
