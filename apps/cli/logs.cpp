// apps/cli/logs.cpp - `muster logs`: of a pod, or of the pod of a job or another owner of pods.
#include <algorithm>

#include "apps/cli/pod_target.h"
#include "apps/cli/verbs.h"
#include "base/text.h"

namespace muster::cli {
namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error: " + text);
}

std::string log_query(const LogsOptions& options) {
    std::string query;
    const auto add = [&](const std::string& name, const std::string& value) {
        query += (query.empty() ? "?" : "&") + name + "=" + net::percent_encode(value);
    };
    if (!options.container.empty()) add("container", options.container);
    if (options.follow) add("follow", "true");
    if (options.previous) add("previous", "true");
    if (options.timestamps) add("timestamps", "true");
    if (!options.tail.empty() && options.tail != "-1") {
        if (!parse_integer(options.tail)) refuse("--tail must be a number of lines");
        add("tailLines", options.tail);
    }
    if (!options.limit_bytes.empty()) add("limitBytes", options.limit_bytes);
    if (!options.since.empty()) {
        const auto since = parse_go_duration(options.since);
        if (!since) refuse("invalid --since: " + options.since);
        add("sinceSeconds", std::to_string(since->nanoseconds / seconds(1).nanoseconds));
    }
    return query;
}

void print_log(Command& command, const std::string& pod, LogsOptions options) {
    const std::string own_path = "/api/v1/namespaces/" + command.ns() + "/pods/" + pod;
    if (!command.session().find(own_path))
        refuse("error from server (NotFound): pods \"" + pod + "\" not found in namespace \"" +
               command.ns() + "\"");
    options.container = container_of(command, pod, options.container);
    const std::string path = own_path + "/log";
    net::Request request = get_request(path + log_query(options));
    request.headers.set("Accept", "*/*");
    command.session().stream(std::move(request), [](std::string_view piece) {
        print(std::string(piece));
        return Session::Go::on;
    });
}

}  // namespace

int logs(Command& command, const LogsOptions& options) {
    if (options.target.empty() && options.selector.empty())
        refuse("expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'");
    if (options.selector.empty()) {
        print_log(command, pod_of(command, options.target), options);
        return 0;
    }
    LogsOptions each = options;
    if (each.tail.empty()) each.tail = "10";  // As kubectl does for several.
    const std::vector<std::string> pods = pods_selected(command, options.selector);
    if (pods.empty()) print_error("No resources found in " + command.ns() + " namespace.\n");
    if (options.follow && pods.size() > 1)
        refuse("following the logs of several pods at once is not there yet; name one of them: " +
               join(pods, ", "));
    for (const std::string& pod : pods)
        print_log(command, pod, each);
    return 0;
}

}  // namespace muster::cli
