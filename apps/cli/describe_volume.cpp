// apps/cli/describe_volume.cpp - the volumes of a pod in kubectl's words.
#include "api/json.h"
#include "apps/cli/describe.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

std::string line(const std::string& title, const std::string& value) {
    return "    " + title + ":\t" + value + "\n";
}

std::string optional_text(const Value& source) {
    return source["optional"].boolean_or(false) ? "true" : "false";
}

std::string projected_lines(const Value& source) {
    std::string out =
        line("Type", "Projected (a volume that contains injected data from multiple sources)");
    for (const Value& part : source["sources"].items()) {
        if (const Value* secret = part.find("secret")) {
            out += line("SecretName", (*secret)["name"].text());
            out += line("Optional", optional_text(*secret));
        } else if (part.has("downwardAPI")) {
            out += line("DownwardAPI", "true");
        } else if (const Value* map = part.find("configMap")) {
            out += line("ConfigMapName", (*map)["name"].text());
            out += line("Optional", optional_text(*map));
        } else if (const Value* token = part.find("serviceAccountToken")) {
            out += line("TokenExpirationSeconds",
                        std::to_string((*token)["expirationSeconds"].integer_or(0)));
        }
    }
    return out;
}

std::string text_or_unset(const Value& value) {
    return value.is_string() && !value.as_string().empty() ? value.text() : "<unset>";
}

/// A kind of volume that is not known here better: its fields, spelled out.
std::string other_lines(const std::string& kind, const Value& source) {
    std::string out = line("Type", spelled_out(kind));
    for (const auto& field : source.members()) {
        if (field.value.is_array() || field.value.is_object()) continue;
        out += line(spelled_out(field.key),
                    field.value.is_string() ? field.value.text() : api::to_json(field.value));
    }
    return out;
}

std::string source_lines(const Value& volume) {
    if (const Value* source = volume.find("emptyDir"))
        return line("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)") +
               line("Medium", (*source)["medium"].text()) +
               line("SizeLimit", text_or_unset((*source)["sizeLimit"]));
    if (const Value* source = volume.find("hostPath"))
        return line("Type", "HostPath (bare host directory volume)") +
               line("Path", (*source)["path"].text()) +
               line("HostPathType", (*source)["type"].text());
    if (const Value* source = volume.find("secret"))
        return line("Type", "Secret (a volume populated by a Secret)") +
               line("SecretName", (*source)["secretName"].text()) +
               line("Optional", (*source)["optional"].boolean_or(false) ? "true" : "false");
    if (const Value* source = volume.find("configMap"))
        return line("Type", "ConfigMap (a volume populated by a ConfigMap)") +
               line("Name", (*source)["name"].text()) +
               line("Optional", (*source)["optional"].boolean_or(false) ? "true" : "false");
    if (const Value* source = volume.find("persistentVolumeClaim"))
        return line("Type",
                    "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same "
                    "namespace)") +
               line("ClaimName", (*source)["claimName"].text()) +
               line("ReadOnly", (*source)["readOnly"].boolean_or(false) ? "true" : "false");
    if (const Value* source = volume.find("projected")) return projected_lines(*source);
    for (const auto& member : volume.members()) {
        if (member.key != "name") return other_lines(member.key, member.value);
    }
    return "";
}

}  // namespace

std::string volume_lines(const Value& volumes, const std::string& indent) {
    if (volumes.empty()) return indent + "Volumes:\t<none>\n";
    std::string out = indent + "Volumes:\n";
    // The names of a template's volumes stand one column further in, as kubectl has it.
    const std::string name_indent = indent.empty() ? "  " : "   ";
    for (const Value& volume : volumes.items())
        out += name_indent + volume["name"].text() + ":\n" + source_lines(volume);
    return out;
}

}  // namespace muster::cli
