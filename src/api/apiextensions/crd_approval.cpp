// api/apiextensions/crd_approval.cpp - reads the annotation that says it.
#include "api/apiextensions/crd_approval.h"

#include <algorithm>
#include <cctype>

namespace muster::api {
namespace {

constexpr const char* see = ", see https://github.com/kubernetes/enhancements/pull/1111";

bool is_protected(std::string_view group) {
    return group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") ||
           group.ends_with(".kubernetes.io");
}

/// With a scheme and a host.
bool is_url(std::string_view text) {
    const std::size_t mark = text.find("://");
    if (mark == std::string_view::npos || mark == 0) return false;
    const std::string_view scheme = text.substr(0, mark);
    const std::string_view rest = text.substr(mark + 3);
    return std::isalpha(static_cast<unsigned char>(scheme.front())) != 0 &&
           std::all_of(scheme.begin(), scheme.end(),
                       [](unsigned char c) {
                           return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
                       }) &&
           !rest.substr(0, rest.find_first_of("/?")).empty();
}

}  // namespace

std::optional<CrdApproval> approval_of_crd(const Value& crd) {
    if (!is_protected(crd["spec"]["group"].text_or(""))) return std::nullopt;
    const std::string said = crd["metadata"]["annotations"][approval_annotation].text();
    const std::string named = "\"" + std::string(approval_annotation) + "\"";
    const std::string must = "protected groups must have approval annotation " + named;
    if (said.empty()) return CrdApproval{"False", "MissingAnnotation", must + see};
    if (said.starts_with("unapproved"))
        return CrdApproval{"False", "UnapprovedAnnotation", "not approved: \"" + said + "\""};
    if (is_url(said)) return CrdApproval{"True", "ApprovedAnnotation", "approved in " + said};
    return CrdApproval{"False", "InvalidAnnotation",
                       must + " with either a URL or a reason starting with \"unapproved\"" + see};
}

}  // namespace muster::api
