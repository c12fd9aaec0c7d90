// control/queue/configuration_rules.cpp - Kueue's validation of its configuration.
#include "control/queue/configuration_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/field_error.h"
#include "api/label_rules.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::control::queue {
namespace {

using api::Path;
using api::Value;
using Version = ConfigurationVersion;

constexpr const char* negative = "must be greater than or equal to 0";

/// The faults of one document as they are found.
class Rules {
public:
    Rules(const Value& document, Version version) : document_(document), version_(version) {}

    std::vector<api::FieldError> faults() {
        wait_for_pods();
        integrations();
        multi_kueue();
        fair_sharing();
        admission_fair_sharing();
        certificates();
        transformations();
        device_classes();
        namespaces();
        local_queue_metrics();
        retention();
        tls();
        visibility();
        custom_labels();
        leader_election();
        if (document_["resources"]["quotaCheckStrategy"].text_or("") == "IgnoreUndeclared" &&
            !document_["resources"]["excludeResourcePrefixes"].empty()) {
            fault("resources.quotaCheckStrategy",
                  "excludeResourcePrefixes is not allowed when quotaCheckStrategy is "
                  "IgnoreUndeclared");
        }
        return std::move(errors_);
    }

private:
    const Value& at(std::string_view path) const { return document_.path(path); }

    void fault(const std::string& field, const std::string& why) {
        errors_.push_back(
            {"FieldValueInvalid", field, "Invalid value: " + api::shown(at(field)) + ": " + why});
    }
    void required(const std::string& field, const std::string& why) {
        errors_.push_back({"FieldValueRequired", field, "Required value: " + why});
    }

    enum class Zero { allowed, refused };

    void duration(const std::string& field, Zero zero = Zero::allowed) {
        const Value& value = at(field);
        if (value.is_null()) return;
        const auto parsed = parse_go_duration(value.text_or(""));
        if (!parsed) {
            fault(field, "must be a duration such as 90s, 5m or 1h30m");
        } else if (*parsed < Duration{}) {
            fault(field, zero == Zero::refused ? "must be greater than 0" : negative);
        } else if (zero == Zero::refused && *parsed == Duration{}) {
            fault(field, "must be greater than 0");
        }
    }

    void not_negative(const std::string& field) {
        if (at(field).integer_or(0) < 0) fault(field, negative);
    }

    void wait_for_pods() {
        if (!waits_for_pods(document_, version_)) return;
        for (const char* field : {"timeout", "recoveryTimeout", "maxTimeoutOnWorkload"})
            duration("waitForPodsReady." + std::string(field));
        for (const char* field : {"backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"})
            not_negative("waitForPodsReady.requeuingStrategy." + std::string(field));
    }

    void integrations() {
        const Path root;
        const Path section = root.child("integrations");
        const Path frameworks = section.child("frameworks");
        std::set<std::string> seen;
        std::size_t i = 0;
        for (const Value& name : at("integrations.frameworks").items()) {
            const Path item = frameworks.item(i++);
            const auto& known = framework_names();
            if (std::find(known.begin(), known.end(), name.text_or("")) == known.end()) {
                errors_.push_back(api::not_supported(item, name, known));
            } else if (!seen.insert(name.text()).second) {
                errors_.push_back(api::duplicate(item, name));
            }
        }
        const Path external = section.child("externalFrameworks");
        i = 0;
        for (const Value& name : at("integrations.externalFrameworks").items()) {
            const Path item = external.item(i++);
            if (!is_kind_word(name.text_or(""))) {
                errors_.push_back(
                    api::invalid(item, name, "must be format, 'Kind.version.group.com'"));
            } else if (!seen.insert(name.text()).second) {
                errors_.push_back(api::duplicate(item, name));
            }
        }
        const Path copied = section.child("labelKeysToCopy");
        i = 0;
        for (const Value& key : at("integrations.labelKeysToCopy").items()) {
            const Path item = copied.item(i++);
            api::add_invalid(errors_, item, key, label_key_faults(key.text_or("")));
        }
        for (const char* selector : {"namespaceSelector", "podSelector"}) {
            const Path options = section.child("podOptions");
            const Path field = options.child(selector);
            api::check_label_selector(document_["integrations"]["podOptions"][selector], field,
                                      errors_);
        }
    }

    static bool is_kind_word(std::string_view name) {
        const std::size_t dot = name.find('.');
        return dot != std::string_view::npos && dot > 0 &&
               name.find('.', dot + 1) != std::string_view::npos;
    }

    void multi_kueue() {
        duration("multiKueue.gcInterval");
        duration("multiKueue.workerLostTimeout");
        const Path root;
        const Path section = root.child("multiKueue");
        const Value& origin = at("multiKueue.origin");
        const Path origin_path = section.child("origin");
        api::add_invalid(errors_, origin_path, origin, label_value_faults(origin.text_or("")));
        const Path frameworks = section.child("externalFrameworks");
        std::set<std::string> seen;
        std::size_t i = 0;
        for (const Value& framework : at("multiKueue.externalFrameworks").items()) {
            const Path item = frameworks.item(i++);
            const Path name = item.child("name");
            if (!is_kind_word(framework["name"].text_or(""))) {
                errors_.push_back(api::invalid(name, framework["name"],
                                               "must be in 'kind.version.group' format"));
            } else if (!seen.insert(framework["name"].text()).second) {
                errors_.push_back(api::duplicate(name, framework["name"]));
            }
        }
        const Value& incremental = at("multiKueue.incrementalDispatcherConfig");
        if (!incremental.is_object()) return;
        if (at("multiKueue.dispatcherName").text_or("") !=
            "kueue.x-k8s.io/multikueue-dispatcher-incremental") {
            fault("multiKueue.incrementalDispatcherConfig",
                  "incrementalDispatcherConfig is only valid when dispatcherName is set to the "
                  "incremental dispatcher");
        }
        if (incremental["stepSize"].integer_or(1) < 1) {
            fault("multiKueue.incrementalDispatcherConfig.stepSize",
                  "must be greater than or equal to 1");
        }
    }

    void fair_sharing() {
        if (!shares_fairly(document_, version_)) return;
        const char* field = "fairSharing.preemptionStrategies";
        const auto& strategies = at(field).items();
        if (strategies.empty()) {
            if (version_ == Version::v1beta2) required(field, "must be specified");
            return;
        }
        std::string all;
        for (const Value& strategy : strategies)
            all += (all.empty() ? "" : ",") + strategy.text();
        const std::vector<std::string> allowed = {
            "LessThanOrEqualToFinalShare", "LessThanInitialShare",
            "LessThanOrEqualToFinalShare,LessThanInitialShare"};
        if (std::find(allowed.begin(), allowed.end(), all) != allowed.end()) return;
        const Path root;
        const Path section = root.child("fairSharing");
        errors_.push_back(
            api::not_supported(section.child("preemptionStrategies"), at(field), allowed));
    }

    void admission_fair_sharing() {
        duration("admissionFairSharing.usageHalfLifeTime");
        const bool usual =
            duration_of(at("admissionFairSharing.usageSamplingInterval")) == Duration{} &&
            parse_go_duration(at("admissionFairSharing.usageSamplingInterval").text_or("0s"));
        if (!usual) duration("admissionFairSharing.usageSamplingInterval", Zero::refused);
        const Path root;
        const Path section = root.child("admissionFairSharing");
        const Path weights = section.child("resourceWeights");
        for (const auto& [resource, weight] :
             at("admissionFairSharing.resourceWeights").members()) {
            if (weight.is_number() && weight.as_real() < 0)
                errors_.push_back(api::invalid(weights.key(resource), weight, negative));
        }
    }

    void certificates() {
        if (!at("internalCertManagement.enable").boolean_or(true)) return;
        const Path root;
        const Path section = root.child("internalCertManagement");
        const Value& service = at("internalCertManagement.webhookServiceName");
        if (!service.is_null()) {
            api::add_invalid(errors_, section.child("webhookServiceName"), service,
                             dns1035_label_faults(service.text_or("")));
        }
        const Value& secret = at("internalCertManagement.webhookSecretName");
        if (!secret.is_null()) {
            api::add_invalid(errors_, section.child("webhookSecretName"), secret,
                             dns1123_subdomain_faults(secret.text_or("")));
        }
    }

    void transformations() {
        const Path root;
        const Path resources = root.child("resources");
        const Path list = resources.child("transformations");
        std::set<std::string> seen;
        std::size_t i = 0;
        for (const Value& each : at("resources.transformations").items()) {
            const Path item = list.item(i++);
            if (!seen.insert(each["input"].text()).second)
                errors_.push_back(api::duplicate(item.child("input"), each["input"]));
        }
    }

    void device_classes() {
        const Path root;
        const Path resources = root.child("resources");
        const Path list = resources.child("deviceClassMappings");
        std::set<std::string> names;
        std::map<std::string, std::string> resource_of;
        std::size_t i = 0;
        for (const Value& each : at("resources.deviceClassMappings").items()) {
            const Path item = list.item(i++);
            const Path name = item.child("name");
            api::add_invalid(errors_, name, each["name"], label_key_faults(each["name"].text()));
            if (!names.insert(each["name"].text()).second)
                errors_.push_back(api::duplicate(name, each["name"]));
            const Path classes = item.child("deviceClassNames");
            std::size_t k = 0;
            for (const Value& device : each["deviceClassNames"].items()) {
                const Path field = classes.item(k++);
                api::add_invalid(errors_, field, device, label_key_faults(device.text_or("")));
                const auto [known, is_new] =
                    resource_of.try_emplace(device.text(), each["name"].text());
                if (is_new) continue;
                if (known->second == each["name"].text()) {
                    errors_.push_back(api::duplicate(field, device));
                } else if (each["sources"].empty()) {
                    errors_.push_back(api::invalid(
                        field, device, "device class already mapped to resource " + known->second));
                }
            }
        }
    }

    void namespaces() {
        const Value& selector = at("managedJobsNamespaceSelector");
        if (selector.is_null()) return;
        const Path root;
        const Path field = root.child("managedJobsNamespaceSelector");
        const std::size_t before = errors_.size();
        api::check_label_selector(selector, field, errors_);
        if (errors_.size() != before) return;
        std::vector<std::string> prohibited = {"kube-system"};
        const std::string own = at("namespace").text();
        if (!own.empty()) prohibited.push_back(own);
        for (const std::string& name : prohibited) {
            const Value labels = Value::object({{"kubernetes.io/metadata.name", name}});
            if (!api::selector_matches(selector, labels)) continue;
            errors_.push_back(api::invalid(field, selector,
                                           "should not match the " + quoted(name) + " namespace"));
        }
    }

    void local_queue_metrics() {
        const Path root;
        const Value& local = at("metrics.localQueueMetrics.localQueueSelector");
        const Path metrics = root.child("metrics");
        const Path of_local = metrics.child("localQueueMetrics");
        api::check_label_selector(local, of_local.child("localQueueSelector"), errors_);
    }

    void retention() {
        duration("objectRetentionPolicies.workloads.afterFinished");
        duration("objectRetentionPolicies.workloads.afterDeactivatedByKueue");
    }

    void tls() {
        if (at("tls.minVersion").text_or("") == "VersionTLS13" && !at("tls.cipherSuites").empty())
            fault("tls.cipherSuites", "may not be specified when `minVersion` is 'VersionTLS13'");
    }

    void visibility() {
        const Value& port = at("visibilityServer.bindPort");
        if (port.is_integer() && (port.as_integer() < 1 || port.as_integer() > 65535))
            fault("visibilityServer.bindPort", "must be a valid port number (1-65535)");
        const Value& clusters = at("queueVisibility.clusterQueues.maxCount");
        if (clusters.integer_or(0) < 0) fault("queueVisibility.clusterQueues.maxCount", negative);
        if (clusters.integer_or(0) > 4000)
            fault("queueVisibility.clusterQueues.maxCount", "must be less than 4000");
        if (at("queueVisibility").is_object() &&
            at("queueVisibility.updateIntervalSeconds").integer_or(5) < 1) {
            fault("queueVisibility.updateIntervalSeconds", "greater than or equal to 1");
        }
    }

    void custom_labels() {
        const Path root;
        const Path metrics = root.child("metrics");
        const Path list = metrics.child("customLabels");
        std::set<std::string> seen;
        std::size_t i = 0;
        for (const Value& each : at("metrics.customLabels").items()) {
            const Path item = list.item(i++);
            const std::string name = each["name"].text();
            const auto is_letter = [](char c) {
                return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            };
            const bool good = !name.empty() && is_letter(name[0]) &&
                              std::all_of(name.begin(), name.end(), [&](char c) {
                                  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
                              });
            if (!good) {
                errors_.push_back(api::invalid(item.child("name"), each["name"],
                                               "must match ^[a-zA-Z][a-zA-Z0-9_]*$"));
            }
            if (!seen.insert(name).second)
                errors_.push_back(api::duplicate(item.child("name"), each["name"]));
            if (!each["sourceLabelKey"].text_or("").empty() &&
                !each["sourceAnnotationKey"].text_or("").empty()) {
                errors_.push_back(api::invalid(
                    item, each, "sourceLabelKey and sourceAnnotationKey are mutually exclusive"));
            }
        }
    }

    void leader_election() {
        for (const char* field : {"leaseDuration", "renewDeadline", "retryPeriod"})
            duration("leaderElection." + std::string(field));
    }

    const Value& document_;
    Version version_;
    std::vector<api::FieldError> errors_;
};

}  // namespace

std::vector<api::FieldError> configuration_faults(const Value& document, Version version) {
    return Rules(document, version).faults();
}

const std::vector<std::string>& framework_names() {
    static const std::vector<std::string> names = {"batch/job",
                                                   "deployment",
                                                   "jobset.x-k8s.io/jobset",
                                                   "kubeflow.org/jaxjob",
                                                   "kubeflow.org/mpijob",
                                                   "kubeflow.org/paddlejob",
                                                   "kubeflow.org/pytorchjob",
                                                   "kubeflow.org/tfjob",
                                                   "kubeflow.org/xgboostjob",
                                                   "leaderworkerset.x-k8s.io/leaderworkerset",
                                                   "pod",
                                                   "ray.io/raycluster",
                                                   "ray.io/rayjob",
                                                   "ray.io/rayservice",
                                                   "sparkoperator.k8s.io/sparkapplication",
                                                   "statefulset",
                                                   "trainer.kubeflow.org/trainjob",
                                                   "workload.codeflare.dev/appwrapper"};
    return names;
}

Duration duration_of(const Value& text) {
    return parse_go_duration(text.text_or("")).value_or(Duration{});
}

bool waits_for_pods(const Value& document, Version version) {
    const Value& section = document["waitForPodsReady"];
    if (version == Version::v1beta1) return section["enable"].boolean_or(false);
    return true;
}

bool shares_fairly(const Value& document, Version version) {
    const Value& section = document["fairSharing"];
    if (version == Version::v1beta1) return section["enable"].boolean_or(false);
    return section.is_object();
}

}  // namespace muster::control::queue
