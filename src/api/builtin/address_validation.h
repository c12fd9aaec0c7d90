// api/builtin/address_validation.h - what Kubernetes 1.36 refuses in fields that hold addresses.
#pragma once

#include "api/builtin/validation.h"
#include "base/ip_address.h"

namespace muster::api {

/// An IPv4 or IPv6 address without leading zeros and not of IPv4 in IPv6. What stands in `old`, a
/// list, may stay.
void check_ip(const Value& text, const Path& path, const Value& old, FieldErrors& errors);

/// The same of "10.0.0.0/8"; spaces around it are let pass.
void check_cidr(const Value& text, const Path& path, const Value& old, FieldErrors& errors);

/// Not unspecified, loopback or link-local: nobody may have others reach these for them.
void check_endpoint_ip(const Value& text, const Path& path, FieldErrors& errors);

constexpr const char* port_range_fault = "must be between 1 and 65535, inclusive";
bool is_port(const Value& port);

}  // namespace muster::api
