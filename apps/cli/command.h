// apps/cli/command.h - what the verbs share: the connection, kinds and namespace of one command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/value.h"
#include "apps/cli/resources.h"
#include "apps/cli/session.h"

namespace muster::cli {

/// Flags that every verb takes.
struct Globals {
    std::string kubeconfig;
    std::string context;
    std::string cluster;
    std::string user;
    std::string server;
    std::string token;
    std::string as;
    std::string ns;
    std::vector<std::string> after_dashes;  // What follows --, word by word as it was typed.
};

/// The server and credentials that the flags, the environment and the kubeconfig files name.
kube::Connection connection_of(const Globals& globals);

/// One command's way to its server; connects when first asked.
class Command {
public:
    explicit Command(Globals globals) : globals_(std::move(globals)) {}

    Session& session();
    Resources& resources();
    /// The namespace a command works in: -n, else the context's.
    std::string ns();

    /// Prints "error" lines for what failed with one of several objects; the exit code is 1 then.
    void failed(const std::exception& error);
    int exit_code() const { return exit_code_; }

private:
    Globals globals_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<Resources> resources_;
    int exit_code_ = 0;
};

/// Objects of a user's files: "-" is standard input, folders give their *.yaml, *.yml and *.json.
/// Lists are taken apart. Throws Error that names file and line.
std::vector<api::Value> read_objects(const std::vector<std::string>& files, bool recursive);

/// The kind of an object and the namespace it goes to. Throws Error as kubectl does.
struct Placed {
    const Resource* resource = nullptr;
    std::string ns;
    std::string name;
    std::string path(const std::string& subresource = "") const;
    std::string text() const;  // "configmap/settings"
};
Placed place(Command& command, const api::Value& object, const std::string& given_ns);

/// Fetches the objects that words, files or a selector name.
struct Selection {
    std::vector<std::string> words;
    std::vector<std::string> files;
    bool recursive = false;
    bool all = false;  // --all
    bool all_namespaces = false;
    std::string selector;
    std::string field_selector;
};
struct Selected {
    Placed place;
    api::Value object;
};
/// `failed` is told of those that cannot be fetched. Throws Error when nothing is named.
std::vector<Selected> fetch(Command& command, const Selection& selection);

/// The query of a list.
std::string selector_query(const std::string& selector, const std::string& field_selector);

/// Prints text as it is.
void print(const std::string& text);
void print_error(const std::string& text);

}  // namespace muster::cli
