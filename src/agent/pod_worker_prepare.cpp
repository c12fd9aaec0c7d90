// agent/pod_worker_prepare.cpp - before a pod starts: what it refers to is fetched, its volumes and
// files are written, its containers are checked.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>

#include "agent/environment.h"
#include "agent/files.h"
#include "agent/image_map.h"
#include "agent/pod_files.h"
#include "agent/pod_refusal.h"
#include "agent/pod_worker.h"
#include "base/error.h"
#include "kube/request.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr Duration kRetry = seconds(2);
constexpr Duration kRefresh = seconds(60);

/// Makes a hostPath what its type says; gives what is wrong with it.
std::string check_machine_path(const VolumePlan& volume, const std::string& data_directory) {
    struct stat status {};
    const std::string& path = volume.machine_path;
    std::error_code none;
    const std::string real = std::filesystem::weakly_canonical(path, none).string() + "/";
    if (real.starts_with(data_directory + "/"))
        return "hostPath " + path + " is in Muster's own data folder, which no pod may see";
    const std::string& type = volume.path_type;
    if (type == "DirectoryOrCreate" || type == "FileOrCreate") {
        if (::stat(path.c_str(), &status) != 0) {
            if (type == "DirectoryOrCreate")
                make_directories(path);
            else
                write_file(path, "");
        }
    }
    if (::stat(path.c_str(), &status) != 0)
        return "hostPath type check failed: " + path + " does not exist on this machine";
    const bool is_directory = S_ISDIR(status.st_mode);
    if (type.starts_with("Directory") && !is_directory)
        return "hostPath type check failed: " + path + " is not a directory";
    if (type.starts_with("File") && !S_ISREG(status.st_mode))
        return "hostPath type check failed: " + path + " is not a file";
    if (type == "Socket" && !S_ISSOCK(status.st_mode))
        return "hostPath type check failed: " + path + " is not a socket file";
    if (type == "CharDevice" && !S_ISCHR(status.st_mode))
        return "hostPath type check failed: " + path + " is not a character device";
    if (type == "BlockDevice" && !S_ISBLK(status.st_mode))
        return "hostPath type check failed: " + path + " is not a block device";
    return "";
}

/// fsGroup: the group may use what is there and owns what is added.
void give_to_group(const std::string& path, mode_t mode, std::int64_t group) {
    if (group < 0) return;
    if (::chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(group)) != 0 ||
        ::chmod(path.c_str(), mode) != 0)
        throw Error(Reason::internal_error,
                    "cannot give " + path + " to group " + std::to_string(group) + " (fsGroup)");
}

/// `group` -1: none.
void write_volume(const VolumePlan& volume, const std::string& folder, std::int64_t group) {
    make_directories(folder);
    if (volume.kind == VolumePlan::Kind::folder) {
        ::chmod(folder.c_str(), 0777);
        give_to_group(folder, 02777, group);
    }
    for (const VolumeFile& file : volume.files) {
        const std::string path = folder + "/" + file.path;
        make_directories(path.substr(0, path.rfind('/')));
        if (read_file(path) == file.content) continue;
        const auto mode = static_cast<mode_t>(file.mode);
        replace_file(path, file.content, mode);
        give_to_group(path, mode | 0440, group);
    }
}

bool has_files(const VolumesPlan& plan) {
    return std::any_of(plan.volumes.begin(), plan.volumes.end(), [](const VolumePlan& volume) {
        return volume.kind == VolumePlan::Kind::files;
    });
}

}  // namespace

void PodWorker::prepare() {
    if (preparing_) return;
    preparing_ = true;
    if (address_.empty()) address_ = host_.take_address();
    if (!address_.empty()) return fetch();
    record("Warning", "FailedCreatePodSandBox", "all addresses of pods are in use");
    host_.loop.after(kRetry, guarded([this] {
                         preparing_ = false;
                         step();
                     }));
}

void PodWorker::fetch() {
    const SourcesNeeded needed = sources_needed(object_->value);
    incoming_ = {};
    fetching_ = 1;
    for (const std::string& name : needed.config_maps)
        fetch_object("configmaps", name);
    for (const std::string& name : needed.secrets)
        fetch_object("secrets", name);
    for (const TokenRequest& request : needed.tokens)
        fetch_token(request);
    sources_.services = host_.services(object_->value["metadata"]["namespace"].text());
    host_.loop.post(guarded([this] { fetched(); }));
}

void PodWorker::fetch_object(const char* resource, const std::string& name) {
    ++fetching_;
    const kube::Target target{{"", resource}, "v1"};
    const bool secret = resource == std::string("secrets");
    host_.transport.send(kube::get(target, object_->value["metadata"]["namespace"].text(), name),
                         guarded([this, name, secret](const net::Response& response) {
                             if (response.status == 200)
                                 (secret ? incoming_.secrets : incoming_.config_maps)[name] =
                                     kube::body_of(response);
                             fetched();
                         }));
}

void PodWorker::fetch_token(const TokenRequest& request) {
    ++fetching_;
    const kube::Target target{{"", "serviceaccounts"}, "v1"};
    Value spec = Value::object({{"expirationSeconds", request.expiration_seconds}});
    if (!request.audience.empty()) spec.set("audiences", Value::array({request.audience}));
    spec.set("boundObjectRef", Value::object({{"kind", "Pod"},
                                              {"apiVersion", "v1"},
                                              {"name", object_->value["metadata"]["name"]},
                                              {"uid", uid_}}));
    const Value body = Value::object(
        {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", spec}});
    const std::string account(object_->value["spec"]["serviceAccountName"].text_or("default"));
    host_.transport.send(kube::create(target, object_->value["metadata"]["namespace"].text(),
                                      account, "token", body),
                         guarded([this, request](const net::Response& response) {
                             const Value answer = kube::body_of(response);
                             const std::string token = answer["status"]["token"].text();
                             if (token.empty()) {
                                 incoming_.token_problems[request] =
                                     std::string(answer["message"].text_or("no answer"));
                             } else {
                                 tokens_[request] = {host_.loop.now(), token};
                                 incoming_.tokens[request] = token;
                             }
                             fetched();
                         }));
}

void PodWorker::fetched() {
    if (--fetching_ > 0) return;
    sources_ = std::move(incoming_);
    seen_.problem.clear();
    volumes_ = plan_volumes(object_->value, sources_, place());
    seen_.problem = volumes_.problem;
    try {
        write_files();
        if (seen_.problem.empty()) write_volumes();
    } catch (const Error& error) {
        seen_.problem = error.what();
    }
    if (seen_.problem.empty()) {
        seen_.prepared = true;
        check_containers();
    } else if (seen_.problem != told_problem_) {
        record("Warning", "FailedMount", seen_.problem);
    }
    told_problem_ = seen_.problem;
    bool waits = !seen_.problem.empty();
    for (const auto& [name, container] : seen_.containers)
        waits |= !container.config_problem.empty() && !container.refused;
    if (waits)
        host_.loop.after(kRetry, guarded([this] { fetch(); }));
    else
        preparing_ = false;
    if (!waits && has_files(volumes_)) host_.loop.after(kRefresh, guarded([this] { refresh(); }));
    step();
}

/// Config maps, secrets and tokens change while their pod runs; its volumes follow.
void PodWorker::refresh() {
    const bool over =
        seen_.sandbox == PodSeen::Sandbox::ending || seen_.sandbox == PodSeen::Sandbox::gone;
    if (!over && fetching_ == 0) fetch();
}

void PodWorker::write_files() {
    const std::string folder = directory() + "/etc";
    make_directories(folder);
    const Value& pod = object_->value;
    write_file(folder + "/resolv.conf",
               resolv_text(pod, read_file("/etc/resolv.conf").value_or("")));
    write_file(folder + "/hosts", hosts_text(pod, address_));
    write_file(folder + "/hostname", hostname_of(pod) + "\n");
}

void PodWorker::write_volumes() {
    const std::string folder = directory() + "/volumes";
    make_directories(folder);
    for (const VolumePlan& volume : volumes_.volumes) {
        if (volume.kind != VolumePlan::Kind::machine_path) {
            write_volume(volume, folder + "/" + volume.name, file_group());
            continue;
        }
        const std::string wrong = check_machine_path(volume, host_.options.data_directory);
        if (!wrong.empty())
            seen_.problem =
                "MountVolume.SetUp failed for volume \"" + volume.name + "\" : " + wrong;
    }
}

/// fsGroup, where there are further groups: without root all is the one user's own.
std::int64_t PodWorker::file_group() const {
    const Value& group = object_->value["spec"]["securityContext"]["fsGroup"];
    return group.is_integer() && !host_.rootless ? group.as_integer() : -1;
}

/// Containers that cannot be started are marked with why, before any of them is started.
void PodWorker::check_containers() {
    for (const ContainerSpec& spec : containers_of(object_->value)) {
        ContainerSeen& container = seen_.containers[spec.name];
        const std::string image_name = (*spec.value)["image"].text();
        const ImageMapping* image = find_mapping(host_.options.images, image_name);
        if (!image) {
            if (container.image_problem.empty()) {
                record("Warning", "Failed",
                       "Failed to pull image \"" + image_name + "\": " + unmapped_text(image_name));
                record("Warning", "Failed", "Error: ErrImagePull");
                // The status turns from ErrImagePull to the back-off after a while.
                host_.loop.after(seconds(10), guarded([this] { step(); }));
            }
            container.image_problem = unmapped_text(image_name);
            continue;
        }
        std::string problem = refusal_of(object_->value, *spec.value, host_.rootless);
        container.refused = !problem.empty();
        const Environment made =
            make_environment(object_->value, *spec.value, sources_, place(), *image);
        if (problem.empty()) problem = made.problem;
        if (problem.empty() && command_line(*spec.value, *image, made.variables).empty()) {
            problem =
                "container \"" + spec.name + "\" names no command and images are not read: " +
                "set `command` in the pod, or in the file that muster up reads with --config: "
                "images: [{pattern: '" +
                image->pattern + "', command: [PROGRAM, ...]}]";
            container.refused = true;
        }
        if (!problem.empty() && problem != container.config_problem)
            record("Warning", "Failed", "Error: " + problem);
        container.config_problem = std::move(problem);
    }
}

PodPlace PodWorker::place() const {
    PodPlace place;
    place.node_name = object_->value["spec"]["nodeName"].text();
    place.host_ip = seen_.host_ip;
    place.pod_ip = address_;
    place.home = host_.home;
    place.certificate_authority_pem = host_.options.certificate_authority_pem;
    for (const NodeDeclaration& node : host_.options.nodes)
        if (node.name == place.node_name)
            for (const auto& [resource, amount] : node.capacity)
                place.allocatable.set(resource, amount);
    return place;
}

}  // namespace muster::agent
