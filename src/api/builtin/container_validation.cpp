// api/builtin/container_validation.cpp - what Kubernetes refuses in a container.
#include "api/builtin/container_validation.h"

#include <algorithm>

#include "api/builtin/field_reference.h"
#include "api/field_error.h"
#include "api/label_rules.h"
#include "api/quantity_fields.h"
#include "base/dns_name.h"

namespace muster::api {
namespace {

constexpr const char* not_negative = "must be greater than or equal to 0";
constexpr const char* port_range = "must be between 1 and 65535, inclusive";

bool is_port(std::int64_t port) {
    return port >= 1 && port <= 65535;
}

bool is_standard_resource(std::string_view name) {
    return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
           name.starts_with("hugepages-");
}

/// Named by a vendor: counted in whole units, never overcommitted.
bool is_extended_resource(std::string_view name) {
    return name.find('/') != std::string_view::npos && !name.starts_with("kubernetes.io/") &&
           name.find(".kubernetes.io/") == std::string_view::npos;
}

void check_amounts(const Value& list, const Path& path, FieldErrors& errors) {
    for (const Value::Member& amount : list.members()) {
        const Path key = path.key(amount.key);
        add_invalid(errors, key, Value(amount.key), label_key_faults(amount.key));
        if (amount.key.view().find('/') == std::string_view::npos &&
            !is_standard_resource(amount.key)) {
            errors.push_back(
                invalid(path, Value(amount.key), "must be a standard resource for containers"));
        }
        const std::optional<Quantity> quantity = quantity_of(amount.value);
        if (!quantity) continue;  // The schema's check has said so.
        if (quantity->is_negative()) errors.push_back(invalid(key, amount.value, not_negative));
        const bool whole = *quantity == Quantity::from_units(quantity->units());
        if (is_extended_resource(amount.key) && !whole) {
            errors.push_back(invalid(key, amount.value, "must be an integer"));
        }
    }
}

void check_requests_against_limits(const Value& resources, const Path& path, FieldErrors& errors) {
    const Path requests = path.child("requests");
    for (const Value::Member& request : resources["requests"].members()) {
        const Value& limit = resources["limits"][request.key];
        const std::optional<Quantity> wanted = quantity_of(request.value);
        const std::optional<Quantity> most = quantity_of(limit);
        if (is_extended_resource(request.key) && limit.is_null()) {
            errors.push_back(required(path.child("limits").key(request.key),
                                      "Limit must be set for non overcommitable resources"));
        }
        if (limit.is_null() || !wanted || !most) continue;
        if (is_extended_resource(request.key) && *wanted != *most) {
            errors.push_back(
                invalid(requests, request.value,
                        "must be equal to " + request.key + " limit of " + most->text()));
        } else if (*wanted > *most) {
            errors.push_back(invalid(
                requests, request.value,
                "must be less than or equal to " + request.key + " limit of " + most->text()));
        }
    }
}

void check_ports(const Value& ports, const Path& path, FieldErrors& errors) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const Path item = path.item(i);
        const Value& name = ports[i]["name"];
        if (!name.text_or("").empty()) {
            add_invalid(errors, item.child("name"), name, port_name_faults(name.as_string()));
            if (!names.insert(name.text()).second) {
                errors.push_back(duplicate(item.child("name"), name));
            }
        }
        const Value& port = ports[i]["containerPort"];
        if (port.integer_or(0) == 0) {
            errors.push_back(required(item.child("containerPort")));
        } else if (!is_port(port.integer_or(0))) {
            errors.push_back(invalid(item.child("containerPort"), port, port_range));
        }
        const Value& host = ports[i]["hostPort"];
        if (host.integer_or(0) != 0 && !is_port(host.integer_or(0))) {
            errors.push_back(invalid(item.child("hostPort"), host, port_range));
        }
    }
}

void check_value_source(const Value& variable, const Path& path, FieldErrors& errors) {
    const Value& from = variable["valueFrom"];
    if (from.is_null()) return;
    if (from["fieldRef"].is_object())
        check_field_reference(from["fieldRef"], ShownIn::variable, path.child("fieldRef"), errors);
    if (from["resourceFieldRef"].is_object()) {
        check_resource_reference(from["resourceFieldRef"], ShownIn::variable,
                                 path.child("resourceFieldRef"), errors);
    }
    for (const char* source : {"configMapKeyRef", "secretKeyRef"}) {
        if (!from[source].is_object()) continue;
        const Path below = path.child(source);
        const std::string name = from[source]["name"].text();
        add_invalid(errors, below.child("name"), name, dns1123_subdomain_faults(name));
        const Value& key = from[source]["key"];
        if (key.text_or("").empty()) {
            errors.push_back(required(below.child("key")));
        } else {
            add_invalid(errors, below.child("key"), key, config_map_key_faults(key.as_string()));
        }
    }
    std::size_t sources = 0;
    for (const Value::Member& source : from.members())
        sources += source.value.is_null() ? 0 : 1;
    if (sources == 0) {
        errors.push_back(invalid(path, "",
                                 "must specify one of: `fieldRef`, `resourceFieldRef`, "
                                 "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"));
    } else if (!variable["value"].text_or("").empty()) {
        errors.push_back(invalid(path, "", "may not be specified when `value` is not empty"));
    } else if (sources > 1) {
        errors.push_back(invalid(path, "", "may not have more than one field specified at a time"));
    }
}

void check_environment(const Value& container, const Path& path, FieldErrors& errors) {
    const Path env = path.child("env");
    for (std::size_t i = 0; i < container["env"].size(); ++i) {
        const Path item = env.item(i);
        const Value& variable = container["env"][i];
        if (variable["name"].text_or("").empty()) {
            errors.push_back(required(item.child("name")));
        } else {
            add_invalid(errors, item.child("name"), variable["name"],
                        environment_name_faults(variable["name"].as_string()));
        }
        check_value_source(variable, item.child("valueFrom"), errors);
    }
    const Path from = path.child("envFrom");
    for (std::size_t i = 0; i < container["envFrom"].size(); ++i) {
        const Path item = from.item(i);
        const Value& source = container["envFrom"][i];
        const bool map = source["configMapRef"].is_object();
        const bool secret = source["secretRef"].is_object();
        if (!map && !secret) {
            errors.push_back(
                invalid(item, "", "must specify one of: `configMapRef` or `secretRef`"));
        } else if (map && secret) {
            errors.push_back(
                invalid(item, "", "may not have more than one field specified at a time"));
        }
    }
}

void check_mounts(const Value& mounts, const VolumeNames& volumes, const Path& path,
                  FieldErrors& errors) {
    std::set<std::string> paths;
    for (std::size_t i = 0; i < mounts.size(); ++i) {
        const Path item = path.item(i);
        const Value& name = mounts[i]["name"];
        if (name.text_or("").empty()) {
            errors.push_back(required(item.child("name")));
        } else if (!volumes.contains(name.as_string())) {
            errors.push_back(not_found(item.child("name"), name));
        }
        const Value& mount_path = mounts[i]["mountPath"];
        if (mount_path.text_or("").empty()) {
            errors.push_back(required(item.child("mountPath")));
        } else if (!paths.insert(mount_path.text()).second) {
            errors.push_back(invalid(item.child("mountPath"), mount_path, "must be unique"));
        }
        for (const char* key : {"subPath", "subPathExpr"}) {
            const std::string sub_path = "/" + mounts[i][key].text() + "/";
            if (sub_path.find("/../") != std::string::npos) {
                errors.push_back(invalid(item.child(key), mounts[i][key], "must not contain '..'"));
            } else if (sub_path.starts_with("//") && sub_path != "//") {
                errors.push_back(
                    invalid(item.child(key), mounts[i][key], "must be a relative path"));
            }
        }
    }
}

void check_port_reference(const Value& port, const Path& path, FieldErrors& errors) {
    if (port.is_string()) {
        add_invalid(errors, path, port, port_name_faults(port.as_string()));
    } else if (!is_port(port.integer_or(0))) {
        errors.push_back(invalid(path, port, port_range));
    }
}

/// What a probe or hook does: exactly one of the ways.
void check_handler(const Value& handler, const Path& path, FieldErrors& errors) {
    std::size_t ways = 0;
    for (const char* way : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
        if (!handler[way].is_object()) continue;
        if (++ways > 1) {
            errors.push_back(
                forbidden(path.child(way), "may not specify more than 1 handler type"));
        }
    }
    if (ways == 0) errors.push_back(required(path, "must specify a handler type"));
    if (handler["exec"].is_object() && handler["exec"]["command"].empty()) {
        const Path exec = path.child("exec");
        errors.push_back(required(exec.child("command")));
    }
    for (const char* way : {"httpGet", "tcpSocket"}) {
        if (!handler[way].is_object()) continue;
        const Path below = path.child(way);
        check_port_reference(handler[way]["port"], below.child("port"), errors);
    }
}

enum class Successes { any, one };

void check_probe(const Value& probe, const Path& path, Successes successes, FieldErrors& errors) {
    if (probe.is_null()) return;
    check_handler(probe, path, errors);
    for (const char* count : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                              "successThreshold", "failureThreshold"}) {
        if (probe[count].integer_or(0) < 0) {
            errors.push_back(invalid(path.child(count), probe[count], not_negative));
        }
    }
    if (successes == Successes::one && probe["successThreshold"].integer_or(1) != 1) {
        errors.push_back(
            invalid(path.child("successThreshold"), probe["successThreshold"], "must be 1"));
    }
}

void check_hooks(const Value& container, const Path& path, FieldErrors& errors) {
    check_probe(container["livenessProbe"], path.child("livenessProbe"), Successes::one, errors);
    check_probe(container["readinessProbe"], path.child("readinessProbe"), Successes::any, errors);
    check_probe(container["startupProbe"], path.child("startupProbe"), Successes::one, errors);
    const Path lifecycle = path.child("lifecycle");
    for (const char* hook : {"postStart", "preStop"}) {
        const Value& handler = container["lifecycle"][hook];
        if (handler.is_object()) check_handler(handler, lifecycle.child(hook), errors);
    }
}

/// Containers that end before the others start have no probes and no hooks.
void refuse_hooks(const Value& container, const Path& path, FieldErrors& errors) {
    for (const char* hook : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
        if (container[hook].is_null()) continue;
        errors.push_back(forbidden(
            path.child(hook), "may not be set for init containers without restartPolicy=Always"));
    }
}

/// The kernel's ids have 32 bits; Kubernetes keeps to those that a signed number of them can have.
void check_id(const Value& id, const Path& path, FieldErrors& errors) {
    constexpr std::int64_t largest_id = 2147483647;
    if (id.is_null() || (id.integer_or(0) >= 0 && id.integer_or(0) <= largest_id)) return;
    errors.push_back(invalid(path, id, "must be between 0 and 2147483647, inclusive"));
}

}  // namespace

void check_ids(const Value& context, const Path& path, FieldErrors& errors) {
    for (const char* field : {"runAsUser", "runAsGroup", "fsGroup"})
        check_id(context[field], path.child(field), errors);
    const Path groups = path.child("supplementalGroups");
    for (std::size_t i = 0; i < context["supplementalGroups"].size(); ++i)
        check_id(context["supplementalGroups"][i], groups.item(i), errors);
}

void check_resources(const Value& resources, const Path& path, FieldErrors& errors) {
    check_amounts(resources["limits"], path.child("limits"), errors);
    check_amounts(resources["requests"], path.child("requests"), errors);
    check_requests_against_limits(resources, path, errors);
}

void check_container(const Value& container, ContainerKind kind, const VolumeNames& volumes,
                     const Path& path, FieldErrors& errors) {
    const Value& name = container["name"];
    if (name.text_or("").empty()) {
        errors.push_back(required(path.child("name")));
    } else {
        add_invalid(errors, path.child("name"), name, dns1123_label_faults(name.as_string()));
    }
    const std::string image = container["image"].text();
    if (image.empty()) {
        errors.push_back(required(path.child("image")));
    } else if (image.front() == ' ' || image.back() == ' ') {
        errors.push_back(invalid(path.child("image"), container["image"],
                                 "must not have leading or trailing whitespace"));
    }
    check_ports(container["ports"], path.child("ports"), errors);
    check_environment(container, path, errors);
    check_mounts(container["volumeMounts"], volumes, path.child("volumeMounts"), errors);
    check_resources(container["resources"], path.child("resources"), errors);
    check_ids(container["securityContext"], path.child("securityContext"), errors);
    const bool sidecar = container["restartPolicy"].text_or("") == "Always";
    if (kind == ContainerKind::init && !sidecar) {
        refuse_hooks(container, path, errors);
    } else {
        check_hooks(container, path, errors);
    }
}

}  // namespace muster::api
