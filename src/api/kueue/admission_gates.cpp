// api/kueue/admission_gates.cpp - the rules of kueue.x-k8s.io/admission-gated-by, in Kueue's words.
#include "api/kueue/admission_gates.h"

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
/// The annotation is read before anybody has looked how long it is: who is wrong this often hears
/// no more.
constexpr std::size_t faults_told = 100;

std::string_view said(const Value& object) {
    return object["metadata"]["annotations"][gates_annotation].text_or("");
}

std::vector<std::string_view> gates_in(std::string_view text) {
    if (trim(text).empty()) return {};
    std::vector<std::string_view> gates = split(text, ',');
    for (std::string_view& gate : gates)
        gate = trim(gate);
    return gates;
}

/// "example.com/name", as Kubernetes checks such words.
void check_gate(std::string_view gate, const Path& path, Errors& errors) {
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
    const std::vector<std::string_view> given = gates_in(before);
    const std::set<std::string_view> old(given.begin(), given.end());
    for (const std::string_view gate : gates_in(now)) {
        if (old.contains(gate)) continue;
        errors.push_back(forbidden(path, "can only remove gates, not add new ones"));
        return;
    }
}

}  // namespace

std::vector<std::string> admission_gates_of(const Value& object) {
    const std::vector<std::string_view> gates = gates_in(said(object));
    return {gates.begin(), gates.end()};
}

void check_admission_gates(const Value* before, const Value& now, Errors& errors) {
    const Path metadata = Path().child("metadata");
    const Path annotations = metadata.child("annotations");
    const Path path = annotations.key(gates_annotation);
    const Value given(said(now));
    if (before != nullptr) check_added(said(*before), said(now), path, errors);
    const std::vector<std::string_view> gates = gates_in(said(now));
    const std::size_t told_before = errors.size();
    std::set<std::string_view> known;
    for (std::size_t i = 0; i < gates.size(); ++i) {
        const std::string_view gate = gates[i];
        if (errors.size() - told_before >= faults_told) {
            errors.push_back(
                invalid(path, given,
                        "and " + std::to_string(gates.size() - i) + " more were not looked at"));
            return;
        }
        if (gate.empty()) {
            errors.push_back(invalid(path, given, "cannot contain empty gate names"));
        } else if (!known.insert(gate).second) {
            errors.push_back(invalid(path, given, "duplicate gate name: " + std::string(gate)));
        } else {
            check_gate(gate, path, errors);
        }
    }
}

}  // namespace muster::api
