// agent/pod_worker_prepare.cpp - before a pod starts: what it refers to is fetched, its volumes and
// files are written, its containers are checked.
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/beneath.h"
#include "agent/environment.h"
#include "agent/environment_closure.h"
#include "agent/files.h"
#include "agent/image_map.h"
#include "agent/pod_files.h"
#include "agent/pod_refusal.h"
#include "agent/pod_worker.h"
#include "base/error.h"
#include "base/hash.h"
#include "kube/request.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr Duration kRetry = seconds(2);
constexpr Duration kLongestRetry = seconds(16);
constexpr Duration kRefresh = seconds(60);
constexpr std::size_t kObjectsMost = 1'000;
constexpr std::size_t kTokensMost = 100;
/// Of a pod's config maps and secrets, what it needs.
constexpr std::size_t kSourcesLimit = 32 << 20;

/// Makes a hostPath what its type says, where it may be written; gives what is wrong with it.
std::string check_machine_path(const VolumePlan& volume) {
    const std::string& path = volume.machine_path;
    const std::string& type = volume.path_type;
    const Descriptor root(::open(volume.machine_root.c_str(), O_PATH | O_CLOEXEC));
    if (!root) return "hostPath type check failed: " + volume.machine_root + " does not exist";
    const bool create = type == "DirectoryOrCreate" || type == "FileOrCreate";
    Descriptor found = volume.machine_inside.empty()
                           ? Descriptor(::fcntl(root.get(), F_DUPFD_CLOEXEC, 3))
                           : open_within(root.get(), volume.machine_inside, Reach::beneath, O_PATH);
    if (!found && errno == ENOENT && create && !volume.machine_read_only) {
        Place place;
        place.kind = type == "FileOrCreate" ? Place::Kind::file : Place::Kind::folder;
        place.mode = type == "FileOrCreate" ? 0644 : 0755;
        found = make_within(root.get(), volume.machine_inside, Reach::beneath, place);
    }
    if (!found && errno == EXDEV)
        return "hostPath " + path + " leads out of " + volume.machine_root +
               ", which is what this machine allows";
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0)
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

bool has_files(const VolumesPlan& plan) {
    return std::any_of(plan.volumes.begin(), plan.volumes.end(), [](const VolumePlan& volume) {
        return volume.kind == VolumePlan::Kind::files;
    });
}

}  // namespace

void PodWorker::prepare() {
    if (preparing_) return;
    preparing_ = true;
    if (address_.empty()) address_ = host_.take_address(object_->key.ns);
    if (!address_.empty()) return fetch();
    record("Warning", "FailedCreatePodSandBox", "all addresses of pods are in use");
    host_.loop.after(kRetry, guarded([this] {
                         preparing_ = false;
                         step();
                     }));
}

/// One after the other: a pod may refer to very many, and each answer is held until all are there.
void PodWorker::fetch() {
    if (fetching_ || filling_) return;  // One is under way: its end does for all who wait.
    fetching_ = true;
    incoming_ = {};
    incoming_bytes_ = 0;
    incoming_tickets_.clear();
    fetch_problem_.clear();
    to_fetch_.clear();
    const SourcesNeeded needed = sources_needed(object_->value);
    if (needed.tokens.size() > kTokensMost ||
        needed.config_maps.size() + needed.secrets.size() > kObjectsMost) {
        fetch_problem_ = "a pod may refer to " + std::to_string(kObjectsMost) +
                         " ConfigMaps and Secrets, and to " + std::to_string(kTokensMost) +
                         " tokens";
        return fetch_next_later();
    }
    for (const TokenRequest& request : needed.tokens)
        to_fetch_.emplace_back([this, request] { fetch_token(request); });
    for (const auto& [name, keys] : needed.secrets)
        to_fetch_.emplace_back([this, name, keys] { fetch_object("secrets", name, keys); });
    for (const auto& [name, keys] : needed.config_maps)
        to_fetch_.emplace_back([this, name, keys] { fetch_object("configmaps", name, keys); });
    fetch_next_later();
}

void PodWorker::fetch_next_later() {
    host_.loop.post(guarded([this] { fetch_next(); }));
}

void PodWorker::fetch_next() {
    if (to_fetch_.empty() || !fetch_problem_.empty()) return fetched();
    const auto next = std::move(to_fetch_.back());
    to_fetch_.pop_back();
    next();
}

void PodWorker::fetch_object(const char* resource, const std::string& name,
                             const KeysNeeded& keys) {
    const kube::Target target{{"", resource}, "v1"};
    host_.transport.send(kube::get(target, object_->value["metadata"]["namespace"].text(), name),
                         guarded([this, resource, name, keys](const net::Response& response) {
                             if (response.status == 200)
                                 keep(resource, name, kept_of(kube::body_of(response), keys));
                             fetch_next_later();
                         }));
}

/// An object of very many small entries takes many times its text: entries are counted, and all
/// pods together have so much room, which namespaces share.
void PodWorker::keep(const char* resource, const std::string& name, Value kept) {
    const std::size_t cost = cost_of(kept);
    incoming_bytes_ += cost;
    if (incoming_bytes_ > kSourcesLimit) {
        fetch_problem_ = "what the pod needs of ConfigMaps and Secrets has more than " +
                         std::to_string(kSourcesLimit >> 20) +
                         " MiB together, each entry with 256 bytes beside its own";
        return;
    }
    const std::string ns = object_->value["metadata"]["namespace"].text();
    auto ticket = host_.sources.take(ns, cost);
    if (!ticket) {
        fetch_problem_ = "the pods of namespace " + ns +
                         " hold as much of ConfigMaps and Secrets as they may on this machine";
        return;
    }
    incoming_tickets_.push_back(std::move(ticket));
    (resource == std::string("secrets") ? incoming_.secrets : incoming_.config_maps)[name] =
        std::move(kept);
}

void PodWorker::fetch_token(const TokenRequest& request) {
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
                                 incoming_.tokens[request] = token;
                             }
                             fetch_next_later();
                         }));
}

void PodWorker::fetched() {
    fetching_ = false;
    // What containers have variables of stays when there is too much now: they may start again.
    if (fetch_problem_.empty()) {
        sources_ = std::move(incoming_);
        tickets_ = std::move(incoming_tickets_);
    }
    incoming_ = {};
    incoming_tickets_.clear();
    sources_.index = {};
    sources_.services = host_.services(object_->value["metadata"]["namespace"].text());
    volumes_ = plan_volumes(object_->value, sources_, place());
    if (!fetch_problem_.empty()) volumes_.problem = fetch_problem_;
    admit_machine_paths(volumes_, host_.options.host_paths);
    seen_.problem = volumes_.problem;
    try {
        if (seen_.problem.empty()) seen_.problem = check_machine_paths();
    } catch (const Error& error) {
        seen_.problem = error.what();
    }
    if (seen_.problem.empty()) return fill();
    filled();
}

/// Writes what is not on the disk yet. The first time it also asks for the pod's users.
void PodWorker::fill() {
    Machine::PodFiles wanted = files();
    std::map<std::string, std::uint64_t> hashes;
    std::erase_if(wanted.files, [&](const Machine::PodFiles::File& file) {
        const std::uint64_t hash = stable_hash(*file.content);
        const auto known = written_.find(file.path);
        if (known != written_.end() && known->second == hash) return true;
        hashes[file.path] = hash;
        return false;
    });
    // A pod that runs may have given its folders other modes and owners.
    if (seen_.prepared || seen_.sandbox == PodSeen::Sandbox::up) wanted.folders.clear();
    if (wanted.files.empty() && seen_.prepared) return filled();
    filling_ = true;
    const auto told = [this, hashes, round = preparations_](const std::string& problem,
                                                            const IdMap& ids) {
        filling_ = false;
        if (seen_.sandbox == PodSeen::Sandbox::gone) return;
        if (round != preparations_) return fill();  // The answer is that of an ended holder.
        if (problem.empty()) {
            const bool others = !ids_.empty() && ids != ids_;
            ids_ = ids;
            if (others) {  // Files with the owners of before are gone; see fill_pod.
                written_.clear();
                return fill();
            }
            for (const auto& [path, hash] : hashes)
                written_[path] = hash;
        }
        seen_.problem = problem;
        filled();
    };
    host_.machine.fill(uid_, wanted, guarded(told));
}

void PodWorker::filled() {
    if (seen_.problem.empty()) {
        seen_.prepared = true;
        check_containers();
        drop_what_is_written();
    } else if (seen_.problem != told_problem_) {
        record("Warning", "FailedMount", seen_.problem);
    }
    told_problem_ = seen_.problem;
    bool waits = !seen_.problem.empty();
    for (const auto& [name, container] : seen_.containers)
        waits |= !container.config_problem.empty() && !container.refused;
    if (!waits) preparing_ = false;
    // Ever more seldom: a pod that never starts must not keep the server busy.
    retry_ = waits ? std::min(std::max(retry_ * 2, kRetry), kLongestRetry) : Duration{};
    if (waits)
        fetch_later(retry_);
    else if (has_files(volumes_))
        fetch_later(kRefresh);
    step();
}

/// What is needed again is what containers have variables of; for the rest all is fetched anew.
void PodWorker::drop_what_is_written() {
    for (VolumePlan& volume : volumes_.volumes)
        volume.files = {};
    const SourcesNeeded needed = sources_of_variables(object_->value);
    std::erase_if(sources_.config_maps,
                  [&](const auto& each) { return !needed.config_maps.contains(each.first); });
    std::erase_if(sources_.secrets,
                  [&](const auto& each) { return !needed.secrets.contains(each.first); });
    std::size_t kept = 0;
    for (const auto* objects : {&sources_.config_maps, &sources_.secrets})
        for (const auto& [name, object] : *objects)
            kept += cost_of(object);
    tickets_.clear();
    // It is less than was held until now, so there is room.
    tickets_.push_back(host_.sources.take(object_->value["metadata"]["namespace"].text(), kept));
    sources_.tokens.clear();
    sources_.index = {};
}

/// One that is missing may come; config maps, secrets and tokens change while their pod runs, and
/// its volumes follow.
void PodWorker::fetch_later(Duration delay) {
    if (fetching_later_) host_.loop.cancel(fetch_timer_);
    fetching_later_ = true;
    fetch_timer_ = host_.loop.after(delay, guarded([this] {
                                        fetching_later_ = false;
                                        const bool over =
                                            seen_.sandbox == PodSeen::Sandbox::ending ||
                                            seen_.sandbox == PodSeen::Sandbox::gone;
                                        if (!over) fetch();
                                    }));
}

/// All files of the pod, with those of its volumes.
Machine::PodFiles PodWorker::files() const {
    const Value& pod = object_->value;
    const std::int64_t group = file_group();
    Machine::PodFiles files;
    files.ns = pod["metadata"]["namespace"].text();
    files.ids = ids_wanted(pod);
    files.folders = {{"etc"}, {"volumes"}};
    files.files = {{"etc/resolv.conf",
                    make_bytes(resolv_text(pod, read_file("/etc/resolv.conf").value_or("")))},
                   {"etc/hosts", make_bytes(hosts_text(pod, address_))},
                   {"etc/hostname", make_bytes(hostname_of(pod) + "\n")}};
    for (const VolumePlan& volume : volumes_.volumes) {
        if (volume.kind == VolumePlan::Kind::machine_path) continue;
        const std::string path = "volumes/" + volume.name;
        const bool is_folder = volume.kind == VolumePlan::Kind::folder;
        files.folders.push_back({path, !is_folder ? 0755 : group < 0 ? 0777 : 02777, group});
        // fsGroup: the group may read what is there.
        for (const VolumeFile& file : volume.files)
            files.files.push_back({path + "/" + file.path, file.content,
                                   group < 0 ? file.mode : file.mode | 0440, group});
    }
    return files;
}

std::string PodWorker::check_machine_paths() const {
    for (const VolumePlan& volume : volumes_.volumes) {
        if (volume.kind != VolumePlan::Kind::machine_path) continue;
        const std::string wrong = check_machine_path(volume);
        if (!wrong.empty())
            return "MountVolume.SetUp failed for volume \"" + volume.name + "\" : " + wrong;
    }
    return "";
}

/// fsGroup, where there are further groups; else all is the one user's own.
std::int64_t PodWorker::file_group() const {
    const Value& group = object_->value["spec"]["securityContext"]["fsGroup"];
    return group.is_integer() && host_.users == PodUsers::own ? group.as_integer() : -1;
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
        std::string problem = refusal_of(object_->value, *spec.value, host_.users);
        container.refused = !problem.empty();
        const Environment made =
            make_environment(object_->value, *spec.value, sources_, place(), *image);
        if (problem.empty()) problem = made.problem;
        if (problem.empty() && !image->environment.empty()) {
            const EnvironmentClosure closure = environment_closure(image->environment);
            if (!closure.missing.empty())
                problem = "the image " + image_name + " is mapped to the environment " +
                          image->environment + ", of which " + closure.missing;
        }
        if (problem.empty() && made.command.empty()) {
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
