// control/queue/topology.cpp - reads and writes what objects say about topologies.
#include "control/queue/topology.h"

#include <utility>
#include <variant>

#include "api/json.h"
#include "api/kueue/topology.h"
#include "base/text.h"

namespace muster::control::queue {
namespace {

using api::Value;

void copy_text(const Value& annotations, std::string_view annotation, Value& request,
               const char* field) {
    const std::string_view text = annotations[annotation].text_or("");
    if (!text.empty()) request.set(field, text);
}

/// A list of layers written as JSON; null when it is none.
Value layers_in(std::string_view text) {
    auto parsed = api::parse_json(text);
    auto* whole = std::get_if<api::Parsed>(&parsed);
    if (whole == nullptr || !whole->value.is_array() || whole->value.empty()) return {};
    return std::move(whole->value);
}

}  // namespace

decide::Topology fold_topology(const kube::Object& topology) {
    decide::Topology folded{topology.key.name, {}};
    for (const Value& level : topology.value["spec"]["levels"].items())
        folded.levels.push_back(level["nodeLabel"].text());
    return folded;
}

decide::TopologyRequest fold_topology_request(const Value& request) {
    using Mode = decide::TopologyRequest::Mode;
    decide::TopologyRequest folded;
    if (request["required"].is_string()) {
        folded.mode = Mode::required;
        folded.level = request["required"].text();
    } else if (request["preferred"].is_string()) {
        folded.mode = Mode::preferred;
        folded.level = request["preferred"].text();
    } else if (request["unconstrained"].boolean_or(false)) {
        folded.mode = Mode::unconstrained;
    }
    const Value& layers = request["podsetSliceRequiredTopologyConstraints"];
    for (const Value& layer : layers.items())
        folded.slices.push_back({layer["topology"].text(), layer["size"].integer_or(0)});
    if (layers.empty() && request["podSetSliceRequiredTopology"].is_string()) {
        folded.slices.push_back({request["podSetSliceRequiredTopology"].text(),
                                 request["podSetSliceSize"].integer_or(0)});
    }
    return folded;
}

Value topology_request_of(const Value& pod_template) {
    const Value& annotations = pod_template["metadata"]["annotations"];
    Value request = Value::object();
    copy_text(annotations, required_annotation, request, "required");
    copy_text(annotations, preferred_annotation, request, "preferred");
    if (annotations[unconstrained_annotation].text_or("") == "true")
        request.set("unconstrained", true);
    copy_text(annotations, slice_annotation, request, "podSetSliceRequiredTopology");
    if (const auto size = parse_integer(annotations[slice_size_annotation].text_or("")))
        request.set("podSetSliceSize", *size);
    Value layers = layers_in(annotations[layers_annotation].text_or(""));
    if (!layers.is_null()) request.set("podsetSliceRequiredTopologyConstraints", std::move(layers));
    copy_text(annotations, group_annotation, request, "podSetGroupName");
    return request.empty() ? Value() : request;
}

Value topology_assignment_of(const decide::TopologyAssignment& assignment) {
    Value levels = Value::array();
    for (const std::string& level : assignment.levels)
        levels.push(level);
    Value domains = Value::array();
    for (const auto& domain : assignment.domains) {
        Value values = Value::array();
        for (const std::string& value : domain.values)
            values.push(value);
        domains.push(Value::object({{"values", std::move(values)}, {"count", domain.count}}));
    }
    return api::compressed_topology(
        Value::object({{"levels", std::move(levels)}, {"domains", std::move(domains)}}));
}

std::optional<decide::TopologyAssignment> fold_topology_assignment(const Value& assignment) {
    if (!assignment.is_object()) return std::nullopt;
    const Value expanded = api::expanded_topology(assignment);
    decide::TopologyAssignment folded;
    for (const Value& level : expanded["levels"].items())
        folded.levels.push_back(level.text());
    for (const Value& domain : expanded["domains"].items()) {
        decide::TopologyAssignment::Domain made;
        for (const Value& value : domain["values"].items())
            made.values.push_back(value.text());
        made.count = domain["count"].integer_or(0);
        folded.domains.push_back(std::move(made));
    }
    return folded;
}

}  // namespace muster::control::queue
