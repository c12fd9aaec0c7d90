// api/builtin/volume_validation.cpp - see volume_validation.h.
#include "api/builtin/volume_validation.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "api/builtin/field_reference.h"
#include "api/field_error.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::int64_t mode_max = 0777;
constexpr std::int64_t token_seconds_min = 600;
constexpr std::int64_t token_seconds_max = std::int64_t{1} << 32;

void check_needed(const Value& source, const char* field, const Path& path, FieldErrors& errors) {
    if (source[field].text_or("").empty()) errors.push_back(required(path.child(field)));
}

void check_mode(const Value& source, const char* field, const Path& path, FieldErrors& errors) {
    const std::int64_t mode = source[field].integer_or(0);
    if (mode >= 0 && mode <= mode_max) return;
    errors.push_back(invalid(path.child(field), source[field],
                             "must be a number between 0 and 0777 (octal), both inclusive"));
}

void check_no_way_up(const Value& place, const Path& path, FieldErrors& errors) {
    for (const std::string_view part : split(place.text_or(""), '/')) {
        if (part == "..") return errors.push_back(invalid(path, place, "must not contain '..'"));
    }
}

/// Of a file inside a volume: relative, never upwards, and no name that the kubelet keeps.
void check_file_path(const Value& place, const Path& path, FieldErrors& errors) {
    const std::string_view text = place.text_or("");
    if (text.starts_with("/")) errors.push_back(invalid(path, place, "must be a relative path"));
    check_no_way_up(place, path, errors);
    if (text.starts_with("..") && !text.starts_with("../"))
        errors.push_back(invalid(path, place, "must not start with '..'"));
}

/// A key of a ConfigMap or Secret and the file that shows it.
void check_key_to_path(const Value& item, const Path& path, FieldErrors& errors) {
    check_needed(item, "key", path, errors);
    check_needed(item, "path", path, errors);
    check_file_path(item["path"], path.child("path"), errors);
    check_mode(item, "mode", path, errors);
}

/// A file that shows a field of its pod. Of which file is wrong nothing is said, as there.
void check_shown_file(const Value& file, const Path& path, FieldErrors& errors) {
    check_needed(file, "path", path, errors);
    check_file_path(file["path"], path.child("path"), errors);
    const Value& amount = file["resourceFieldRef"];
    if (file["fieldRef"].is_object()) {
        check_field_reference(file["fieldRef"], ShownIn::file, path.child("fieldRef"), errors);
        if (amount.is_object()) {
            errors.push_back(
                invalid(path, "resource",
                        "fieldRef and resourceFieldRef can not be specified simultaneously"));
        }
    } else if (amount.is_object()) {
        check_resource_reference(amount, ShownIn::file, path.child("resourceFieldRef"), errors);
    } else {
        errors.push_back(required(path, "one of fieldRef and resourceFieldRef is required"));
    }
    check_mode(file, "mode", path, errors);
}

void check_keyed_source(const Value& source, const char* name, const Path& path,
                        FieldErrors& errors) {
    check_needed(source, name, path, errors);
    check_mode(source, "defaultMode", path, errors);
    const Path items = path.child("items");
    for (std::size_t i = 0; i < source["items"].size(); ++i)
        check_key_to_path(source["items"][i], items.item(i), errors);
}

void check_secret(const Value& source, const Path& path, FieldErrors& errors) {
    check_keyed_source(source, "secretName", path, errors);
}

void check_config_map(const Value& source, const Path& path, FieldErrors& errors) {
    check_keyed_source(source, "name", path, errors);
}

void check_downward(const Value& source, const Path& path, FieldErrors& errors) {
    check_mode(source, "defaultMode", path, errors);
    for (const Value& file : source["items"].items())
        check_shown_file(file, path, errors);
}

void check_host_path(const Value& source, const Path& path, FieldErrors& errors) {
    check_needed(source, "path", path, errors);
    check_no_way_up(source["path"], path.child("path"), errors);
}

void check_nfs(const Value& source, const Path& path, FieldErrors& errors) {
    check_needed(source, "server", path, errors);
    check_needed(source, "path", path, errors);
    if (!source["path"].text_or("").starts_with("/"))
        errors.push_back(
            invalid(path.child("path"), source["path"].text(), "must be an absolute path"));
}

void check_claim(const Value& source, const Path& path, FieldErrors& errors) {
    check_needed(source, "claimName", path, errors);
}

void check_csi(const Value& source, const Path& path, FieldErrors& errors) {
    check_needed(source, "driver", path, errors);
}

/// One source of a projected volume; `paths` are those of the files before it, `volume` is where
/// one that stands twice is told.
void check_projection(const Value& source, const Path& path, const Path& volume,
                      std::set<std::string>& paths, FieldErrors& errors) {
    const auto check_once = [&](const Value& place, const Value& told) {
        if (place.text_or("").empty() || paths.insert(place.text()).second) return;
        errors.push_back(invalid(volume, told, "conflicting duplicate paths"));
    };
    for (const char* kind : {"secret", "configMap"}) {
        if (!source[kind].is_object()) continue;
        const Path below = path.child(kind);
        check_needed(source[kind], "name", below, errors);
        const Path items = below.child("items");
        for (std::size_t i = 0; i < source[kind]["items"].size(); ++i) {
            const Value& item = source[kind]["items"][i];
            check_key_to_path(item, items.item(i), errors);
            check_once(item["path"], source[kind]["name"]);
        }
    }
    for (const Value& file : source["downwardAPI"]["items"].items()) {
        check_shown_file(file, path.child("downwardAPI"), errors);
        check_once(file["path"], file["path"]);
    }
    const Value& token = source["serviceAccountToken"];
    if (token.is_object()) {
        const Path below = path.child("serviceAccountToken");
        const Value& seconds = token["expirationSeconds"];
        if (seconds.integer_or(token_seconds_min) < token_seconds_min) {
            errors.push_back(invalid(below.child("expirationSeconds"), seconds,
                                     "may not specify a duration less than 10 minutes"));
        }
        if (seconds.integer_or(0) > token_seconds_max) {
            errors.push_back(invalid(below.child("expirationSeconds"), seconds,
                                     "may not specify a duration larger than 2^32 seconds"));
        }
        // There too its path is told as if it were the volume's.
        check_needed(token, "path", volume, errors);
        check_file_path(token["path"], volume.child("path"), errors);
    }
    std::size_t kinds = 0;
    for (const Value::Member& member : source.members())
        kinds += member.value.is_null() ? 0 : 1;
    if (kinds > 1)
        errors.push_back(forbidden(path, "may not specify more than 1 volume type per source"));
}

void check_projected(const Value& source, const Path& path, FieldErrors& errors) {
    check_mode(source, "defaultMode", path, errors);
    std::set<std::string> paths;
    const Path sources = path.child("sources");
    for (std::size_t i = 0; i < source["sources"].size(); ++i)
        check_projection(source["sources"][i], sources.item(i), path, paths, errors);
}

/// Where a volume's files come from. They are checked in this order, and only the first one that
/// is given.
struct Source {
    const char* name;
    void (*check)(const Value& source, const Path& path, FieldErrors& errors);
};
constexpr Source sources[] = {{"emptyDir", nullptr},
                              {"hostPath", check_host_path},
                              {"gitRepo", nullptr},
                              {"gcePersistentDisk", nullptr},
                              {"awsElasticBlockStore", nullptr},
                              {"secret", check_secret},
                              {"nfs", check_nfs},
                              {"iscsi", nullptr},
                              {"glusterfs", nullptr},
                              {"flocker", nullptr},
                              {"persistentVolumeClaim", check_claim},
                              {"rbd", nullptr},
                              {"cinder", nullptr},
                              {"cephfs", nullptr},
                              {"quobyte", nullptr},
                              {"downwardAPI", check_downward},
                              {"fc", nullptr},
                              {"flexVolume", nullptr},
                              {"configMap", check_config_map},
                              {"azureFile", nullptr},
                              {"vsphereVolume", nullptr},
                              {"photonPersistentDisk", nullptr},
                              {"portworxVolume", nullptr},
                              {"azureDisk", nullptr},
                              {"storageos", nullptr},
                              {"projected", check_projected},
                              {"scaleIO", nullptr},
                              {"csi", check_csi},
                              {"ephemeral", nullptr},
                              {"image", nullptr}};

void check_source(const Value& volume, const Path& path, FieldErrors& errors) {
    bool given = false;
    for (const Source& source : sources) {
        const Value& value = volume[source.name];
        if (!value.is_object()) continue;
        const Path below = path.child(source.name);
        if (given) {
            errors.push_back(forbidden(below, "may not specify more than 1 volume type"));
        } else if (source.check != nullptr) {
            source.check(value, below, errors);
        }
        given = true;
    }
}

}  // namespace

void check_volumes(const Value& volumes, const Path& path, FieldErrors& errors) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < volumes.size(); ++i) {
        const Path item = path.item(i);
        const Value& name = volumes[i]["name"];
        check_source(volumes[i], item, errors);
        if (name.text_or("").empty()) {
            errors.push_back(required(item.child("name")));
            continue;
        }
        add_invalid(errors, item.child("name"), name, dns1123_label_faults(name.as_string()));
        if (!names.insert(name.text()).second)
            errors.push_back(duplicate(item.child("name"), name));
    }
}

}  // namespace muster::api
