// api/kueue/admission_gates.cpp - the rules of kueue.x-k8s.io/admission-gated-by, in Kueue's words.
#include "api/kueue/admission_gates.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

constexpr const char* gates_annotation = "kueue.x-k8s.io/admission-gated-by";

std::string_view said(const Value& object) {
    return object["metadata"]["annotations"][gates_annotation].text_or("");
}

std::vector<std::string> gates_in(std::string_view text) {
    std::vector<std::string> gates;
    if (trim(text).empty()) return gates;
    for (const std::string_view gate : split(text, ','))
        gates.emplace_back(trim(gate));
    return gates;
}

/// "example.com/name", as Kubernetes checks such words.
void check_gate(const std::string& gate, const Path& path, Errors& errors) {
    constexpr std::string_view in_path =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "/-._~%!$&'()*+,;=:";
    constexpr std::size_t gate_max = 63;
    const auto halves = split_first(gate, '/');
    if (!halves || halves->before.empty() || halves->after.empty()) {
        errors.push_back(
            invalid(path, Value(gate), "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    } else {
        add_invalid(errors, path, Value(halves->before), dns1123_subdomain_faults(halves->before));
        if (halves->after.find_first_not_of(in_path) != std::string_view::npos) {
            errors.push_back(invalid(path, Value(halves->after),
                                     "Invalid path (regex used for validation is "
                                     "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
        }
    }
    if (gate.size() > gate_max) errors.push_back(too_long(path, gate_max));
}

void check_added(std::string_view before, std::string_view now, const Path& path, Errors& errors) {
    if (now.empty()) return;
    if (before.empty()) {
        errors.push_back(forbidden(path, "cannot add admission gate after creation"));
        return;
    }
    const std::vector<std::string> old = gates_in(before);
    for (const std::string& gate : gates_in(now)) {
        if (std::find(old.begin(), old.end(), gate) != old.end()) continue;
        errors.push_back(forbidden(path, "can only remove gates, not add new ones"));
        return;
    }
}

}  // namespace

std::vector<std::string> admission_gates_of(const Value& object) {
    return gates_in(said(object));
}

void check_admission_gates(const Value* before, const Value& now, Errors& errors) {
    const Path metadata = Path().child("metadata");
    const Path annotations = metadata.child("annotations");
    const Path path = annotations.key(gates_annotation);
    const Value given(said(now));
    if (before != nullptr) check_added(said(*before), said(now), path, errors);
    std::set<std::string> known;
    for (const std::string& gate : gates_in(said(now))) {
        if (gate.empty()) {
            errors.push_back(invalid(path, given, "cannot contain empty gate names"));
        } else if (!known.insert(gate).second) {
            errors.push_back(invalid(path, given, "duplicate gate name: " + gate));
        } else {
            check_gate(gate, path, errors);
        }
    }
}

}  // namespace muster::api
