// apps/cli/describe.cpp - `muster describe`: fetches an object and what belongs to it.
#include "apps/cli/describe.h"

#include "apps/cli/verbs.h"

namespace muster::cli {
namespace {

using api::Value;

std::vector<Value> items_of(Session& session, const std::string& path) {
    const auto list = session.find(path);
    if (!list) return {};
    return {(*list)["items"].items().begin(), (*list)["items"].items().end()};
}

/// The events about an object, as kubectl asks for them.
std::vector<Value> events_of(Session& session, const Selected& selected) {
    const Value& metadata = selected.object["metadata"];
    const bool node = selected.object["kind"].text_or("") == "Node";
    std::string fields = "involvedObject.name=" + metadata["name"].text() +
                         ",involvedObject.kind=" + selected.object["kind"].text();
    // Events about nodes name them instead of their uid.
    if (!node) fields += ",involvedObject.uid=" + metadata["uid"].text();
    const std::string ns = metadata["namespace"].text();
    const std::string base = ns.empty() ? "/api/v1/events" : "/api/v1/namespaces/" + ns + "/events";
    return items_of(session, base + selector_query("", fields));
}

std::string text_of(Command& command, const Selected& selected, bool show_events) {
    Session& session = command.session();
    const std::vector<Value> events =
        show_events ? events_of(session, selected) : std::vector<Value>();
    const std::string& kind = selected.place.resource->kind;
    const bool core = selected.place.resource->group.empty();
    if (core && kind == "Pod") return describe_pod(selected.object, events, session.now());
    if (!core || kind != "Node") {
        Belongings belongings{events, {}};
        if (core && kind == "Service")
            belongings.slices = items_of(
                session,
                "/apis/discovery.k8s.io/v1/namespaces/" + selected.place.ns + "/endpointslices" +
                    selector_query("kubernetes.io/service-name=" + selected.place.name, ""));
        const auto known = describe_known(selected.place.resource->group, selected.object,
                                          belongings, session.now());
        return known ? *known : describe_generic(selected.object, events, session.now());
    }
    const std::string& name = selected.place.name;
    const auto lease =
        session.find("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + name);
    const std::vector<Value> pods =
        items_of(session, "/api/v1/pods" + selector_query("", "spec.nodeName=" + name +
                                                                  ",status.phase!=Succeeded,"
                                                                  "status.phase!=Failed"));
    return describe_node(selected.object, lease ? *lease : Value(), pods, events, session.now());
}

}  // namespace

int describe(Command& command, const DescribeOptions& options) {
    Selection selection = options.selection;
    selection.all = true;  // Without names: all.
    bool first = true;
    for (const Selected& selected : fetch(command, selection)) {
        if (!first) print("\n\n");
        first = false;
        print(text_of(command, selected, options.show_events));
    }
    if (first && command.exit_code() == 0)
        print_error(selection.all_namespaces
                        ? "No resources found\n"
                        : "No resources found in " + command.ns() + " namespace.\n");
    return command.exit_code();
}

}  // namespace muster::cli
