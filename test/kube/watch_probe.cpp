// test/kube/watch_probe.cpp - a program for tests: keeps resources in view over one connection, as
// the controllers do, and prints a line for each thing that its watchers tell.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command.h"
#include "base/error.h"
#include "base/text.h"
#include "kube/http_transport.h"
#include "kube/watcher.h"
#include "net/asio_loop.h"

namespace muster {
namespace {

/// "GROUP/VERSION/PLURAL", the core group empty.
kube::Target target_of(const std::string& text) {
    const auto parts = split(text, '/');
    if (parts.size() != 3) throw Error(Reason::bad_request, text + ": give GROUP/VERSION/PLURAL");
    return {{std::string(parts[0]), std::string(parts[2])}, std::string(parts[1])};
}

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

/// Prints what a watcher of one resource tells.
kube::WatchEvents printer(const std::string& plural) {
    kube::WatchEvents events;
    events.applied = [plural](const kube::ObjectPtr& object) {
        say("applied " + plural + " " + object->key.ns + "/" + object->key.name + " " +
            std::to_string(object->version));
    };
    events.removed = [plural](const api::Key& key, std::int64_t) {
        say("removed " + plural + " " + key.ns + "/" + key.name);
    };
    events.synced = [plural] { say("synced " + plural); };
    events.listed = [plural](std::int64_t, const auto&) { say("listed " + plural); };
    return events;
}

/// watch_probe KUBECONFIG PING_MILLISECONDS TARGET...
int run(const std::vector<std::string>& words) {
    net::AsioLoop loop;
    cli::Globals globals;
    globals.kubeconfig = words.at(0);
    net::ClientOptions options;
    options.ping_after = milliseconds(parse_integer(words.at(1)).value_or(0));
    options.ping_patience = options.ping_after;
    options.connect_timeout = seconds(3);
    kube::HttpTransport transport(loop, loop, cli::connection_of(globals), options,
                                  kube::HttpTransport::Sends::together);
    std::vector<std::unique_ptr<kube::Watcher>> watchers;
    for (std::size_t i = 2; i < words.size(); ++i) {
        const kube::Target target = target_of(words[i]);
        watchers.push_back(std::make_unique<kube::Watcher>(transport, loop, target,
                                                           printer(target.resource.plural)));
        watchers.back()->start();
    }
    loop.run();
    return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
    try {
        return muster::run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
