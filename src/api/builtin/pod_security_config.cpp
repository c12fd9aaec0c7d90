// api/builtin/pod_security_config.cpp - reads the configuration of Pod Security.
#include "api/builtin/pod_security_config.h"

#include <algorithm>
#include <initializer_list>

#include "api/field_error.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Names = std::set<std::string, std::less<>>;

void check_fields(const Value& section, const Path& path,
                  std::initializer_list<std::string_view> known, FieldErrors& faults) {
    if (!section.is_object()) {
        faults.push_back(invalid(path, section, "must be an object"));
        return;
    }
    for (const auto& member : section.members()) {
        if (std::find(known.begin(), known.end(), member.key) == known.end())
            faults.push_back(invalid(
                path.child(member.key), member.value,
                "unknown field; there are " + join(std::vector<std::string_view>(known), ", ")));
    }
}

void read_way(const Value& defaults, const std::string& way, const Path& path,
              SecurityPolicy& policy, FieldErrors& faults) {
    if (const Value& given = defaults[way]; !given.is_null()) {
        const auto level = parse_security_level(given.text_or(""));
        if (!level) faults.push_back(invalid(path.child(way), given, security_level_fault));
        policy.level = level.value_or(SecurityLevel::restricted);
    }
    const std::string field = way + "-version";
    if (const Value& given = defaults[field]; !given.is_null()) {
        const auto version = parse_security_version(given.text_or(""));
        if (!version) faults.push_back(invalid(path.child(field), given, security_version_fault));
        policy.version = version.value_or(SecurityVersion());
    }
}

Names names_of(const Value& list, const Path& path,
               std::vector<std::string> (*faults_of)(std::string_view), FieldErrors& faults) {
    Names names;
    if (!list.is_null() && !list.is_array())
        faults.push_back(invalid(path, list, "must be a list of names"));
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::vector<std::string> wrong = faults_of(list[i].text_or(""));
        if (!wrong.empty()) {
            faults.push_back(invalid(path.item(i), list[i], join(wrong, ", ")));
        } else if (!names.insert(list[i].text()).second) {
            faults.push_back(duplicate(path.item(i), list[i]));
        }
    }
    return names;
}

std::vector<std::string> user_faults(std::string_view name) {
    if (!name.empty()) return {};
    return {"username must not be empty"};
}

}  // namespace

PodSecurityConfiguration read_pod_security(const Value& section, FieldErrors& faults) {
    PodSecurityConfiguration read;
    if (section.is_null()) return read;
    const Path root;
    const Path path = root.child("podSecurity");
    check_fields(section, path, {"defaults", "exemptions"}, faults);
    if (const Value& defaults = section["defaults"]; !defaults.is_null()) {
        const Path here = path.child("defaults");
        check_fields(
            defaults, here,
            {"enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version"},
            faults);
        read.defaults = {};
        read_way(defaults, "enforce", here, read.defaults.enforce, faults);
        read_way(defaults, "audit", here, read.defaults.audit, faults);
        read_way(defaults, "warn", here, read.defaults.warn, faults);
    }
    if (const Value& exempt = section["exemptions"]; !exempt.is_null()) {
        const Path here = path.child("exemptions");
        check_fields(exempt, here, {"usernames", "namespaces", "runtimeClasses"}, faults);
        read.usernames =
            names_of(exempt["usernames"], here.child("usernames"), user_faults, faults);
        read.namespaces =
            names_of(exempt["namespaces"], here.child("namespaces"), dns1123_label_faults, faults);
        read.runtime_classes = names_of(exempt["runtimeClasses"], here.child("runtimeClasses"),
                                        dns1123_subdomain_faults, faults);
    }
    return read;
}

}  // namespace muster::api
