// api/builtin/validation.h - defaults and checks of the built-in kinds beyond their schemas, as
// Kubernetes has them.
#pragma once

#include <vector>

#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

using FieldErrors = std::vector<FieldError>;

void default_pod(Value& pod);
/// Defaults of a pod's spec, also inside templates.
void default_pod_spec(Value& spec);
FieldErrors validate_pod(const Value& pod, const Value* old);
/// Checks of a pod template's metadata and spec.
void check_pod_template(const Value& pod_template, const Path& path, FieldErrors& errors);
void check_pod_spec(const Value& spec, const Path& path, FieldErrors& errors);

void default_job(Value& job);
FieldErrors validate_job(const Value& job, const Value* old);
void default_deployment(Value& deployment);
FieldErrors validate_deployment(const Value& deployment, const Value* old);
void default_replica_set(Value& set);
FieldErrors validate_replica_set(const Value& set, const Value* old);
void default_stateful_set(Value& set);
FieldErrors validate_stateful_set(const Value& set, const Value* old);
void default_service(Value& service);
FieldErrors validate_service(const Value& service, const Value* old);
/// What is wrong with `clusterIP`, `clusterIPs` and the families of addresses: asked before any
/// address is given, and again with all the rest.
FieldErrors cluster_ip_faults(const Value& service, const Value* old);
FieldErrors validate_endpoints(const Value& endpoints, const Value* old);
FieldErrors validate_endpoint_slice(const Value& slice, const Value* old);
/// Of core/v1, and of events.k8s.io/v1 in the form of core/v1, in which it is kept.
FieldErrors validate_event(const Value& event, const Value* old);
FieldErrors validate_new_event(const Value& event, const Value* old);
FieldErrors validate_node(const Value& node, const Value* old);
void default_node(Value& node);
void default_namespace(Value& ns);
FieldErrors validate_namespace(const Value& ns, const Value* old);
FieldErrors validate_config_map(const Value& config_map, const Value* old);
void default_secret(Value& secret);
FieldErrors validate_secret(const Value& secret, const Value* old);
FieldErrors validate_lease(const Value& lease, const Value* old);
FieldErrors validate_role(const Value& role, const Value* old);
void default_role_binding(Value& binding);
FieldErrors validate_role_binding(const Value& binding, const Value* old);
void default_priority_class(Value& priority_class);
FieldErrors validate_runtime_class(const Value& runtime_class, const Value* old);
FieldErrors validate_priority_class(const Value& priority_class, const Value* old);

void default_daemon_set(Value& set);
void default_replication_controller(Value& controller);
void default_pod_template(Value& pod_template);
void default_cron_job(Value& job);
void default_volume_claim(Value& claim);
void default_persistent_volume(Value& volume);
void default_storage_class(Value& storage_class);
void default_endpoints(Value& endpoints);
void default_endpoint_slice(Value& slice);
void default_network_policy(Value& policy);
void default_limit_range(Value& range);

/// Of both kinds of webhooks' configurations.
void default_webhooks(Value& configuration);
FieldErrors validate_webhooks(const Value& configuration, const Value* old);

/// core/v1 Event to events.k8s.io/v1 and back; `to_version` is an apiVersion.
Value convert_event(Value event, std::string_view to_version);

}  // namespace muster::api
