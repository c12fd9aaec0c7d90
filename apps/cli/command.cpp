// apps/cli/command.cpp - finds the kubeconfig, connects, reads files and fetches what is named.
#include "apps/cli/command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <variant>

#include <sys/stat.h>
#include <unistd.h>

#include "api/yaml.h"
#include "apps/cli/run_plugin.h"
#include "apps/up/data_directory.h"
#include "base/text.h"
#include "kube/kubeconfig.h"

namespace muster::cli {
namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error: " + text);
}

/// The files to look into: --kubeconfig, $KUBECONFIG, the usual `muster up`, ~/.kube/config.
std::vector<std::string> kubeconfig_paths(const std::string& given) {
    if (!given.empty()) return {given};
    std::vector<std::string> paths;
    if (const char* list = std::getenv("KUBECONFIG"); list && *list != '\0') {
        for (const std::string_view path : split(list, ':')) {
            if (!path.empty() && up::file_exists(std::string(path))) paths.emplace_back(path);
        }
        if (paths.empty()) refuse("none of the files in KUBECONFIG exists: " + std::string(list));
        return paths;
    }
    const std::string own = up::usual_data_directory() + "/kubeconfig";
    if (up::file_exists(own)) return {own};
    const char* home = std::getenv("HOME");
    const std::string usual = std::string(home ? home : "") + "/.kube/config";
    if (up::file_exists(usual)) return {usual};
    return {};
}

std::string variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value ? value : "";
}

bool is_manifest(const std::filesystem::path& path) {
    const std::string end = path.extension().string();
    return end == ".yaml" || end == ".yml" || end == ".json";
}

std::vector<std::string> manifests_in(const std::string& folder, bool recursive) {
    std::vector<std::string> paths;
    const auto add = [&](const std::filesystem::directory_entry& entry) {
        if (entry.is_regular_file() && is_manifest(entry.path()))
            paths.push_back(entry.path().string());
    };
    if (recursive) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            add(entry);
    } else {
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            add(entry);
    }
    std::sort(paths.begin(), paths.end());
    if (paths.empty())
        refuse("no *.yaml, *.yml or *.json files in " + folder +
               "; with -R subfolders are read too");
    return paths;
}

std::string standard_input() {
    std::string text;
    char buffer[8192];
    ssize_t got = 0;
    while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(got));
    return text;
}

void add_documents(const std::string& path, std::vector<api::Value>& out) {
    const std::string text = path == "-" ? standard_input() : up::read_file(path);
    auto parsed = api::parse_yaml(text);
    const std::string where = path == "-" ? "standard input" : path;
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        refuse("error parsing " + where + ": " + error->text);
    for (api::Parsed& document : std::get<std::vector<api::Parsed>>(parsed)) {
        api::Value& object = document.value;
        if (!object.is_object()) refuse(where + ": a document is not an object");
        const bool is_list =
            object["kind"].text_or("").ends_with("List") && object["items"].is_array();
        if (!is_list) {
            out.push_back(std::move(object));
            continue;
        }
        for (const api::Value& item : object["items"].items())
            out.push_back(item);
    }
}

}  // namespace

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void print_error(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

kube::Connection connection_of(const Globals& globals) {
    std::vector<kube::KubeconfigFile> files;
    for (const std::string& path : kubeconfig_paths(globals.kubeconfig))
        files.push_back({path, up::read_file(path)});
    if (files.empty() && globals.server.empty()) {
        if (const auto own = kube::in_cluster_connection(variable, up::read_file)) return *own;
        refuse("no kubeconfig: start `muster up`, or name one with --kubeconfig or KUBECONFIG");
    }
    kube::KubeconfigChoice choice;
    choice.context = globals.context;
    choice.cluster = globals.cluster;
    choice.user = globals.user;
    choice.server = globals.server;
    choice.token = globals.token;
    choice.impersonate = globals.as;
    return kube::connection_of(files, choice, up::read_file, run_plugin);
}

Session& Command::session() {
    if (!session_) session_ = std::make_unique<Session>(connection_of(globals_));
    return *session_;
}

Resources& Command::resources() {
    if (!resources_) resources_ = std::make_unique<Resources>(session());
    return *resources_;
}

std::string Command::ns() {
    return globals_.ns.empty() ? session().default_namespace() : globals_.ns;
}

void Command::failed(const std::exception& error) {
    print_error(std::string(error.what()) + "\n");
    exit_code_ = 1;
}

std::vector<api::Value> read_objects(const std::vector<std::string>& files, bool recursive) {
    std::vector<api::Value> objects;
    for (const std::string& path : files) {
        if (path.starts_with("http://") || path.starts_with("https://"))
            refuse(path + ": reading from the network is not supported; download the file first");
        struct stat info {};
        if (path != "-" && stat(path.c_str(), &info) != 0)
            refuse("the path \"" + path + "\" does not exist");
        if (path != "-" && S_ISDIR(info.st_mode)) {
            for (const std::string& inside : manifests_in(path, recursive))
                add_documents(inside, objects);
        } else {
            add_documents(path, objects);
        }
    }
    return objects;
}

std::string Placed::path(const std::string& subresource) const {
    const std::string text = resource->path(ns, name);
    return subresource.empty() ? text : text + "/" + subresource;
}

std::string Placed::text() const {
    return resource->full_singular() + "/" + name;
}

Placed place(Command& command, const api::Value& object, const std::string& given_ns) {
    const std::string api_version = object["apiVersion"].text();
    const std::string kind = object["kind"].text();
    if (kind.empty()) refuse("an object has no kind");
    if (api_version.empty()) refuse("the " + kind + " has no apiVersion");
    Placed placed;
    placed.resource = command.resources().of_kind(api_version, kind);
    if (!placed.resource)
        refuse("no matches for kind \"" + kind + "\" in version \"" + api_version + "\"");
    placed.name = object["metadata"]["name"].text();
    if (!placed.resource->namespaced) return placed;
    const std::string own = object["metadata"]["namespace"].text();
    if (!own.empty() && !given_ns.empty() && own != given_ns)
        refuse("the namespace from the provided object \"" + own +
               "\" does not match the namespace \"" + given_ns +
               "\". You must pass '--namespace=" + own + "' to perform this operation.");
    placed.ns = own.empty() ? command.ns() : own;
    return placed;
}

std::string selector_query(const std::string& selector, const std::string& field_selector) {
    std::string query;
    if (!selector.empty()) query += "&labelSelector=" + net::percent_encode(selector);
    if (!field_selector.empty()) query += "&fieldSelector=" + net::percent_encode(field_selector);
    if (!query.empty()) query[0] = '?';
    return query;
}

std::vector<Selected> fetch(Command& command, const Selection& selection) {
    std::vector<Selected> found;
    const auto add = [&](const Placed& placed) {
        try {
            found.push_back({placed, command.session().get(placed.path())});
        } catch (const ServerError& error) {
            command.failed(error);
        }
    };
    if (!selection.files.empty()) {
        for (const api::Value& object : read_objects(selection.files, selection.recursive))
            add(place(command, object, ""));
        return found;
    }
    const std::string ns = selection.all_namespaces ? "" : command.ns();
    for (const Named& named : parse_named(command.resources(), selection.words)) {
        if (!named.name.empty()) {
            add({named.resource, named.resource->namespaced ? ns : "", named.name});
            continue;
        }
        if (selection.selector.empty() && selection.field_selector.empty() && !selection.all)
            refuse("resource(s) were provided, but no name was specified");
        const api::Value list =
            command.session().get(named.resource->path(ns) +
                                  selector_query(selection.selector, selection.field_selector));
        for (const api::Value& item : list["items"].items()) {
            api::Value object = item;
            object.set("apiVersion", named.resource->api_version());
            object.set("kind", named.resource->kind);
            found.push_back({{named.resource, item["metadata"]["namespace"].text(),
                              item["metadata"]["name"].text()},
                             std::move(object)});
        }
    }
    return found;
}

}  // namespace muster::cli
