// apps/cli/write.cpp - `muster apply`, `create` and `delete`.
#include <set>

#include "apps/cli/follow.h"
#include "apps/cli/output.h"
#include "apps/cli/pipeline.h"
#include "apps/cli/verbs.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error: " + text);
}

/// "configmap/a created", or the object when -o asks for it.
void report(const Placed& placed, const Value& object, const std::string& done,
            const WriteOptions& options) {
    const Output output = parse_output(options.output);
    if (!output.is_table()) return print(objects_text(output, {object}, false, false));
    const bool dry = options.dry_run == "server" || options.dry_run == "client";
    print(placed.text() + " " + done + (dry ? " (" + options.dry_run + " dry run)" : "") + "\n");
}

std::string write_query(const WriteOptions& options) {
    std::string query =
        "?fieldManager=" + net::percent_encode(options.field_manager) + "&fieldValidation=Strict";
    if (options.dry_run == "server") query += "&dryRun=All";
    return query;
}

void check(const WriteOptions& options) {
    if (options.selection.files.empty()) refuse("must specify one of -f and -k");
    const std::string& dry = options.dry_run;
    if (!dry.empty() && dry != "none" && dry != "server" && dry != "client")
        refuse("invalid dry-run value (" + dry + "). Must be \"none\", \"server\", or \"client\".");
}

/// Where each object goes; what has no place says why.
std::vector<Writing> places_of(Command& command, const WriteOptions& options) {
    std::vector<Writing> writings;
    for (Value& object : read_objects(options.selection.files, options.selection.recursive)) {
        Writing writing;
        writing.object = std::move(object);
        try {
            writing.placed = place(command, writing.object, options.given_ns);
        } catch (const ServerError&) {
            throw;
        } catch (const Error& error) {
            writing.problem = error.what();
        }
        writings.push_back(std::move(writing));
    }
    if (writings.empty()) refuse("no objects passed to apply");
    return writings;
}

void create_one(Command& command, const Value& object, const WriteOptions& options) {
    Placed placed = place(command, object, options.given_ns);
    if (options.dry_run == "client") return report(placed, object, "created", options);
    const std::string path = placed.resource->path(placed.ns) + write_query(options);
    const Value made = command.session().call(body_request("POST", path, object));
    placed.name = made["metadata"]["name"].text();  // The server's, for generateName.
    report(placed, made, "created", options);
}

Value delete_body(const DeleteOptions& options) {
    Value body = Value::object({{"kind", "DeleteOptions"}, {"apiVersion", "v1"}});
    static constexpr std::pair<const char*, const char*> policies[] = {
        {"background", "Background"}, {"foreground", "Foreground"}, {"orphan", "Orphan"}};
    const char* policy = nullptr;
    for (const auto& [word, value] : policies) {
        if (options.cascade == word) policy = value;
    }
    if (!policy)
        refuse("invalid cascade value (" + options.cascade +
               "). Must be \"background\", \"foreground\", or \"orphan\".");
    body.set("propagationPolicy", policy);
    if (options.force) {
        body.set("gracePeriodSeconds", 0);
    } else if (options.now) {
        body.set("gracePeriodSeconds", 1);
    } else if (options.grace_period >= 0) {
        body.set("gracePeriodSeconds", options.grace_period);
    }
    return body;
}

/// What is to be deleted; only files and names are not looked up first.
std::vector<Placed> to_delete(Command& command, const DeleteOptions& options) {
    std::vector<Placed> targets;
    const Selection& selection = options.selection;
    if (!selection.files.empty()) {
        for (const Value& object : read_objects(selection.files, selection.recursive))
            targets.push_back(place(command, object, ""));
        return targets;
    }
    bool named = true;
    for (const Named& one : parse_named(command.resources(), selection.words)) {
        named = named && !one.name.empty();
        targets.push_back({one.resource, one.resource->namespaced ? command.ns() : "", one.name});
    }
    if (named) return targets;
    targets.clear();
    for (const Selected& selected : fetch(command, selection))
        targets.push_back(selected.place);
    if (targets.empty() && command.exit_code() == 0) print("No resources found\n");
    return targets;
}

}  // namespace

int apply(Command& command, const WriteOptions& options) {
    check(options);
    std::vector<Writing> writings = places_of(command, options);
    for (Writing& writing : writings) {
        if (writing.problem.empty() && writing.placed.name.empty())
            writing.problem = "error: resource name may not be empty";
    }
    WritePlan plan;
    plan.look = WritePlan::Look::first;
    std::string query = write_query(options);
    if (options.force_conflicts) query += "&force=true";
    plan.request = [&](const Writing& writing) -> std::optional<net::Request> {
        if (options.dry_run == "client") return std::nullopt;
        return body_request("PATCH", writing.placed.path() + query, writing.object,
                            "application/apply-patch+yaml");
    };
    plan.done = [&](const Writing& writing, const std::optional<Value>& before,
                    const Value& after) {
        const bool same = before && (*before)["metadata"]["resourceVersion"] ==
                                        after["metadata"]["resourceVersion"];
        report(writing.placed, after.is_null() ? writing.object : after,
               !before ? "created"
               : same  ? "unchanged"
                       : "configured",
               options);
    };
    write_in_order(command, std::move(writings), plan);
    return command.exit_code();
}

int create(Command& command, const WriteOptions& options) {
    // `create namespace NAME`, the one that needs no file.
    const auto& words = options.selection.words;
    if (options.selection.files.empty() && words.size() == 2 &&
        (words[0] == "namespace" || words[0] == "ns")) {
        const Value object = Value::object({{"apiVersion", "v1"},
                                            {"kind", "Namespace"},
                                            {"metadata", Value::object({{"name", words[1]}})}});
        create_one(command, object, options);
        return 0;
    }
    if (options.selection.files.empty())
        refuse("give the object as a file with -f, or `create namespace NAME`");
    check(options);
    WritePlan plan;
    plan.request = [&](const Writing& writing) -> std::optional<net::Request> {
        if (options.dry_run == "client") return std::nullopt;
        return body_request("POST",
                            writing.placed.resource->path(writing.placed.ns) + write_query(options),
                            writing.object);
    };
    plan.done = [&](const Writing& writing, const std::optional<Value>&, const Value& made) {
        Placed placed = writing.placed;
        if (made.is_null()) return report(placed, writing.object, "created", options);
        placed.name = made["metadata"]["name"].text();  // The server's, for generateName.
        report(placed, made, "created", options);
    };
    write_in_order(command, places_of(command, options), plan);
    return command.exit_code();
}

int remove(Command& command, const DeleteOptions& options) {
    const Value body = delete_body(options);
    if (options.force)
        print_error(
            "Warning: Immediate deletion does not wait for confirmation that the running resource "
            "has been terminated. The resource may continue to run on the cluster indefinitely.\n");
    const auto patience = parse_go_duration(options.timeout);
    if (!patience) refuse("invalid --timeout: " + options.timeout);
    std::vector<std::pair<Placed, std::string>> waiting;  // With the uid that must be gone.
    for (const Placed& target : to_delete(command, options)) {
        try {
            const Value answer =
                command.session().call(body_request("DELETE", target.path(), body));
            if (options.output == "name") {
                print(target.text() + "\n");
            } else {
                print(target.resource->full_singular() + " \"" + target.name + "\"" +
                      (options.force ? " force deleted\n" : " deleted\n"));
            }
            std::string uid = answer["details"]["uid"].text();
            if (uid.empty()) uid = answer["metadata"]["uid"].text();
            waiting.emplace_back(target, uid);
        } catch (const ServerError& error) {
            if (error.code() == 404 && options.ignore_not_found) continue;
            command.failed(error);
        }
    }
    if (!options.wait) return command.exit_code();
    std::optional<Time> deadline;
    if (patience->nanoseconds > 0) deadline = command.session().now() + *patience;
    for (const auto& [target, uid] : waiting) {
        const bool gone = follow(
            command.session(), target,
            [&uid = uid](const Value& object) {
                return object.is_null() ||
                       (!uid.empty() && object["metadata"]["uid"].text_or("") != uid);
            },
            deadline);
        if (!gone)
            command.failed(Error(Reason::timeout, "error: timed out waiting for the condition on " +
                                                      target.resource->full_plural() + "/" +
                                                      target.name));
    }
    return command.exit_code();
}

}  // namespace muster::cli
