// apps/cli/queue.cpp - `muster why`, `queue` and `nodes`: what waits, for what, and what there is.
#include <algorithm>
#include <set>

#include "api/json.h"
#include "apps/cli/output.h"
#include "apps/cli/pod_amounts.h"
#include "apps/cli/tab_writer.h"
#include "apps/cli/verbs.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

std::string count_text(const Value& value) {
    return std::to_string(value.integer_or(0));
}

const Value& condition_of(const Value& object, std::string_view type) {
    static const Value none{};
    for (const Value& condition : object["status"]["conditions"].items()) {
        if (condition["type"].text_or("") == type) return condition;
    }
    return none;
}

bool is_true(const Value& object, std::string_view type) {
    return condition_of(object, type)["status"].text_or("") == "True";
}

std::string state_of(const Value& workload) {
    if (is_true(workload, "Finished")) return "Finished";
    if (is_true(workload, "Admitted")) return "Admitted";
    if (is_true(workload, "QuotaReserved")) return "Reserved";
    return "Waiting";
}

std::vector<Value> list(Session& session, const Resource& resource, const std::string& ns) {
    const Value answer = session.get(resource.path(ns));
    return {answer["items"].items().begin(), answer["items"].items().end()};
}

/// The Workload of an object, or itself when it is one; null when there is none.
Value workload_of(Command& command, const Resource& resource, const std::string& ns,
                  const Value& object) {
    if (resource.plural == "workloads") return object;
    if (ns.empty()) return {};
    for (Value& one :
         list(command.session(), command.resources().named("workloads.kueue.x-k8s.io"), ns)) {
        for (const Value& owner : one["metadata"]["ownerReferences"].items()) {
            if (owner["uid"] == object["metadata"]["uid"]) return std::move(one);
        }
    }
    return {};
}

/// What an object's Workload says of itself: all that a server knows which is not Muster's own.
std::string told_by_conditions(const Value& workload) {
    if (is_true(workload, "Finished"))
        return "is finished: " + condition_of(workload, "Finished")["message"].text();
    if (is_true(workload, "Admitted"))
        return "is admitted by queue " + workload["status"]["admission"]["clusterQueue"].text();
    const bool reserved = is_true(workload, "QuotaReserved");
    const Value& said = condition_of(workload, reserved ? "Admitted" : "QuotaReserved");
    return "waits: " + (said.is_null() ? "nobody has looked at it yet" : said["message"].text());
}

/// What an AppWrapper without a queue says of itself; empty when it says nothing.
std::string told_by_wrapper(const Value& object) {
    const auto& conditions = object["status"]["conditions"].items();
    for (auto each = conditions.rbegin(); each != conditions.rend(); ++each) {
        const std::string text = (*each)["message"].text();
        if (!text.empty()) return "is " + object["status"]["state"].text() + ": " + text;
    }
    return {};
}

}  // namespace

int why(Command& command, const std::string& target, const std::string& output) {
    if (output != "text" && output != "json") {
        throw Error(Reason::bad_request,
                    "error: unable to match a printer suitable for the output "
                    "format \"" +
                        output + "\", allowed formats are: json,text");
    }
    const auto named = parse_named(command.resources(), {target});
    if (named.size() != 1 || named.front().name.empty())
        throw Error(Reason::bad_request, "error: say what to explain: muster why KIND/NAME");
    const Resource& resource = *named.front().resource;
    const std::string ns = resource.namespaced ? command.ns() : "";
    const std::string path = resource.path(ns, named.front().name);
    if (!command.session().find(path + "/why")) {
        const Value object = command.session().get(path);  // Says so when there is none.
        const Value workload = workload_of(command, resource, ns, object);
        const std::string told = !workload.is_null()                ? told_by_conditions(workload)
                                 : resource.plural == "appwrappers" ? told_by_wrapper(object)
                                                                    : "";
        if (!told.empty()) {
            const Value& said = workload.is_null() ? object : workload;
            print((output == "json"
                       ? api::to_pretty_json(said["status"])
                       : resource.singular + " " + ns + "/" + named.front().name + " " + told) +
                  "\n");
            return 0;
        }
        throw Error(Reason::bad_request,
                    "error: " + resource.plural +
                        " do not wait for quota or room of their own: ask why of a job (job, "
                        "rayjob, raycluster, appwrapper), its Workload or its pods");
    }
    const Value answer = command.session().get(path + "/why");
    print((output == "json" ? api::to_pretty_json(answer) : answer["text"].text()) + "\n");
    return 0;
}

int queue(Command& command, bool all_namespaces) {
    Session& session = command.session();
    const std::string ns = all_namespaces ? "" : command.ns();
    const auto queues = list(session, command.resources().named("localqueues.kueue.x-k8s.io"), ns);
    const auto workloads = list(session, command.resources().named("workloads.kueue.x-k8s.io"), ns);
    if (queues.empty() && workloads.empty()) {
        print_error(ns.empty() ? "No queues found\n"
                               : "No queues found in " + ns + " namespace.\n");
        return 0;
    }
    std::string text = "NAMESPACE\tQUEUE\tCLUSTERQUEUE\tWAITING\tRESERVING\tADMITTED\n";
    for (const Value& one : queues) {
        const Value& status = one["status"];
        text += one["metadata"]["namespace"].text() + "\t" + one["metadata"]["name"].text() + "\t" +
                one["spec"]["clusterQueue"].text() + "\t" + count_text(status["pendingWorkloads"]) +
                "\t" + count_text(status["reservingWorkloads"]) + "\t" +
                count_text(status["admittedWorkloads"]) + "\n";
    }
    print(align(text, table_style));
    std::string rows;
    for (const Value& one : workloads) {
        const std::string state = state_of(one);
        if (state == "Finished") continue;
        std::string job = "<none>";
        for (const Value& owner : one["metadata"]["ownerReferences"].items())
            job = to_lower(owner["kind"].text()) + "/" + owner["name"].text();
        const Value& reserved = condition_of(one, "QuotaReserved");
        const std::string reason = state == "Waiting" ? reserved["message"].text() : "";
        rows += one["metadata"]["namespace"].text() + "\t" + job + "\t" +
                one["spec"]["queueName"].text() + "\t" +
                std::to_string(one["spec"]["priority"].integer_or(0)) + "\t" + state + "\t" +
                reason.substr(0, reason.find('\n')) + "\n";
    }
    if (!rows.empty())
        print("\n" + align("NAMESPACE\tJOB\tQUEUE\tPRIORITY\tSTATE\tREASON\n" + rows, table_style));
    return 0;
}

/// What is not as it should be on a node, once for all nodes that say the same.
std::string node_warnings(const std::vector<Value>& nodes) {
    std::string text;
    std::set<std::string> said;
    for (const Value& node : nodes)
        for (const Value& condition : node["status"]["conditions"].items()) {
            const std::string_view type = condition["type"].text_or("");
            const bool of_isolation =
                type == "muster.dev/PodsHaveOwnUsers" || type == "muster.dev/LimitsEnforced";
            if (!of_isolation || condition["status"].text_or("") != "False") continue;
            const std::string message = condition["message"].text();
            if (said.insert(message).second) text += "\nWarning: " + message + "\n";
        }
    return text;
}

int nodes(Command& command) {
    Session& session = command.session();
    const auto nodes = list(session, command.resources().named("nodes"), "");
    const Value pods = session.get("/api/v1/pods" + selector_query("",
                                                                   "status.phase!=Succeeded,"
                                                                   "status.phase!=Failed"));
    std::string text = "NODE\tRESOURCE\tALLOCATABLE\tREQUESTED\tFREE\tPODS\n";
    for (const Value& node : nodes) {
        const std::string name = node["metadata"]["name"].text();
        Amounts requested;
        std::int64_t count = 0;
        for (const Value& pod : pods["items"].items()) {
            if (pod["spec"]["nodeName"].text_or("") != name) continue;
            add_amounts(requested, pod_amounts(pod, "requests"));
            ++count;
        }
        std::string shown = name;
        for (const auto& member : node["status"]["allocatable"].members()) {
            const auto has = Quantity::parse(member.value.text());
            if (!has || member.key == "pods" || member.key.starts_with("hugepages-")) continue;
            const Quantity used =
                requested.contains(member.key) ? requested.at(member.key) : Quantity();
            text += shown + "\t" + member.key + "\t" + has->text() + "\t" + used.text() + "\t" +
                    (*has - used).text() + "\t" + (shown.empty() ? "" : std::to_string(count)) +
                    "\n";
            shown.clear();
        }
    }
    print(align(text, table_style));
    print(node_warnings(nodes));
    return 0;
}

int version(Command& command) {
    const Value answer = command.session().get("/version");
    print("Server Version: " + answer["gitVersion"].text() + "\n");
    return 0;
}

int api_resources(Command& command) {
    std::string text = "NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND\n";
    for (const Resource& resource : command.resources().all()) {
        text += resource.plural + "\t" + join(resource.short_names, ",") + "\t" +
                resource.api_version() + "\t" + (resource.namespaced ? "true" : "false") + "\t" +
                resource.kind + "\n";
    }
    print(align(text, table_style));
    return 0;
}

}  // namespace muster::cli
