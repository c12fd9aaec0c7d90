// net/query_flag.h - a switch in the query of a request, such as ?follow=true.
#pragma once

#include <string_view>

#include "net/http.h"

namespace muster::net {

/// As Kubernetes reads it: absent, "0" and "false" in any case mean no. All else means yes, also
/// the "True" of Python's clients, and nothing behind the name.
bool query_flag(const Request& request, std::string_view name);

}  // namespace muster::net
