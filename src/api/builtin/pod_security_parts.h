// api/builtin/pod_security_parts.h - what the checks of the Pod Security Standards have in common:
// who of a pod sets something, and how that is worded.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>

#include "api/builtin/pod_security_checks.h"

namespace muster::api::pod_security {

using Names = std::vector<std::string>;
using Words = std::set<std::string>;
using Found = std::optional<SecurityViolation>;

std::string quoted_list(const Names& names);
std::string quoted_list(const Words& words);
std::string plural(std::size_t count, const std::string& one, const std::string& many);
/// "containers "a", "b"".
std::string containers_text(const Names& names);
/// "pod and containers "a", "b"".
std::string setters_text(bool pod, const Names& containers);
bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);
/// Of a pod's spec or a container.
const Value& security_context(const Value& holder);
/// The containers of which something is true.
Names containers_that(const CheckedPod& pod, const std::function<bool(const Value&)>& is_bad);

/// Who sets which bad seccomp profile, and who sets none.
struct Seccomp {
    explicit Seccomp(const CheckedPod& pod);
    Found violation() const;

    Words bad;
    bool bad_pod = false;
    Names bad_containers;
    Names silent_containers;
};

/// Asked at baseline until 1.34, and at restricted from then on.
Found proc_mount(const CheckedPod& pod);

std::vector<SecurityCheck> baseline_checks();
std::vector<SecurityCheck> restricted_checks();

}  // namespace muster::api::pod_security
