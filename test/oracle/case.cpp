// test/oracle/case.cpp - reading recorded cases and writing out their short forms.
#include "test/oracle/case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <variant>

#include "api/json.h"
#include "base/verify.h"

namespace muster::oracle {
namespace {

using api::Value;

Value without_marks(const Value& value) {
    if (value.is_string()) {
        const std::string_view text = value.as_string();
        return text.starts_with("@") ? Value(text.substr(1)) : value;
    }
    if (value.is_array()) {
        Value made = Value::array();
        for (const Value& item : value.items())
            made.push(without_marks(item));
        return made;
    }
    if (!value.is_object()) return value;
    Value made = Value::object();
    for (const auto& [key, member] : value.members())
        made.set(key.view().substr(key.starts_with("@") ? 1 : 0), without_marks(member));
    return made;
}

/// Rows that equal the row of the step before are left out in the files.
std::vector<Value> unpack(const Value& packed) {
    std::vector<Value> steps;
    Value now =
        Value::object({{"wl", Value::object()}, {"cq", Value::object()}, {"co", Value::object()}});
    for (const Value& entry : packed.items()) {
        for (const char* part : {"wl", "cq", "co"}) {
            for (const Value& gone : entry["gone"][part].items())
                now.at(part).erase(gone.text());
            for (const auto& [name, row] : entry[part].members())
                now.at(part).set(name, row);
        }
        Value step = now;
        for (const char* part : {"picks", "errors"}) {
            if (!entry[part].empty()) step.set(part, entry[part]);
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

void load_file(const std::filesystem::path& path, std::vector<Case>& cases) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    auto parsed = api::parse_json(text.str());
    VERIFY(std::holds_alternative<api::Parsed>(parsed));
    for (const Value& scenario : std::get<api::Parsed>(parsed).value["scenarios"].items()) {
        Case made;
        made.id = scenario["id"].text();
        made.family = scenario["family"].text();
        made.variant = scenario["variant"].text();
        made.scenario = without_marks(scenario);
        made.outcome = unpack(scenario["outcome"]);
        for (const Value& field : scenario["noisy"].items())
            made.noisy.insert(field.text());
        cases.push_back(std::move(made));
    }
}

Value container(std::string name, const Value& requests) {
    return Value::object({{"name", std::move(name)},
                          {"image", "none"},
                          {"resources", Value::object({{"requests", requests}})}});
}

Value pod_spec(const Value& set) {
    Value spec = Value::object({{"restartPolicy", "Never"}});
    const Value& requests = set["requests"];
    spec.set("containers",
             Value::array({container("c", requests.is_null() ? Value::object() : requests)}));
    for (std::size_t i = 0; i < set["init"].size(); ++i)
        spec.at("initContainers").push(container("i" + std::to_string(i), set["init"][i]));
    if (!set["sidecar"].empty()) {
        Value sidecar = container("side", set["sidecar"]);
        sidecar.set("restartPolicy", "Always");
        spec.at("initContainers").push(std::move(sidecar));
    }
    for (const char* field : {"nodeSelector", "affinity", "tolerations", "overhead"}) {
        if (!set[field].empty()) spec.set(field, set[field]);
    }
    return spec;
}

}  // namespace

std::vector<Case> load_cases(const std::string& path) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::is_directory(path)) {
        for (const auto& entry : std::filesystem::directory_iterator(path)) {
            if (entry.path().extension() == ".json") files.push_back(entry.path());
        }
    } else {
        files.emplace_back(path);
    }
    std::sort(files.begin(), files.end());
    std::vector<Case> cases;
    for (const auto& file : files)
        load_file(file, cases);
    return cases;
}

Value whole_workload(const Value& short_form) {
    Value sets = Value::array();
    for (const Value& set : short_form["podSets"].items()) {
        Value made = Value::object({{"name", set["name"].text_or("main")},
                                    {"count", set["count"]},
                                    {"template", Value::object({{"metadata", Value::object()},
                                                                {"spec", pod_spec(set)}})}});
        if (set.has("minCount")) made.set("minCount", set["minCount"]);
        if (!set["topology"].empty()) made.set("topologyRequest", set["topology"]);
        sets.push(std::move(made));
    }
    return Value::object(
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "Workload"},
         {"metadata", Value::object({{"name", short_form["name"]},
                                     {"namespace", short_form["ns"].text_or("ns")}})},
         {"spec", Value::object({{"queueName", short_form["queue"]},
                                 {"priority", short_form["prio"]},
                                 {"active", short_form["active"].boolean_or(true)},
                                 {"podSets", std::move(sets)}})}});
}

Value whole_object(const Value& short_form) {
    const std::string kind = short_form["kind"].text();
    Value metadata = Value::object({{"name", short_form["name"]}});
    if (kind == "LocalQueue") metadata.set("namespace", short_form["ns"].text_or("ns"));
    if (!short_form["labels"].empty()) metadata.set("labels", short_form["labels"]);
    const Value& spec = short_form["spec"];
    Value made = Value::object(
        {{"apiVersion", kind == "Node" ? "v1" : "kueue.x-k8s.io/v1beta2"}, {"kind", kind}});
    if (kind == "Node") {
        metadata.at("labels").set("kubernetes.io/hostname", short_form["name"]);
        const Value ready =
            Value::object({{"type", "Ready"}, {"status", "True"}, {"reason", "Oracle"}});
        made.set("status", Value::object({{"allocatable", short_form["allocatable"]},
                                          {"capacity", short_form["allocatable"]},
                                          {"conditions", Value::array({ready})}}));
    }
    made.set("metadata", std::move(metadata));
    made.set("spec", spec.is_null() ? Value::object() : spec);
    return made;
}

}  // namespace muster::oracle
