// apiserver/metadata.cpp - the server's own fields.
#include "apiserver/metadata.h"

#include <algorithm>
#include <utility>

#include "api/field_error.h"
#include "api/members_by_name.h"
#include "apiserver/status_error.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::size_t longest_generated_base = 58;
constexpr std::size_t longest_annotations = 256 << 10;

void complain(std::vector<api::FieldError>& errors, const std::string& field,
              std::string_view shown, const std::vector<std::string>& faults) {
    for (const std::string& fault : faults)
        errors.push_back(invalid_value(field, shown, fault));
}

/// Roles and bindings may be named like paths ("system:node"); the rest are DNS names.
std::vector<std::string> name_faults(const api::Kind& kind, std::string_view name) {
    if (kind.group == "rbac.authorization.k8s.io") return path_segment_faults(name);
    if (kind.group.empty() && kind.plural == "namespaces") return dns1123_label_faults(name);
    if (kind.group.empty() && kind.plural == "services") return dns1123_label_faults(name);
    if (kind.group == "apps" && kind.plural == "statefulsets") return dns1123_label_faults(name);
    std::vector<std::string> faults = dns1123_subdomain_faults(name);
    // Names of its Jobs are eleven characters longer.
    constexpr std::size_t cron_job_max = 52;
    if (kind.group == "batch" && kind.plural == "cronjobs" && name.size() > cron_job_max)
        faults.push_back("must be no more than " + std::to_string(cron_job_max) + " characters");
    return faults;
}

void check_labels(const Value& labels, std::vector<api::FieldError>& errors) {
    for (const auto& label : labels.members()) {
        complain(errors, "metadata.labels", label.key, label_key_faults(label.key));
        const std::string_view value = label.value.text_or("");
        complain(errors, "metadata.labels", value, label_value_faults(value));
    }
}

void check_owner(const Value& owner, std::vector<api::FieldError>& errors) {
    const std::string at = "metadata.ownerReferences";
    const std::string version = owner["apiVersion"].text();
    const std::string kind = owner["kind"].text();
    if (version.empty() || std::count(version.begin(), version.end(), '/') > 1)
        errors.push_back(invalid_value(at + ".apiVersion", version, "version must not be empty"));
    for (const char* field : {"kind", "name", "uid"}) {
        if (!owner[field].text_or("").empty()) continue;
        errors.push_back(invalid_value(at + "." + field, "", "must not be empty"));
    }
    if (version == "v1" && kind == "Event") {
        errors.push_back({"FieldValueInvalid", at,
                          "Invalid value: " + api::shown(owner) +
                              ": /v1, Kind=Event is disallowed from being an owner"});
    }
}

void check_owners(const Value& owners, std::vector<api::FieldError>& errors) {
    std::string first;
    for (const Value& owner : owners.items()) {
        check_owner(owner, errors);
        if (!owner["controller"].boolean_or(false)) continue;
        const std::string shown = owner["kind"].text() + "/" + owner["name"].text();
        if (first.empty()) {
            first = shown;
            continue;
        }
        errors.push_back({"FieldValueInvalid", "metadata.ownerReferences",
                          "Invalid value: " + api::shown(owners) +
                              ": Only one reference can have Controller set to true. Found "
                              "\"true\" in references for " +
                              first + " and " + shown});
    }
}

/// Whoever removes a finalizer must be known by its name: built-in kinds ask for a domain in it.
void check_finalizers(const api::Kind& kind, const Value& finalizers,
                      std::vector<api::FieldError>& errors) {
    const bool of_any_name = kind.custom || kind.plural == "leases";
    for (std::size_t i = 0; i < finalizers.size(); ++i) {
        const std::string name = finalizers[i].text();
        complain(errors, "metadata.finalizers", name, label_key_faults(name));
        if (of_any_name || name.find('/') != std::string::npos || is_standard_finalizer(name))
            continue;
        errors.push_back(
            invalid_value("metadata.finalizers[" + std::to_string(i) + "]", name,
                          "name is neither a standard finalizer name nor is it fully qualified"));
    }
    const auto has = [&](std::string_view name) {
        return std::any_of(finalizers.items().begin(), finalizers.items().end(),
                           [&](const Value& each) { return each.text_or("") == name; });
    };
    if (has("orphan") && has("foregroundDeletion")) {
        errors.push_back({"FieldValueInvalid", "metadata.finalizers",
                          "Invalid value: " + api::shown(finalizers) +
                              ": finalizer orphan and foregroundDeletion cannot be both set"});
    }
}

void check_new_finalizers(const Value& object, const Value& old,
                          std::vector<api::FieldError>& errors) {
    if (old["metadata"]["deletionTimestamp"].is_null()) return;
    const Value::Array& before = old["metadata"]["finalizers"].items();
    std::string added;
    for (const Value& finalizer : object["metadata"]["finalizers"].items()) {
        if (std::find(before.begin(), before.end(), finalizer) != before.end()) continue;
        added += (added.empty() ? "\"" : ", \"") + finalizer.text() + "\"";
    }
    if (added.empty()) return;
    errors.push_back(forbidden_value("metadata.finalizers",
                                     "no new finalizers can be added if the object is being "
                                     "deleted, found new finalizers []string{" +
                                         added + "}"));
}

/// Who patches sees what he writes over: there it is no question of which object is meant.
void check_kept(const api::Kind& kind, const Value& old, const Value& object) {
    std::vector<api::FieldError> errors;
    for (const char* own : {"uid", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
        const Value& now = object["metadata"][own];
        const Value& before = old["metadata"][own];
        if (now.is_null() || now == before || (now.is_string() && now.text().empty())) continue;
        if (own != std::string_view("uid") && !before.is_null()) continue;  // It is put back.
        errors.push_back({"FieldValueInvalid", std::string("metadata.") + own,
                          "Invalid value: " + api::shown(now) + ": field is immutable"});
    }
    if (!errors.empty()) throw invalid(kind, old["metadata"]["name"].text_or(""), errors);
}

/// Whether two objects have the same members, of those that count.
template <typename Counts>
bool same_members(const Value& a, const Value& b, const Counts& counts) {
    if (a.is_same(b)) return true;
    const api::MemberIndex of_a(a);
    const api::MemberIndex of_b(b);
    const auto is_kept = [&](const Value::Member& member) {
        if (!counts(member.key.view())) return true;
        const Value* other = of_b.find(member.key);
        return other == nullptr ? member.value.is_null() : member.value == *other;
    };
    const auto is_old = [&](const Value::Member& member) {
        return !counts(member.key.view()) || of_a.has(member.key);
    };
    return std::all_of(a.members().begin(), a.members().end(), is_kept) &&
           std::all_of(b.members().begin(), b.members().end(), is_old);
}

}  // namespace

bool is_standard_finalizer(std::string_view name) {
    return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
}

void check_namespace(const Exchange& exchange, const Value& object) {
    const std::string ns = object["metadata"]["namespace"].text();
    if (!ns.empty() && ns != exchange.route.ns) {
        throw bad_request(
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
    }
}

void fill_new_name(Context& context, Exchange& exchange, Value& object) {
    const api::Kind& kind = *exchange.kind;
    Value& metadata = object.at("metadata");
    if (kind.namespaced) {
        check_namespace(exchange, object);
        metadata.set("namespace", exchange.route.ns);
    } else {
        metadata.erase("namespace");
    }
    std::string name = metadata["name"].text();
    const std::string base = metadata["generateName"].text();
    if (name.empty() && !base.empty()) {
        if (exchange.chosen_name.empty()) {
            exchange.chosen_name =
                base.substr(0, longest_generated_base) + context.random.suffix(5);
        }
        name = exchange.chosen_name;
        metadata.set("name", name);
    }
    if (name.empty() && kind.group.empty() && kind.plural == "limitranges") {
        name = context.random.uuid();
        metadata.set("name", name);
    }
    if (name.empty()) {
        throw invalid(kind, "",
                      {required_value("metadata.name", "name or generateName is required")});
    }
    for (const char* own : {"selfLink", "resourceVersion", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "uid", "creationTimestamp"}) {
        metadata.erase(own);
    }
}

void fill_new_identity(Context& context, const api::Kind& kind, Value& object) {
    Value& metadata = object.at("metadata");
    metadata.set("uid", context.random.uuid());
    metadata.set("creationTimestamp", to_rfc3339(context.loop.now()));
    if (has_generation(kind)) metadata.set("generation", 1);
}

namespace {

/// Who writes over an object of some kinds says which state of it was seen.
void check_unconditional(const api::Kind& kind, const std::string& name) {
    const std::vector<api::FieldError> missing{{"FieldValueInvalid", "metadata.resourceVersion",
                                                "Invalid value: 0: must be specified for an "
                                                "update"}};
    if (kind.custom) throw invalid(kind.resource(), name, missing);
    static constexpr std::string_view groups[] = {"admissionregistration.k8s.io",
                                                  "apiextensions.k8s.io", "coordination.k8s.io",
                                                  "node.k8s.io", "policy"};
    if (std::find(std::begin(groups), std::end(groups), kind.group) != std::end(groups))
        throw invalid(kind.resource(), name, missing);
}

}  // namespace

void carry_metadata(const api::Kind& kind, const Value& old, store::Revision revision, Given given,
                    Value& object) {
    const std::string name = old["metadata"]["name"].text();
    const Value& before = old["metadata"];
    Value& metadata = object.at("metadata");
    const std::string version = metadata["resourceVersion"].text();
    if (version.empty() || version == "0") {
        check_unconditional(kind, name);
    } else if (version != std::to_string(revision)) {
        throw modified(kind.resource(), name);
    }
    if (given == Given::by_patch) check_kept(kind, old, object);
    const std::string uid = metadata["uid"].text();
    if (!uid.empty() && uid != before["uid"].text()) {
        throw conflict(kind.resource(), name,
                       "Precondition failed: UID in precondition: " + uid +
                           ", UID in object meta: " + before["uid"].text());
    }
    for (const char* own : {"name", "namespace", "uid", "creationTimestamp", "generation",
                            "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"}) {
        if (before[own].is_null()) {
            metadata.erase(own);
        } else {
            metadata.set(own, before[own]);
        }
    }
    metadata.erase("selfLink");
}

void check_place(const Exchange& exchange, const Value& object) {
    const std::string name = object["metadata"]["name"].text();
    if (name.empty()) {
        throw bad_request("the name of the object (" + exchange.route.name +
                          " based on URL) was undeterminable: name must be provided");
    }
    if (name != exchange.route.name) {
        throw bad_request("the name of the object (" + name +
                          ") does not match the name on the URL (" + exchange.route.name + ")");
    }
    if (exchange.kind->namespaced) check_namespace(exchange, object);
}

void check_no_uid(const Exchange& exchange, const Value& object) {
    const std::string uid = object["metadata"]["uid"].text();
    if (uid.empty()) return;
    throw conflict(exchange.kind->resource(), exchange.route.name,
                   "uid mismatch: the provided object specified uid " + uid +
                       ", and no existing object was found");
}

bool has_generation(const api::Kind& kind) {
    if (kind.custom) return true;
    static constexpr std::string_view groups[] = {"batch",
                                                  "apps",
                                                  "scheduling.k8s.io",
                                                  "apiextensions.k8s.io",
                                                  "admissionregistration.k8s.io",
                                                  "policy",
                                                  "discovery.k8s.io",
                                                  "networking.k8s.io"};
    static constexpr std::string_view in_core[] = {"pods", "podtemplates",
                                                   "replicationcontrollers"};
    const auto has = [](const auto& list, const std::string& name) {
        return std::find(std::begin(list), std::end(list), name) != std::end(list);
    };
    if (kind.group.empty()) return has(in_core, kind.plural);
    return kind.plural != "controllerrevisions" && has(groups, kind.group);
}

void count_generation(const api::Kind& kind, std::string_view subresource, const Value& old,
                      Value& object) {
    // A PriorityClass stays in its first; where a pod runs is not what was asked for.
    if (!has_generation(kind) || kind.group == "scheduling.k8s.io" || subresource == "binding")
        return;
    const auto counts = [&](std::string_view key) {
        return key != "metadata" && key != "apiVersion" && key != "kind" &&
               !(key == "status" && kind.has_status);
    };
    // What a rollout looks at beside the spec.
    bool differs = subresource.empty() && kind.group == "apps" && kind.plural == "deployments" &&
                   !(object["metadata"]["annotations"] == old["metadata"]["annotations"]);
    // Whose labels say what they belong to.
    if (kind.plural == "endpointslices")
        differs = differs || !(object["metadata"]["labels"] == old["metadata"]["labels"]);
    differs = differs || !same_members(object, old, counts);
    const std::int64_t before = old["metadata"]["generation"].integer_or(1);
    object.at("metadata").set("generation", differs ? before + 1 : before);
}

std::vector<api::FieldError> validate_metadata(const api::Kind& kind, const Value& object,
                                               const Value& old) {
    std::vector<api::FieldError> errors;
    const Value& metadata = object["metadata"];
    const Value& given_base = metadata["generateName"];
    const bool is_new_base = old.is_null() || !(given_base == old["metadata"]["generateName"]);
    if (std::string base = given_base.text(); is_new_base && !base.empty()) {
        // What follows may end in anything but a dash.
        if (base.size() > 1 && base.back() == '-') base.back() = 'a';
        complain(errors, "metadata.generateName", given_base.text_or(""), name_faults(kind, base));
    }
    if (old.is_null()) {
        const std::string_view name = metadata["name"].text_or("");
        complain(errors, "metadata.name", name, name_faults(kind, name));
    }
    if (!(metadata["labels"] == old["metadata"]["labels"])) {
        check_labels(metadata["labels"], errors);
    }
    std::size_t annotations = 0;
    for (const auto& annotation : metadata["annotations"].members()) {
        complain(errors, "metadata.annotations", annotation.key,
                 label_key_faults(to_lower(annotation.key)));
        annotations += annotation.key.size() + annotation.value.text_or("").size();
    }
    if (annotations > longest_annotations) {
        errors.push_back({"FieldValueTooLong", "metadata.annotations",
                          "Too long: may not be more than 262144 bytes"});
    }
    check_owners(metadata["ownerReferences"], errors);
    if (!(metadata["finalizers"] == old["metadata"]["finalizers"]))
        check_finalizers(kind, metadata["finalizers"], errors);
    check_new_finalizers(object, old, errors);
    return errors;
}

bool same_but_version(const Value& a, const Value& b) {
    if (!same_members(a, b, [](std::string_view key) { return key != "metadata"; })) return false;
    const auto counts = [](std::string_view key) {
        return key != "resourceVersion" && key != "managedFields";
    };
    if (!same_members(a["metadata"], b["metadata"], counts)) return false;
    const auto& fields_a = a["metadata"]["managedFields"].items();
    const auto& fields_b = b["metadata"]["managedFields"].items();
    if (fields_a.size() != fields_b.size()) return false;
    for (std::size_t i = 0; i < fields_a.size(); ++i) {
        for (const char* part : {"manager", "operation", "apiVersion", "subresource", "fieldsV1"}) {
            if (!(fields_a[i][part] == fields_b[i][part])) return false;
        }
    }
    return true;
}

bool is_released(const api::Kind& kind, const Value& object) {
    const Value& metadata = object["metadata"];
    if (metadata["deletionTimestamp"].is_null() || !metadata["finalizers"].empty()) return false;
    if (metadata["deletionGracePeriodSeconds"].integer_or(0) > 0) return false;
    const bool ns = kind.plural == "namespaces" && kind.group.empty();
    return !ns || object["spec"]["finalizers"].empty();
}

}  // namespace muster::apiserver
