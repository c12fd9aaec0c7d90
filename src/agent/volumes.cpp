// agent/volumes.cpp - see volumes.h.
#include "agent/volumes.h"

#include <algorithm>

#include "base/dns_name.h"
#include "base/quantity.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr int kUsualMode = 0644;

/// Beside its content and its name: what stands for it here, and a node of the disk.
constexpr std::size_t kFileCost = 256;

/// The keys of config maps and secrets, each made once however many files are made of it.
class Contents {
public:
    explicit Contents(std::size_t room) : room_(room) {}

    const SourceIndex::Entries& entries_of(const Value& object) { return index_.of(object); }
    /// Null when there is no such key.
    Bytes of(const Value& object, std::string_view key) {
        const SourceEntry* entry = index_.find(object, key);
        if (!entry) return nullptr;
        const auto [known, added] = made_.try_emplace(entry);
        if (!added) return known->second;
        if (auto value = entry->bytes()) known->second = make_bytes(std::move(*value));
        return known->second;
    }
    /// False when the files of the pod would have more than they may.
    bool take(std::size_t size) {
        if (size > room_ || files_ >= kFilesMost) return false;
        room_ -= size;
        ++files_;
        return true;
    }

private:
    SourceIndex index_;
    std::map<const SourceEntry*, Bytes> made_;
    std::size_t room_;
    std::size_t files_ = 0;
};

/// Fills one volume of files from its sources; stops making files when the pod's have too much.
class FilesMaker {
public:
    FilesMaker(const Value& pod, const Sources& sources, const PodPlace& place, Contents& contents,
               int mode)
        : pod_(pod), sources_(sources), place_(place), contents_(contents), mode_(mode) {}

    void add_object(const Value& source, const std::string& name, const char* kind,
                    const std::map<std::string, Value>& known);
    void add_fields(const Value& source);
    void add_token(const Value& source);
    void add_projected(const Value& sources);

    std::vector<VolumeFile> files;
    std::string problem;

private:
    int mode_of(const Value& item) const {
        return static_cast<int>(item["mode"].integer_or(mode_));
    }

    /// False: no more fits.
    bool add(const std::string& path, Bytes content, int mode) {
        if (!contents_.take(path.size() + content->size() + kFileCost)) {
            problem = "the files of the pod's volumes have more than " +
                      std::to_string(kFilesLimit >> 20) + " MiB together, or are more than " +
                      std::to_string(kFilesMost) +
                      "; put data of this size into a hostPath, or have the pod "
                      "fetch it into an emptyDir";
            return false;
        }
        files.push_back({path, std::move(content), mode});
        return true;
    }

    const Value& pod_;
    const Sources& sources_;
    const PodPlace& place_;
    Contents& contents_;
    int mode_;
};

void FilesMaker::add_object(const Value& source, const std::string& name, const char* kind,
                            const std::map<std::string, Value>& known) {
    const bool optional = source["optional"].boolean_or(false);
    const auto found = known.find(name);
    if (found == known.end()) {
        if (name == "kube-root-ca.crt" && !place_.certificate_authority_pem.empty()) {
            add("ca.crt", make_bytes(place_.certificate_authority_pem), mode_);
        } else if (!optional) {
            problem = std::string(kind) + " \"" + name + "\" not found";
        }
        return;
    }
    if (!source.has("items")) {
        for (const auto& [key, entry] : contents_.entries_of(found->second))
            if (const Bytes content = contents_.of(found->second, key))
                if (!add(std::string(key), content, mode_)) return;
        return;
    }
    for (const Value& item : source["items"].items()) {
        const std::string key = item["key"].text();
        if (const Bytes content = contents_.of(found->second, key)) {
            if (!add(item["path"].text(), content, mode_of(item))) return;
        } else if (!optional)
            problem = "references non-existent " +
                      std::string(kind == std::string("secret") ? "secret" : "config") +
                      " key: " + key;
    }
}

void FilesMaker::add_fields(const Value& source) {
    for (const Value& item : source["items"].items()) {
        const std::string path = item["fieldRef"]["fieldPath"].text();
        const auto value = item.has("fieldRef")
                               ? field_value(pod_, place_, path)
                               : resource_value(pod_, place_, item["resourceFieldRef"], "");
        if (value) {
            if (!add(item["path"].text(), make_bytes(*value), mode_of(item))) return;
        } else
            problem = "downward API: there is no " +
                      (path.empty() ? item["resourceFieldRef"]["resource"].text() : path);
    }
}

void FilesMaker::add_token(const Value& source) {
    const TokenRequest request{source["audience"].text(),
                               source["expirationSeconds"].integer_or(3600)};
    if (const auto found = sources_.tokens.find(request); found != sources_.tokens.end()) {
        add(source["path"].text(), make_bytes(found->second), mode_);
        return;
    }
    const auto why = sources_.token_problems.find(request);
    problem = "failed to fetch token: " +
              (why == sources_.token_problems.end() ? "none was given" : why->second);
}

void FilesMaker::add_projected(const Value& sources) {
    for (const Value& source : sources.items()) {
        if (source.has("configMap"))
            add_object(source["configMap"], source["configMap"]["name"].text(), "configmap",
                       sources_.config_maps);
        else if (source.has("secret"))
            add_object(source["secret"], source["secret"]["name"].text(), "secret",
                       sources_.secrets);
        else if (source.has("downwardAPI"))
            add_fields(source["downwardAPI"]);
        else if (source.has("serviceAccountToken"))
            add_token(source["serviceAccountToken"]);
        else
            problem = "this kind of projected source is not available on this machine";
    }
}

std::string text_of_source(const Value& volume) {
    for (const Value::Member& member : volume.members())
        if (member.key != "name") return member.key;
    return "nothing";
}

VolumePlan plan_volume(const Value& pod, const Value& volume, const Sources& sources,
                       const PodPlace& place, Contents& contents, std::string& problem) {
    VolumePlan plan;
    plan.name = volume["name"].text();
    const auto mode_in = [&volume](const char* source) {
        return static_cast<int>(volume[source]["defaultMode"].integer_or(kUsualMode));
    };
    if (volume.has("emptyDir") || volume.size() == 1) {
        const Value& empty = volume["emptyDir"];
        const std::string medium = empty["medium"].text();
        if (medium == "Memory") plan.kind = VolumePlan::Kind::memory;
        if (!medium.empty() && medium != "Memory")
            problem = "emptyDir of medium " + medium +
                      " is not available on this machine; use Memory or leave it out";
        plan.size_limit = Quantity::parse(empty["sizeLimit"].text()).value_or(Quantity{}).units();
        return plan;
    }
    if (volume.has("hostPath")) {
        plan.kind = VolumePlan::Kind::machine_path;
        plan.machine_path = volume["hostPath"]["path"].text();
        plan.path_type = volume["hostPath"]["type"].text();
        return plan;
    }
    plan.kind = VolumePlan::Kind::files;
    const char* source = volume.has("configMap")     ? "configMap"
                         : volume.has("secret")      ? "secret"
                         : volume.has("downwardAPI") ? "downwardAPI"
                                                     : "projected";
    FilesMaker maker(pod, sources, place, contents, mode_in(source));
    if (volume.has("configMap"))
        maker.add_object(volume["configMap"], volume["configMap"]["name"].text(), "configmap",
                         sources.config_maps);
    else if (volume.has("secret"))
        maker.add_object(volume["secret"], volume["secret"]["secretName"].text(), "secret",
                         sources.secrets);
    else if (volume.has("downwardAPI"))
        maker.add_fields(volume["downwardAPI"]);
    else if (volume.has("projected"))
        maker.add_projected(volume["projected"]["sources"]);
    else
        maker.problem = "volumes of kind " + text_of_source(volume) +
                        " are not available on this machine; use emptyDir or hostPath";
    plan.files = std::move(maker.files);
    problem = maker.problem;
    return plan;
}

/// Without a slash at its end, or two in its middle.
std::string clean_path(const std::string& path) {
    std::string clean;
    for (const char each : path)
        if (each != '/' || !clean.ends_with('/')) clean += each;
    if (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
    return clean;
}

/// Names become folders: the server lets only labels through, and nothing is built on that alone.
std::string name_problem(const Value& spec) {
    for (const char* list : {"volumes", "containers", "initContainers"})
        for (const Value& each : spec[list].items())
            if (!dns1123_label_faults(each["name"].text()).empty())
                return "\"" + each["name"].text() + "\" in spec." + list +
                       " is no name: use lower case letters, digits and '-'";
    return "";
}

bool leaves(const std::string& path) {
    return path.starts_with('/') || path == ".." || path.starts_with("../") ||
           path.ends_with("/..") || path.find("/../") != std::string::npos;
}

}  // namespace

VolumesPlan plan_volumes(const Value& pod, const Sources& sources, const PodPlace& place) {
    VolumesPlan plan;
    plan.problem = name_problem(pod["spec"]);
    if (!plan.problem.empty()) return plan;
    Contents contents(kFilesLimit);
    std::size_t memory_volumes = 0;
    for (const Value& volume : pod["spec"]["volumes"].items()) {
        std::string problem;
        plan.volumes.push_back(plan_volume(pod, volume, sources, place, contents, problem));
        if (plan.volumes.back().kind == VolumePlan::Kind::memory &&
            ++memory_volumes > kMemoryVolumesMost)
            problem = "a pod may have " + std::to_string(kMemoryVolumesMost) + " volumes in memory";
        for (const VolumeFile& file : plan.volumes.back().files)
            if (file.path.empty() || leaves(file.path))
                problem = "path \"" + file.path + "\" leaves the volume";
        if (!problem.empty() && plan.problem.empty())
            plan.problem = "MountVolume.SetUp failed for volume \"" + volume["name"].text() +
                           "\" : " + problem;
    }
    return plan;
}

void admit_machine_paths(VolumesPlan& plan, const std::vector<HostPath>& allowed) {
    for (VolumePlan& volume : plan.volumes) {
        if (volume.kind != VolumePlan::Kind::machine_path) continue;
        const std::string path = clean_path(volume.machine_path);
        const HostPath* best = nullptr;
        for (const HostPath& each : allowed) {
            const bool within = path == each.path || path.starts_with(each.path + "/");
            if (within && (!best || each.path.size() > best->path.size())) best = &each;
        }
        if (!best) {
            if (plan.problem.empty())
                plan.problem = "MountVolume.SetUp failed for volume \"" + volume.name +
                               "\" : hostPath " + volume.machine_path +
                               " is not allowed on this machine; use an emptyDir, or let the "
                               "administrator add it to the file that muster up reads with "
                               "--config: hostPaths: [{path: " +
                               volume.machine_path + "}]";
            continue;
        }
        volume.machine_root = best->path;
        volume.machine_inside = path.substr(std::min(best->path.size() + 1, path.size()));
        volume.machine_read_only = !best->writable;
    }
}

std::vector<BindMount> plan_mounts(const Value& container, const VolumesPlan& volumes,
                                   const std::string& folder, const Variables& variables) {
    std::vector<BindMount> mounts;
    for (const Value& mount : container["volumeMounts"].items()) {
        const auto volume =
            std::find_if(volumes.volumes.begin(), volumes.volumes.end(),
                         [&](const VolumePlan& each) { return each.name == mount["name"].text(); });
        if (volume == volumes.volumes.end()) continue;
        const bool of_machine = volume->kind == VolumePlan::Kind::machine_path;
        BindMount bind;
        bind.source = of_machine ? volume->machine_root : folder + "/" + volume->name;
        if (of_machine && !volume->machine_inside.empty())
            bind.inside.push_back(volume->machine_inside);
        std::string sub_path = mount["subPath"].text();
        if (mount.has("subPathExpr"))
            sub_path = expand(mount["subPathExpr"].text(), variables, kPathLimit);
        if (!sub_path.empty()) bind.inside.push_back(sub_path);
        bind.read_only = mount["readOnly"].boolean_or(false) ||
                         volume->kind == VolumePlan::Kind::files ||
                         (of_machine && volume->machine_read_only);
        bind.target = mount["mountPath"].text();
        if (!bind.target.starts_with('/')) bind.target.insert(0, "/");
        mounts.push_back(std::move(bind));
    }
    std::stable_sort(mounts.begin(), mounts.end(), [](const BindMount& a, const BindMount& b) {
        return a.target.size() < b.target.size();
    });
    return mounts;
}

}  // namespace muster::agent
