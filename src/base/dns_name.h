// base/dns_name.h - which names Kubernetes allows, and its words for those that it does not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Each gives what is wrong, in apimachinery's words; nothing when the name is good.
std::vector<std::string> dns1123_label_faults(std::string_view name);
std::vector<std::string> dns1123_subdomain_faults(std::string_view name);
std::vector<std::string> dns1035_label_faults(std::string_view name);
std::vector<std::string> label_key_faults(std::string_view key);  // Also annotations' keys.
std::vector<std::string> label_value_faults(std::string_view value);
std::vector<std::string> config_map_key_faults(std::string_view key);  // Also secrets' keys.
std::vector<std::string> environment_name_faults(std::string_view name);
std::vector<std::string> port_name_faults(std::string_view name);
std::vector<std::string> path_segment_faults(std::string_view name);

}  // namespace muster
