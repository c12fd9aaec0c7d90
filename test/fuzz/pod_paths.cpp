// test/fuzz/pod_paths.cpp - A pod's volumes, mounts and users: nothing in it names a path of the
// machine that it was not given, or a user of somebody else.
#include <set>
#include <variant>

#include "agent/uid_ranges.h"
#include "agent/volumes.h"
#include "api/json.h"
#include "base/error.h"
#include "base/text.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

using api::Value;

const std::string kFolder = "/data/agent/pods/uid/volumes";
const std::vector<agent::HostPath> kAllowed = {{"/srv/models", false}, {"/srv/scratch", true}};

bool is_one_step(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

bool goes_up(const std::string& path) {
    for (const std::string_view step : split(path, '/'))
        if (step == "..") return true;
    return false;
}

void check_files(const agent::VolumesPlan& plan) {
    for (const agent::VolumePlan& volume : plan.volumes) {
        demand(is_one_step(volume.name), "a volume's folder is in the folder of all");
        for (const agent::VolumeFile& file : volume.files)
            demand(!file.path.empty() && file.path[0] != '/' && !goes_up(file.path),
                   "a file is in its volume");
    }
}

/// The source is chosen by Muster; all that the pod names is resolved beneath it when it is
/// mounted.
void check_mounts(const Value& container, const agent::VolumesPlan& plan) {
    for (const agent::BindMount& mount : agent::plan_mounts(container, plan, kFolder, {})) {
        bool given = false;
        for (const agent::HostPath& each : kAllowed) {
            given |= mount.source == each.path;
            if (mount.source == each.path)
                demand(mount.read_only || each.writable, "a path is written only where it may be");
        }
        const bool own = mount.source.starts_with(kFolder + "/") &&
                         is_one_step(mount.source.substr(kFolder.size() + 1));
        demand(own || given, "a mount's source is the pod's volume or an allowed path");
        demand(mount.target[0] == '/', "a mount's target is a path of the container");
    }
}

void check_users(const Value& pod) {
    constexpr std::int64_t first = 1'000'000;
    agent::IdTable table({agent::IdSupply::Kind::ranges, first, first, 3});
    const auto any = [](std::int64_t) { return true; };
    const agent::IdMap other = table.map_for("other", {{0}, {0}}, {}, any);
    const agent::IdsWanted wanted = agent::ids_wanted(pod);
    const agent::IdMap map = table.map_for("own", wanted, {"other"}, any);
    const auto check = [&](const std::vector<agent::IdExtent>& extents,
                           const std::set<std::int64_t>& ids) {
        std::set<std::int64_t> outside;
        for (const std::int64_t id : ids) {
            const std::int64_t each = agent::outside_of(extents, id);
            demand(each >= first + 65'536 && each < first + 2 * 65'536,
                   "an id of a pod is in the range of its namespace");
            demand(outside.insert(each).second, "two ids of a pod are two ids of the machine");
        }
    };
    check(map.users, wanted.users);
    check(map.groups, wanted.groups);
    demand(agent::id_map_of(agent::to_value(map)) == map, "a map is read as it was written");
}

void take(std::string_view input) {
    const auto parsed = api::parse_json(std::string(input));
    const auto* document = std::get_if<api::Parsed>(&parsed);
    if (!document) return;
    const Value& pod = document->value;
    agent::VolumesPlan plan = agent::plan_volumes(pod, {}, {});
    agent::admit_machine_paths(plan, kAllowed);
    if (plan.problem.empty()) {
        check_files(plan);
        for (const char* list : {"containers", "initContainers"})
            for (const Value& container : pod["spec"][list].items()) {
                demand(is_one_step(container["name"].text()), "a container's folder is its own");
                check_mounts(container, plan);
            }
    }
    try {
        check_users(pod);
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

}  // namespace

Target pod_paths_target() {
    return {
        "pod_paths",
        {R"json({"spec":{"volumes":[{"name":"v","emptyDir":{}},{"name":"h","hostPath":{"path":"/srv/models/../../etc"}},
             {"name":"d","downwardAPI":{"items":[{"path":"a/../../b","fieldRef":{"fieldPath":"metadata.name"}}]}}],
             "containers":[{"name":"main","volumeMounts":[{"name":"v","mountPath":"/x","subPath":"../.."},
             {"name":"h","mountPath":"x","subPathExpr":"$(A)","readOnly":false}]}]}})json",
         R"json({"spec":{"securityContext":{"runAsUser":65533,"fsGroup":70000,"supplementalGroups":[65280,1,4294967295]},
             "volumes":[{"name":"../../x","emptyDir":{}}],"containers":[{"name":"../main"}]}})json",
         R"json({"spec":{"volumes":[{"name":"h","hostPath":{"path":"/srv/scratch/a"}}],
             "initContainers":[{"name":"i","volumeMounts":[{"name":"h","mountPath":"/h"}]}]}})json"},
        take};
}

}  // namespace muster::fuzz
