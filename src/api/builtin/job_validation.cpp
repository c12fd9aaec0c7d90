// api/builtin/job_validation.cpp - what Kubernetes refuses in a Job and in an update of one.
#include <optional>
#include <string>

#include "api/builtin/validation.h"
#include "api/field_error.h"
#include "api/label_rules.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr const char* immutable = "field is immutable";

void check_manager(const Value& manager, const Path& path, FieldErrors& errors) {
    constexpr std::string_view in_path =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~%!$&'()*+,;=:";
    constexpr std::int64_t longest = 63;
    const std::string text = manager.text();
    const auto halves = split_first(text, '/');
    if (text.empty()) {
        errors.push_back(required(path));
    } else if (!halves || halves->before.empty() || halves->after.empty()) {
        errors.push_back(
            invalid(path, manager, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    } else {
        add_invalid(errors, path, Value(halves->before), dns1123_subdomain_faults(halves->before));
        if (halves->after.find_first_not_of(in_path) != std::string_view::npos)
            errors.push_back(invalid(path, Value(halves->after), "Invalid path"));
    }
    if (std::ssize(text) > longest) errors.push_back(too_long(path, longest));
}

void check_counts(const Value& spec, const Path& path, FieldErrors& errors) {
    for (const char* count :
         {"parallelism", "completions", "backoffLimit", "activeDeadlineSeconds",
          "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
        if (spec[count].integer_or(0) < 0) {
            errors.push_back(
                invalid(path.child(count), spec[count], "must be greater than or equal to 0"));
        }
    }
    const bool indexed = spec["completionMode"].text_or("") == "Indexed";
    if (indexed && spec["completions"].is_null()) {
        errors.push_back(required(path.child("completions"), "when completion mode is Indexed"));
    }
    constexpr std::int64_t indexed_parallelism_max = 100'000;
    if (indexed && spec["parallelism"].integer_or(0) > indexed_parallelism_max) {
        errors.push_back(invalid(path.child("parallelism"), spec["parallelism"],
                                 "must be less than or equal to 100000 when completion mode is "
                                 "Indexed"));
    }
    if (!spec["managedBy"].is_null())
        check_manager(spec["managedBy"], path.child("managedBy"), errors);
    if (!indexed && !spec["backoffLimitPerIndex"].is_null()) {
        errors.push_back(invalid(path.child("backoffLimitPerIndex"), spec["backoffLimitPerIndex"],
                                 "requires indexed completion mode"));
    }
}

void check_restart_policy(const Value& spec, const Path& path, FieldErrors& errors) {
    const Value& policy = spec["template"]["spec"]["restartPolicy"];
    const Path pod_template = path.child("template");
    const Path pod_spec = pod_template.child("spec");
    const std::string_view text = policy.text_or("");
    if (text.empty() || text == "Always") {
        errors.push_back(
            required(pod_spec.child("restartPolicy"), "valid values: \"OnFailure\", \"Never\""));
    } else if (text != "Never" && !spec["podFailurePolicy"].is_null()) {
        errors.push_back(invalid(pod_spec.child("restartPolicy"), policy,
                                 "only \"Never\" is supported when podFailurePolicy is specified"));
    }
}

/// A template without what may change while its job is suspended: what queues add on admission and
/// take back.
Value fixed_template(Value pod_template) {
    if (!pod_template.is_object()) return pod_template;
    if (Value* metadata = pod_template.find("metadata");
        metadata != nullptr && metadata->is_object()) {
        metadata->erase("labels");
        metadata->erase("annotations");
        if (metadata->empty()) pod_template.erase("metadata");
    }
    Value* spec = pod_template.find("spec");
    if (spec == nullptr || !spec->is_object()) return pod_template;
    for (const char* field : {"nodeSelector", "tolerations", "schedulingGates", "affinity"}) {
        spec->erase(field);
    }
    return pod_template;
}

bool is_suspended_now(const Value& job) {
    for (const Value& condition : job["status"]["conditions"].items()) {
        if (condition["type"].text_or("") == "Suspended") {
            return condition["status"].text_or("") == "True";
        }
    }
    return false;
}

void check_update(const Value& job, const Value& old, FieldErrors& errors) {
    const Path root;
    const Path path = root.child("spec");
    const Value& now = job["spec"];
    const Value& before = old["spec"];
    const auto check = [&](const char* field) {
        if (!(now[field] == before[field])) {
            errors.push_back(invalid(path.child(field), now[field], immutable));
        }
    };
    for (const char* field : {"selector", "completionMode", "podFailurePolicy", "managedBy",
                              "backoffLimitPerIndex", "successPolicy", "podReplacementPolicy"}) {
        check(field);
    }
    const bool indexed = now["completionMode"].text_or("") == "Indexed";
    const bool scales =
        indexed && now["completions"] == now["parallelism"] && !now["completions"].is_null();
    if (!scales) check("completions");
    const bool suspended = before["suspend"].boolean_or(false) &&
                           (old["status"]["startTime"].is_null() || is_suspended_now(old));
    const bool same = suspended
                          ? fixed_template(now["template"]) == fixed_template(before["template"])
                          : now["template"] == before["template"];
    if (!same) errors.push_back(invalid(path.child("template"), now["template"], immutable));
}

}  // namespace

FieldErrors validate_job(const Value& job, const Value* old) {
    FieldErrors errors;
    const Path root;
    const Path path = root.child("spec");
    const Value& spec = job["spec"];
    check_counts(spec, path, errors);
    const Value& labels = spec["template"]["metadata"]["labels"];
    if (spec["selector"].is_null()) {
        errors.push_back(required(path.child("selector")));
    } else {
        check_label_selector(spec["selector"], path.child("selector"), errors);
        if (!selector_matches(spec["selector"], labels)) {
            const Path pod_template = path.child("template");
            const Path metadata = pod_template.child("metadata");
            errors.push_back(invalid(metadata.child("labels"), labels,
                                     "`selector` does not match template `labels`"));
        }
    }
    check_pod_template(spec["template"], path.child("template"), errors);
    check_restart_policy(spec, path, errors);
    if (old != nullptr) check_update(job, *old, errors);
    return errors;
}

}  // namespace muster::api
