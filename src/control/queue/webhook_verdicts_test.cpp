// control/queue/webhook_verdicts_test.cpp - what the webhooks of the real Kueue 0.19.2 said of the
// requests of test/kubernetes/webhooks/, beside what Muster's rules say. Recorded by calling the
// webhooks themselves: none of the texts is ours.
#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "api/denial.h"
#include "api/guest_kinds.h"
#include "api/parsed_text.h"
#include "api/patch.h"
#include "base/text.h"
#include "control/queue/hooks.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::string_view recorded[] = {
#include "control/queue/webhook_verdicts.inc"
};

Value patched(const Value& base, const Value& patch) {
    auto made = api::merge_patch(base, patch);
    REQUIRE(std::holds_alternative<Value>(made));
    return std::get<Value>(made);
}

const api::Kind& kind_of(const Value& object) {
    const api::GroupVersion version = api::parse_group_version(object["apiVersion"].text());
    const api::Kind* kind = api::find_known_kind_named(version.group, object["kind"].text());
    REQUIRE(kind != nullptr);
    return *kind;
}

/// What came of a request: every fault, each as "field: text".
struct Verdict {
    bool refused = false;
    std::vector<std::string> faults = {};
    std::vector<std::string> warnings = {};

    void add(const api::Admission& admission) {
        warnings.insert(warnings.end(), admission.warnings.begin(), admission.warnings.end());
        if (admission.denied) add(*admission.denied);
    }
    void add(const api::Admission::Denial& denial) {
        refused = true;
        for (const api::FieldError& cause : denial.causes)
            faults.push_back(cause.field + ": " + cause.text);
    }
};

Verdict verdict_on(const Value& before, const Value& after, const Value& there) {
    api::AdmissionRequest request;
    using Operation = api::AdmissionRequest::Operation;
    request.operation = before.is_null() ? Operation::create : Operation::update;
    request.kind = &kind_of(after);
    request.object = after;
    request.old = before;
    std::map<api::Key, Value> objects;
    for (const Value& each : there.items()) {
        const Value& metadata = each["metadata"];
        objects[{kind_of(each).resource(), metadata["namespace"].text(), metadata["name"].text()}] =
            each;
    }
    request.find = [&](const api::Key& key) {
        const auto found = objects.find(key);
        return found == objects.end() ? Value() : found->second;
    };
    request.list = [&](const api::GroupResource& resource, std::string_view ns) {
        std::vector<Value> found;
        for (const auto& [key, value] : objects) {
            if (key.resource == resource && key.ns == ns) found.push_back(value);
        }
        return found;
    };
    Verdict verdict;
    if (const auto denied = api::denial_of_kind(*request.kind, request.object, request.old))
        verdict.add(*denied);
    for (const api::AdmissionHook& hook : admission_hooks()) {
        const api::Admission admission = hook(request);
        verdict.add(admission);
        if (admission.changed) request.object = *admission.changed;
    }
    return verdict;
}

/// Takes the fault out of the text. Whole objects stand in it as Go has them, not as ours do, and
/// "is not a multiple of" is followed by an address in memory (docs/deviations.md, both).
bool take_out(std::string fault, std::string& text) {
    std::string end;
    const std::string_view multiple = ": is not a multiple of ";
    const std::size_t object = std::min(fault.find(" value: {"), fault.find(" value: ["));
    if (object != std::string::npos) {
        const std::size_t close = fault.find_last_of("]}");
        REQUIRE(fault.substr(close).starts_with(fault[close] + std::string(": ")));
        end = fault.substr(close);
        fault.resize(object + std::string_view(" value: {").size());
    } else if (const std::size_t at = fault.find(multiple); at != std::string::npos) {
        fault.resize(at + multiple.size());
        text.resize(text.find(multiple) + multiple.size());
    }
    const std::size_t from = text.find(fault);
    const std::size_t to = from == std::string::npos ? from : text.find(end, from + fault.size());
    if (to == std::string::npos) return false;
    text.erase(from, to + end.size() - from);
    return true;
}

/// The text is made of exactly these faults, in any order: "[fault, fault]" or one alone.
bool tells(std::string text, const std::vector<std::string>& faults) {
    for (const std::string& fault : faults) {
        if (!take_out(fault, text)) return false;
    }
    return text.find_first_not_of("[, ]") == std::string::npos;
}

/// Where both refuse and ours says more: Kueue reads values of topologies by Go's parsers, whose
/// errors name no field, and which it gives up at the first of (docs/deviations.md).
bool says_more(const Value& row) {
    const std::string text = row["text"].text();
    return text.starts_with("strconv.") ||
           (row["of"].text() == "RayCluster" && (text.ends_with("must be a boolean value") ||
                                                 text.ends_with("must be a numeric value")));
}

/// Ours refuses what is not built: topologies of elastic jobs (docs/deviations.md).
bool is_not_built(const std::vector<std::string>& faults) {
    return std::any_of(faults.begin(), faults.end(), [](const std::string& fault) {
        return fault.find("an elastic job's pods cannot ask for a topology") != std::string::npos;
    });
}

/// AppWrappers are here those of MCAD (v1beta1), whose rules for labels are the same.
Value as_ours(Value object) {
    if (object["kind"].text_or("") != "AppWrapper") return object;
    const bool waits = object["spec"]["suspend"].boolean_or(false);
    object.set("spec",
               Value::object({{"resources", Value::object({{"GenericItems", Value::array()}})}}));
    object.set("status", Value::object({{"canrun", !waits}}));
    return object;
}

std::vector<std::string> without_repeats(std::vector<std::string> faults) {
    std::vector<std::string> once;
    for (std::string& fault : faults) {
        if (std::find(once.begin(), once.end(), fault) == once.end())
            once.push_back(std::move(fault));
    }
    return once;
}

TEST_CASE("what Kueue's webhooks refuse and accept is refused and accepted, for the same reasons") {
    int count = 0;
    int not_built = 0;
    std::map<std::string, Value> bases;
    for (const std::string_view line : recorded) {
        const Value row = api::parsed(line);
        if (const Value& base = row["base"]; !base.is_null()) {
            bases[base["kind"].text()] = base;
            continue;
        }
        const Value& base = bases.at(row["of"].text());
        const Value before =
            row["before"].is_null() ? Value() : as_ours(patched(base, row["before"]));
        const Verdict ours = verdict_on(before, as_ours(patched(base, row["after"])), row["there"]);
        const std::vector<std::string> faults = without_repeats(ours.faults);
        const std::string text(line);
        CAPTURE(text);
        std::string said;
        for (const std::string& fault : faults)
            said += "\n  " + fault;
        CAPTURE(said);
        ++count;
        if (is_not_built(faults)) {
            CHECK(ours.refused);
            ++not_built;
            continue;
        }
        CHECK(ours.refused == !row["allowed"].boolean_or(false));
        std::vector<std::string> warnings;
        for (const Value& warning : row["warnings"].items())
            warnings.push_back(warning.text());
        CHECK((ours.warnings == warnings || row["of"].text() == "ClusterQueue"));
        if (says_more(row)) continue;
        std::string said_there =
            replace_all(row["text"].text(), "codeflare.dev/v1beta2", "codeflare.dev/v1beta1");
        // Go's own words for what is no JSON (docs/deviations.md).
        said_there = replace_all(said_there, ": unexpected end of JSON input", "");
        CHECK(tells(said_there, faults));
    }
    CHECK(count > 1500);
    CHECK(not_built == 3);
}

}  // namespace
}  // namespace muster::control::queue
