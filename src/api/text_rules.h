// api/text_rules.h - the shapes of names, labels and keys that Kubernetes accepts, with what it
// says when they are not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::api {

/// Each gives what is wrong with the text, as the API server words it; absent when nothing is.
std::optional<std::string> wrong_dns_label(std::string_view text);       // "my-name", 63
std::optional<std::string> wrong_dns_1035_label(std::string_view text);  // the same, first a letter
std::optional<std::string> wrong_dns_subdomain(std::string_view text);   // "example.com", 253
std::optional<std::string> wrong_path_segment(
    std::string_view text);  // RBAC names: no "/", "%", "."
std::optional<std::string> wrong_qualified_name(std::string_view text);  // "example.com/My_name"
std::optional<std::string> wrong_label_value(std::string_view text);
std::optional<std::string> wrong_environment_name(std::string_view text);
std::optional<std::string> wrong_config_key(std::string_view text);  // keys of ConfigMap and Secret
std::optional<std::string> wrong_port_name(std::string_view text);
std::optional<std::string> wrong_port_number(std::int64_t port);

}  // namespace muster::api
