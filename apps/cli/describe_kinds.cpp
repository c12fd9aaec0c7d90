// apps/cli/describe_kinds.cpp - small built-in kinds as kubectl describes them.
#include <algorithm>
#include <map>

#include "api/json.h"
#include "apps/cli/describe.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

std::string or_unset(const Value& value, const char* otherwise = "<unset>") {
    if (value.is_string() && !value.as_string().empty()) return value.text();
    return value.is_integer() ? std::to_string(value.integer_or(0)) : otherwise;
}

std::string row(const std::string& title, const std::string& text) {
    return title + ":\t" + text + "\n";
}

std::string named(const Value& object) {
    const Value& metadata = object["metadata"];
    std::string out = row("Name", metadata["name"].text());
    if (metadata["namespace"].is_string()) out += row("Namespace", metadata["namespace"].text());
    return out;
}

std::string labelled(const Value& object) {
    return label_lines("Labels", object["metadata"]["labels"]) +
           annotation_lines(object["metadata"]["annotations"]);
}

std::vector<std::string> texts_of(const Value& list) {
    std::vector<std::string> texts;
    for (const Value& item : list.items())
        texts.push_back(item.is_string() ? item.text() : api::to_json(item));
    return texts;
}

/// "a=b,c=d"
std::string joined_labels(const Value& labels) {
    std::vector<std::string> parts;
    for (const auto& label : labels.members())
        parts.push_back(label.key + "=" + label.value.text());
    std::sort(parts.begin(), parts.end());
    return parts.empty() ? "<none>" : join(parts, ",");
}

std::size_t decoded_size(const Value& text) {
    const auto bytes = from_base64(text.text());
    return bytes ? bytes->size() : 0;
}

std::string config_map(const Value& object) {
    std::string out = named(object) + labelled(object) + "\nData\n====\n";
    for (const std::string& key : sorted_keys(object["data"]))
        out += key + ":\n----\n" + object["data"][key].text() + "\n\n";
    out += "\nBinaryData\n====\n";
    for (const std::string& key : sorted_keys(object["binaryData"]))
        out += key + ": " + std::to_string(decoded_size(object["binaryData"][key])) + " bytes\n";
    return out + "\n";
}

std::string secret(const Value& object) {
    std::string out = named(object) + labelled(object) + "\n" + row("Type", object["type"].text()) +
                      "\nData\n====\n";
    const bool token = object["type"].text_or("") == "kubernetes.io/service-account-token";
    for (const std::string& key : sorted_keys(object["data"])) {
        const bool shown = token && key == "token";
        out += row(key, shown ? from_base64(object["data"][key].text()).value_or("")
                              : std::to_string(decoded_size(object["data"][key])) + " bytes");
    }
    return out;
}

/// "10.0.0.1:80,10.0.0.2:80": the ready endpoints of one port.
std::string endpoints_text(const std::vector<Value>& slices, const Value& port) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> texts;
    std::size_t more = 0;
    for (const Value& slice : slices) {
        for (const Value& slice_port : slice["ports"].items()) {
            if (slice_port["name"].text_or("") != port["name"].text_or("")) continue;
            for (const Value& endpoint : slice["endpoints"].items()) {
                if (!endpoint["conditions"]["ready"].boolean_or(true)) continue;
                for (const Value& address : endpoint["addresses"].items()) {
                    if (texts.size() == shown) {
                        ++more;
                        continue;
                    }
                    texts.push_back(address.text() + ":" +
                                    std::to_string(slice_port["port"].integer_or(0)));
                }
            }
        }
    }
    const std::string rest = more == 0 ? "" : " + " + std::to_string(more) + " more...";
    return texts.empty() ? "<none>" : join(texts, ",") + rest;
}

std::string service(const Value& object, const std::vector<Value>& slices) {
    const Value& spec = object["spec"];
    std::string out = named(object) + labelled(object);
    out += row("Selector", joined_labels(spec["selector"]));
    out += row("Type", spec["type"].text());
    if (spec["ipFamilyPolicy"].is_string())
        out += row("IP Family Policy", spec["ipFamilyPolicy"].text());
    if (!spec["ipFamilies"].empty())
        out += row("IP Families", join(texts_of(spec["ipFamilies"]), ","));
    out += row("IP", or_unset(spec["clusterIP"], ""));
    out +=
        row("IPs", spec["clusterIPs"].empty() ? "<none>" : join(texts_of(spec["clusterIPs"]), ","));
    if (!spec["externalIPs"].empty())
        out += row("External IPs", join(texts_of(spec["externalIPs"]), ","));
    if (spec["externalName"].is_string()) out += row("External Name", spec["externalName"].text());
    for (const Value& port : spec["ports"].items()) {
        const std::string protocol = "/" + std::string(port["protocol"].text_or("TCP"));
        out += row("Port", or_unset(port["name"]) + "\t" + or_unset(port["port"]) + protocol);
        out += row("TargetPort", or_unset(port["targetPort"]) + protocol);
        if (port["nodePort"].integer_or(0) != 0)
            out += row("NodePort",
                       or_unset(port["name"]) + "\t" + or_unset(port["nodePort"]) + protocol);
        out += row("Endpoints", endpoints_text(slices, port));
    }
    out += row("Session Affinity", spec["sessionAffinity"].text());
    for (const auto& [title, field] :
         {std::pair{"External Traffic Policy", "externalTrafficPolicy"},
          std::pair{"Internal Traffic Policy", "internalTrafficPolicy"}}) {
        if (spec[field].is_string()) out += row(title, spec[field].text());
    }
    return out;
}

std::string job(const Value& object) {
    const Value& spec = object["spec"];
    const Value& status = object["status"];
    std::string out = named(object);
    out += row("Selector", joined_labels(spec["selector"]["matchLabels"])) + labelled(object);
    for (const Value& owner : object["metadata"]["ownerReferences"].items()) {
        if (owner["controller"].boolean_or(false))
            out += row("Controlled By", owner["kind"].text() + "/" + owner["name"].text());
    }
    out += row("Parallelism", or_unset(spec["parallelism"]));
    out += row("Completions", or_unset(spec["completions"]));
    if (spec["completionMode"].is_string())
        out += row("Completion Mode", spec["completionMode"].text());
    if (spec["suspend"].is_boolean())
        out += row("Suspend", spec["suspend"].boolean_or(false) ? "true" : "false");
    if (spec["backoffLimit"].is_integer())
        out += row("Backoff Limit", or_unset(spec["backoffLimit"]));
    if (spec["ttlSecondsAfterFinished"].is_integer())
        out += row("TTL Seconds After Finished", or_unset(spec["ttlSecondsAfterFinished"]));
    const auto started = parse_rfc3339(status["startTime"].text_or(""));
    const auto completed = parse_rfc3339(status["completionTime"].text_or(""));
    if (started) out += row("Start Time", long_time(status["startTime"]));
    if (completed) out += row("Completed At", long_time(status["completionTime"]));
    if (started && completed) out += row("Duration", human_duration(*completed - *started));
    if (spec["activeDeadlineSeconds"].is_integer())
        out += row("Active Deadline Seconds", or_unset(spec["activeDeadlineSeconds"]) + "s");
    const auto count = [&](const char* field) {
        return std::to_string(status[field].integer_or(0));
    };
    const std::string ready = status["ready"].is_integer() ? " (" + count("ready") + " Ready)" : "";
    out += row("Pods Statuses", count("active") + " Active" + ready + " / " + count("succeeded") +
                                    " Succeeded / " + count("failed") + " Failed");
    if (spec["completionMode"].text_or("") == "Indexed")
        out += row("Completed Indexes", or_unset(status["completedIndexes"], "<none>"));
    return out + template_lines(spec["template"]);
}

std::string name_space(const Value& object) {
    std::string out = named(object) + labelled(object);
    out += row("Status", object["status"]["phase"].text());
    return out + "\nNo resource quota.\n\nNo LimitRange resource.\n";
}

std::string service_account(const Value& object) {
    std::string out = named(object) + labelled(object) + "Image pull secrets:";
    const Value& secrets = object["imagePullSecrets"];
    if (secrets.empty()) return out + "\t<none>\n";
    for (const Value& each : secrets.items())
        out += "\t" + each["name"].text() + "\n";
    return out;
}

std::string priority_class(const Value& object) {
    std::string out = row("Name", object["metadata"]["name"].text());
    out += row("Value", or_unset(object["value"], "0"));
    out += row("GlobalDefault", object["globalDefault"].boolean_or(false) ? "true" : "false");
    out += row("PreemptionPolicy",
               std::string(object["preemptionPolicy"].text_or("PreemptLowerPriority")));
    out += row("Description", object["description"].text());
    return out + row("Annotations", joined_labels(object["metadata"]["annotations"]));
}

/// One line of a role: rules about one resource, verbs joined.
struct RoleRow {
    std::string resource;
    std::string url;
    std::string name;
    std::vector<std::string> verbs;
    std::string order;  // As kubectl sorts: by the text of Go's PolicyRule.
};

void add_rule(std::vector<RoleRow>& rows, const Value& rule) {
    const auto verbs = texts_of(rule["verbs"]);
    for (const std::string& url : texts_of(rule["nonResourceURLs"])) {
        for (const std::string& verb : verbs)
            rows.push_back({"", url, "", {verb}, ""});
    }
    auto names = texts_of(rule["resourceNames"]);
    if (names.empty()) names.emplace_back();
    for (const std::string& group : texts_of(rule["apiGroups"])) {
        for (const std::string& plural : texts_of(rule["resources"])) {
            const std::size_t slash = plural.find('/');
            const std::string resource =
                group.empty() ? plural
                : slash == std::string::npos
                    ? plural + "." + group
                    : plural.substr(0, slash) + "." + group + plural.substr(slash);
            for (const std::string& name : names) {
                const auto same = std::find_if(rows.begin(), rows.end(), [&](const RoleRow& each) {
                    return each.url.empty() && each.resource == resource && each.name == name;
                });
                RoleRow& into =
                    same != rows.end()
                        ? *same
                        : rows.emplace_back(RoleRow{resource,
                                                    "",
                                                    name,
                                                    {},
                                                    "[" + group + "],Resources:[" + plural + "]"});
                for (const std::string& verb : verbs) {
                    if (std::find(into.verbs.begin(), into.verbs.end(), verb) == into.verbs.end())
                        into.verbs.push_back(verb);
                }
            }
        }
    }
}

std::string role(const Value& object) {
    std::vector<RoleRow> rows;
    for (const Value& rule : object["rules"].items())
        add_rule(rows, rule);
    for (RoleRow& each : rows) {
        each.order = "Verbs:[" + join(each.verbs, " ") + "],APIGroups:" +
                     (each.url.empty() ? each.order : std::string("[],Resources:[]")) +
                     ",ResourceNames:[" + each.name + "],NonResourceURLs:[" + each.url + "]";
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const RoleRow& a, const RoleRow& b) { return a.order < b.order; });
    std::string out = row("Name", object["metadata"]["name"].text()) + labelled(object);
    out +=
        "PolicyRule:\n  Resources\tNon-Resource URLs\tResource Names\tVerbs\n"
        "  ---------\t-----------------\t--------------\t-----\n";
    for (const RoleRow& each : rows)
        out += "  " + each.resource + "\t[" + each.url + "]\t[" + each.name + "]\t[" +
               join(each.verbs, " ") + "]\n";
    return out;
}

std::string binding(const Value& object) {
    std::string out = row("Name", object["metadata"]["name"].text()) + labelled(object);
    out += "Role:\n  Kind:\t" + object["roleRef"]["kind"].text() + "\n  Name:\t" +
           object["roleRef"]["name"].text() + "\n";
    out += "Subjects:\n  Kind\tName\tNamespace\n  ----\t----\t---------\n";
    for (const Value& subject : object["subjects"].items())
        out += "  " + subject["kind"].text() + "\t" + subject["name"].text() + "\t" +
               subject["namespace"].text() + "\n";
    return out;
}

}  // namespace

std::optional<std::string> describe_known(const std::string& group, const Value& object,
                                          const Belongings& belongings, Time now) {
    const std::string kind = object["kind"].text();
    const std::string events = event_lines(belongings.events, now);
    if (group == "rbac.authorization.k8s.io") {
        if (kind == "Role" || kind == "ClusterRole") return align_blocks(role(object));
        return align_blocks(binding(object));
    }
    if (group == "batch" && kind == "Job") return align_blocks(job(object) + events);
    if (group == "scheduling.k8s.io") return align_blocks(priority_class(object) + events);
    if (!group.empty()) return std::nullopt;
    if (kind == "ConfigMap") return align_blocks(config_map(object) + events);
    if (kind == "Secret") return align_blocks(secret(object));
    if (kind == "Service") return align_blocks(service(object, belongings.slices) + events);
    if (kind == "Namespace") return align_blocks(name_space(object));
    if (kind == "ServiceAccount") return align_blocks(service_account(object) + events);
    return std::nullopt;
}

}  // namespace muster::cli
