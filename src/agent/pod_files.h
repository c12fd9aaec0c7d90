// agent/pod_files.h - the files of /etc that each pod has of its own, as texts.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"

namespace muster::agent {

/// What the pod's processes see as the machine's name.
std::string hostname_of(const api::Value& pod);

/// Names that need no DNS: the pod's own and its hostAliases.
std::string hosts_text(const api::Value& pod, const std::string& ip);

/// How names are looked up, after dnsPolicy and dnsConfig. `machine` is this machine's
/// resolv.conf, whose search domains and options count for dnsPolicy Default.
std::string resolv_text(const api::Value& pod, std::string_view machine);

}  // namespace muster::agent
