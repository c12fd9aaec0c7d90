// apps/cli/command_line.cpp - the flags of every verb; the only file that includes CLI11.
#include "apps/cli/command_line.h"

#include <algorithm>
#include <functional>

#include <CLI/CLI.hpp>

#include "apps/cli/verbs.h"
#include "apps/operator/operator.h"
#include "apps/replay/replay_command.h"
#include "apps/store/store_commands.h"
#include "apps/up/up.h"
#include "base/log_format.h"

namespace muster::cli {
namespace {

/// A verb that was chosen, to be run once everything is parsed.
using Chosen = std::function<int()>;

/// How loud the log is, and for whom.
void add_log_flags(CLI::App& verb) {
    verb.add_option_function<std::string>(
            "--log-level", [](const std::string& word) { set_log_level(*find_log_level(word)); },
            "debug, info, warning or error")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
    verb.add_option_function<std::string>(
            "--log-format",
            [](const std::string& word) {
                set_log_format(word == "json" ? LogFormat::json : LogFormat::text);
            },
            "text or json")
        ->check(CLI::IsMember({"text", "json"}));
}

void add_up(CLI::App& app, Chosen& chosen) {
    auto* verb = app.add_subcommand("up", "Run everything on this machine");
    auto options = std::make_shared<up::UpOptions>();
    verb->add_option("--data", options->data, "Folder that holds all state");
    verb->add_option("--listen", options->listen, "ADDRESS:PORT of the API server")
        ->capture_default_str();
    verb->add_option("--kubeconfig", options->kubeconfig, "Where to write the kubeconfig");
    verb->add_option("--node", options->nodes, "NAME:cpu=8,memory=8Gi,... (may be repeated)")
        ->allow_extra_args(false);
    verb->add_option("--config", options->config, "A file of Kueue's Configuration");
    verb->add_option("--feature-gates", options->feature_gates,
                     "Kueue's feature gates: NAME=true|false,...");
    verb->add_option("--shutdown-grace", options->shutdown_grace,
                     "Seconds that pods have to end at a stop, at most")
        ->capture_default_str()
        ->check(CLI::Range(0, 86'400));
    verb->add_flag("--allow-shared-uid", options->allow_shared_uid,
                   "Where pods have no users of their own: run also other people's pods, as this "
                   "user");
    verb->add_flag("--api-only", options->api_only,
                   "The API server alone, without controllers and nodes: for tests of controllers");
    add_log_flags(*verb);
    verb->callback([&chosen, options] { chosen = [options] { return up::run_up(*options); }; });
}

void add_webhook_options(CLI::App& verb, on_cluster::WebhookOptions& options) {
    using Wish = on_cluster::WebhookOptions::Wish;
    verb.add_option_function<bool>(
        "--webhooks", [&options](bool on) { options.wish = on ? Wish::on : Wish::off; },
        "true|false: serve admission and conversion webhooks; when not given: in a pod, or with "
        "--webhook-url");
    verb.add_option("--webhook-listen", options.listen, "ADDRESS:PORT of the webhooks")
        ->capture_default_str();
    verb.add_option("--webhook-service", options.service,
                    "NAMESPACE/NAME of the Service in front of them")
        ->capture_default_str();
    verb.add_option("--webhook-url", options.url,
                    "https://HOST:PORT, for an API server that reaches no Service");
    verb.add_option("--webhook-secret", options.secret,
                    "Secret with their certificates, in the Service's namespace")
        ->capture_default_str();
    verb.add_option("--webhook-owner", options.owner,
                    "ClusterRole with which their configurations go (none: they stay)");
}

void add_operator(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    CLI::App* verb =
        app.add_subcommand("operator", "Run queues, AppWrappers and Ray on a Kubernetes cluster");
    auto options = std::make_shared<on_cluster::OperatorOptions>();
    verb->add_option("--config", options->config, "A file of Kueue's Configuration");
    verb->add_option("--feature-gates", options->feature_gates,
                     "Kueue's feature gates: NAME=true|false,...");
    verb->add_flag("--leader-elect", options->leader_elect, "Of several only one works at a time");
    verb->add_option("--leader-elect-namespace", options->lease_ns,
                     "Where the Lease is (muster-system)");
    verb->add_option("--leader-elect-name", options->lease_name,
                     "What the Lease is called (muster-operator)");
    verb->add_option("--health-probe-bind-address", options->health_address,
                     "ADDRESS:PORT of /healthz and /readyz; :PORT for every address");
    verb->add_option("--metrics-bind-address", options->metrics_address,
                     "ADDRESS:PORT of /metrics, over TLS");
    verb->add_option("--pprof-bind-address", options->profile_address,
                     "ADDRESS:PORT of /debug/pprof/profile");
    add_log_flags(*verb);
    add_webhook_options(*verb, options->webhooks);
    verb->callback([&chosen, globals, options] {
        chosen = [globals, options] {
            options->connection = connection_of(*globals);
            return on_cluster::run_operator(*options);
        };
    });
}

void add_selection(CLI::App& verb, Selection& selection) {
    verb.add_option("resources", selection.words, "TYPE[,TYPE] [NAME...], or TYPE/NAME...");
    verb.add_option("-f,--filename", selection.files, "File, folder or - for standard input")
        ->allow_extra_args(false);
    verb.add_flag("-R,--recursive", selection.recursive, "Also subfolders of -f");
    verb.add_option("-l,--selector", selection.selector, "Label selector");
    verb.add_option("--field-selector", selection.field_selector, "Field selector");
    verb.add_flag("-A,--all-namespaces", selection.all_namespaces, "In all namespaces");
    verb.add_flag("--all", selection.all, "All of the kind");
}

/// One verb: its options live as long as the parsing, and run in a Command of their own.
template <class Options>
CLI::App* add_verb(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen,
                   const std::string& name, const std::string& help,
                   std::shared_ptr<Options> options, int (*run)(Command&, const Options&)) {
    CLI::App* verb = app.add_subcommand(name, help);
    verb->callback([globals, &chosen, options, run] {
        chosen = [globals, options, run] {
            Command command(*globals);
            return run(command, *options);
        };
    });
    return verb;
}

void add_get(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<GetOptions>();
    CLI::App* verb = add_verb(app, globals, chosen, "get", "Show objects", options, get);
    add_selection(*verb, options->selection);
    verb->add_option("-o,--output", options->output,
                     "wide, yaml, json, name, jsonpath=..., custom-columns=...");
    verb->add_option("--sort-by", options->sort_by, "JSONPath to sort rows by");
    verb->add_option("-L,--label-columns", options->label_columns, "Labels shown as columns")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_flag("-w,--watch", options->watch, "Then show changes");
    verb->add_flag("--watch-only", options->watch_only, "Show changes only");
    verb->add_flag("--no-headers", options->no_headers, "Without the line of column names");
    verb->add_flag("--show-labels", options->show_labels, "Labels as the last column");
    verb->add_flag("--show-kind", options->show_kind, "The kind before each name");
    verb->add_flag("--ignore-not-found", options->ignore_not_found,
                   "What is not there is no error");
    verb->add_flag("--show-managed-fields", options->show_managed_fields, "With -o yaml or json");
}

void add_describe(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<DescribeOptions>();
    CLI::App* verb =
        add_verb(app, globals, chosen, "describe", "Tell all about objects", options, describe);
    add_selection(*verb, options->selection);
    verb->add_option("--show-events", options->show_events, "With the events about it");
}

void add_writes(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    struct Row {
        const char* name;
        const char* help;
        int (*run)(Command&, const WriteOptions&);
    };
    const Row rows[] = {{"apply", "Make objects as files say, or change them so", apply},
                        {"create", "Make the objects of files", create}};
    for (const Row& row : rows) {
        auto options = std::make_shared<WriteOptions>();
        CLI::App* verb = add_verb(app, globals, chosen, row.name, row.help, options, row.run);
        verb->add_option("words", options->selection.words, "namespace NAME");
        verb->add_option("-f,--filename", options->selection.files,
                         "File, folder or - for standard input")
            ->allow_extra_args(false);
        verb->add_flag("-R,--recursive", options->selection.recursive, "Also subfolders of -f");
        verb->add_option("-o,--output", options->output, "yaml, json, name, jsonpath=...");
        verb->add_option("--dry-run", options->dry_run, "none, server or client")
            ->expected(0, 1)
            ->default_str("client");
        verb->add_option("--field-manager", options->field_manager, "Who owns the fields")
            ->capture_default_str();
        if (row.run == apply) {
            verb->add_flag("--server-side", options->server_side,
                           "Always so; accepted for kubectl's sake");
            verb->add_option("--force-conflicts", options->force_conflicts,
                             "Take fields over from other managers")
                ->expected(0, 1)
                ->default_str("true");
        }
        verb->parse_complete_callback([options, globals] { options->given_ns = globals->ns; });
    }
}

void add_delete(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<DeleteOptions>();
    CLI::App* verb = add_verb(app, globals, chosen, "delete", "Remove objects", options, remove);
    add_selection(*verb, options->selection);
    verb->add_option("-o,--output", options->output, "name");
    verb->add_option("--cascade", options->cascade, "background, foreground or orphan")
        ->capture_default_str();
    verb->add_option("--timeout", options->timeout, "How long to wait; 0s: as long as it takes");
    verb->add_option("--grace-period", options->grace_period, "Seconds until processes are killed");
    verb->add_flag("--now", options->now, "One second of grace");
    verb->add_flag("--force", options->force, "Without grace");
    verb->add_option("--wait", options->wait, "Until they are gone (default true)");
    verb->add_flag("--ignore-not-found", options->ignore_not_found,
                   "What is not there is no error");
}

void add_wait(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<WaitOptions>();
    CLI::App* verb =
        add_verb(app, globals, chosen, "wait", "Wait until objects are as wanted", options, wait);
    add_selection(*verb, options->selection);
    verb->add_option("--for", options->condition,
                     "condition=TYPE[=STATUS], jsonpath='{...}'=VALUE, create or delete");
    verb->add_option("--timeout", options->timeout, "How long at most")->capture_default_str();
    verb->add_option("-o,--output", options->output, "name");
}

void add_logs(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<LogsOptions>();
    CLI::App* verb =
        add_verb(app, globals, chosen, "logs", "Show what a pod has printed", options, logs);
    verb->add_option("target", options->target, "POD or TYPE/NAME");
    verb->add_option("-c,--container", options->container, "Which container");
    verb->add_option("-l,--selector", options->selector, "Label selector instead of a name");
    verb->add_option("--since", options->since, "Only newer than 5s, 2m or 3h");
    verb->add_option("--tail", options->tail, "Only the last lines");
    verb->add_option("--limit-bytes", options->limit_bytes, "At most so many bytes");
    verb->add_flag("-f,--follow", options->follow, "Go on as it prints");
    verb->add_flag("-p,--previous", options->previous, "Of the container before a restart");
    verb->add_flag("--timestamps", options->timestamps, "The time before each line");
}

void add_exec(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<ExecOptions>();
    CLI::App* verb =
        add_verb(app, globals, chosen, "exec", "Run a command in a container", options, exec);
    verb->add_option("target", options->target, "POD or TYPE/NAME");
    verb->add_option("-c,--container", options->container, "Which container");
    verb->add_flag("-i,--stdin", options->input, "Give it standard input");
    verb->add_flag("-t,--tty", options->terminal, "On a terminal");
    verb->add_option("arguments", options->arguments, "-- COMMAND [ARGUMENT...]");
    verb->parse_complete_callback([options, globals] {
        const auto& typed = globals->after_dashes;
        options->arguments.insert(options->arguments.end(), typed.begin(), typed.end());
    });
}

void add_changes(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    struct Row {
        const char* name;
        const char* help;
        int (*run)(Command&, const ChangeOptions&);
    };
    const Row rows[] = {{"label", "Set (k=v) or remove (k-) labels", label},
                        {"annotate", "Set (k=v) or remove (k-) annotations", annotate}};
    for (const Row& row : rows) {
        auto options = std::make_shared<ChangeOptions>();
        CLI::App* verb = add_verb(app, globals, chosen, row.name, row.help, options, row.run);
        add_selection(*verb, options->selection);
        verb->add_flag("--overwrite", options->overwrite, "Replace values that are there");
    }
    auto options = std::make_shared<PatchOptions>();
    CLI::App* verb = add_verb(app, globals, chosen, "patch", "Change fields", options, patch);
    add_selection(*verb, options->selection);
    verb->add_option("--type", options->type, "strategic, merge or json")->capture_default_str();
    verb->add_option("-p,--patch", options->patch, "The patch, as JSON or YAML");
    verb->add_option("--patch-file", options->patch_file, "A file with the patch");
    verb->add_option("--subresource", options->subresource, "status or scale");
    verb->add_option("-o,--output", options->output, "yaml, json, name, jsonpath=...");
}

void add_scale(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<ScaleOptions>();
    CLI::App* verb =
        add_verb(app, globals, chosen, "scale", "Set the number of replicas", options, scale);
    add_selection(*verb, options->selection);
    verb->add_option("--replicas", options->replicas, "How many");
    verb->add_option("--current-replicas", options->current_replicas, "Only if it has so many now");
    for (const auto schedulable : {Schedulable::no, Schedulable::yes}) {
        auto selection = std::make_shared<Selection>();
        const bool close = schedulable == Schedulable::no;
        CLI::App* node =
            app.add_subcommand(close ? "cordon" : "uncordon",
                               close ? "Keep new pods off a node" : "Let pods onto a node again");
        add_selection(*node, *selection);
        node->callback([globals, &chosen, selection, schedulable] {
            chosen = [globals, selection, schedulable] {
                Command command(*globals);
                return cordon(command, *selection, schedulable);
            };
        });
    }
}

void add_questions(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto target = std::make_shared<std::string>();
    CLI::App* verb = app.add_subcommand("why", "Why a job waits, and what would help");
    auto output = std::make_shared<std::string>("text");
    verb->add_option("target", *target, "KIND/NAME")->required();
    verb->add_option("-o,--output", *output, "text or json")->capture_default_str();
    verb->callback([globals, &chosen, target, output] {
        chosen = [globals, target, output] {
            Command command(*globals);
            return why(command, *target, *output);
        };
    });
    auto all = std::make_shared<bool>(false);
    verb = app.add_subcommand("queue", "The queues, and what waits and runs in them");
    verb->add_flag("-A,--all-namespaces", *all, "In all namespaces");
    verb->callback([globals, &chosen, all] {
        chosen = [globals, all] {
            Command command(*globals);
            return queue(command, *all);
        };
    });
    struct Row {
        const char* name;
        const char* help;
        int (*run)(Command&);
    };
    const Row rows[] = {{"nodes", "What each node has, and what is free of it", nodes},
                        {"api-resources", "The kinds of the server", api_resources},
                        {"version", "The version of the server", version}};
    for (const Row& row : rows) {
        app.add_subcommand(row.name, row.help)->callback([globals, &chosen, run = row.run] {
            chosen = [globals, run] {
                Command command(*globals);
                return run(command);
            };
        });
    }
}

void add_crds(CLI::App& app, const std::shared_ptr<Globals>& globals, Chosen& chosen) {
    auto options = std::make_shared<CrdsOptions>();
    CLI::App* verb = add_verb(
        app, globals, chosen, "crds",
        "Print the CustomResourceDefinitions of Muster's kinds, for a cluster", options, crds);
    verb->add_option("kinds", options->words, "KIND, RESOURCE[.GROUP] or GROUP...; none: all");
    verb->add_option("-o,--output", options->output, "yaml or json")->capture_default_str();
    verb->add_option("--webhook-service", options->webhook_service,
                     "NAMESPACE/NAME of the service that converts between versions")
        ->capture_default_str();
    verb->add_option("--ca-file", options->ca_file, "The CA of its certificate, as PEM");
    verb->add_flag("--no-conversion", options->no_conversion,
                   "Without the webhook: kinds that need it are served in the stored version only");
    verb->add_flag("--missing", options->missing,
                   "Asks the cluster and leaves out what it has from somebody else");
}

void add_rbac(CLI::App& app, Chosen& chosen) {
    auto* verb = app.add_subcommand(
        "rbac", "Print the roles that `muster operator` needs on a cluster, and roles for people");
    auto options = std::make_shared<RbacOptions>();
    verb->add_option("--install-namespace", options->ns, "Where the operator runs")
        ->capture_default_str();
    verb->add_option("--prefix", options->prefix, "What the names begin with")
        ->capture_default_str();
    verb->add_option("-o,--output", options->output, "yaml or json")
        ->check(CLI::IsMember({"yaml", "json"}))
        ->capture_default_str();
    verb->callback([&chosen, options] { chosen = [options] { return rbac(*options); }; });
}

void add_replay(CLI::App& app, Chosen& chosen) {
    auto* verb = app.add_subcommand("replay", "Play a recorded trace under several policies");
    auto options = std::make_shared<replay::ReplayOptions>();
    verb->add_option("trace", options->trace, "CSV or Standard Workload Format, also gzipped")
        ->required();
    verb->add_option("--capacity", options->capacity, "GPUs (or CPUs) that the queues share")
        ->capture_default_str();
    verb->add_option("--policy", options->policies, "Only this one (may be repeated)")
        ->allow_extra_args(false);
    verb->add_option("-o,--output", options->output, "table or json")->capture_default_str();
    verb->add_option("--plot", options->plot, "Draw the waits to this SVG file");
    verb->callback(
        [&chosen, options] { chosen = [options] { return replay::run_replay(*options); }; });
}

void add_store(CLI::App& app, Chosen& chosen) {
    struct Row {
        const char* name;
        const char* help;
        const char* file;  // Null: it has none.
        int (*run)(const storage::StoreOptions&);
    };
    const Row rows[] = {
        {"check", "Read everything, and say whether all that was answered is there (any time)",
         nullptr, storage::run_check},
        {"export", "Write all objects to FILE as lines of JSON (any time; Secrets in clear)",
         "A new file; - for standard output", storage::run_export},
        {"import", "Make the store of a new data folder from an export",
         "A file of `muster store export`; - for standard input", storage::run_import},
        {"backup", "Make a new data folder with the same objects and keys (any time)",
         "A new or empty folder", storage::run_backup},
        {"repair", "Keep what can be read of a damaged store, and start without the rest", nullptr,
         storage::run_repair}};
    CLI::App* verb = app.add_subcommand("store", "Check, save and restore the data folder");
    verb->require_subcommand(1);
    verb->fallthrough();
    auto options = std::make_shared<storage::StoreOptions>();
    for (const Row& row : rows) {
        CLI::App* what = verb->add_subcommand(row.name, row.help);
        what->add_option("--data", options->data, "The data folder (as of `muster up`)");
        if (row.file != nullptr) what->add_option("file", options->file, row.file)->required();
        if (row.run == storage::run_repair) {
            what->add_flag("--accept-loss", options->accept_loss,
                           "Do it; the damaged folder is kept beside the new one");
        }
        what->callback([&chosen, options, run = row.run] {
            chosen = [options, run] { return run(*options); };
        });
    }
}

/// Verbs of the design that are not built yet say so.
constexpr std::string_view missing_verbs[] = {"submit", "when", "what-if", "acct"};

void refuse_missing(const std::vector<std::string>& arguments) {
    if (arguments.empty()) return;
    for (const std::string_view name : missing_verbs) {
        if (arguments.front() != name) continue;
        throw Error(Reason::not_found,
                    "error: `muster " + std::string(name) + "` is not there yet");
    }
}

void add_globals(CLI::App& app, Globals& globals) {
    app.add_option("--kubeconfig", globals.kubeconfig, "The kubeconfig to use");
    app.add_option("--context", globals.context, "Its context");
    app.add_option("--cluster", globals.cluster, "Its cluster");
    app.add_option("--user", globals.user, "Its user");
    app.add_option("-s,--server", globals.server, "The API server's address");
    app.add_option("--token", globals.token, "Bearer token");
    app.add_option("--as", globals.as, "User to impersonate");
    app.add_option("-n,--namespace", globals.ns, "The namespace to work in");
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    refuse_missing(arguments);
    CLI::App app("Muster: queues, quotas, Ray and Kubernetes objects, on this machine or a cluster",
                 "muster");
    app.require_subcommand(1);
    app.fallthrough();  // Global flags may follow the verb.
    const auto globals = std::make_shared<Globals>();
    add_globals(app, *globals);
    Chosen chosen;
    add_up(app, chosen);
    add_replay(app, chosen);
    add_rbac(app, chosen);
    add_store(app, chosen);
    for (auto* add : {add_operator, add_crds, add_get, add_describe, add_writes, add_delete,
                      add_wait, add_logs, add_exec, add_changes, add_scale, add_questions})
        add(app, globals, chosen);
    // The parser takes [ ... ] for a list; a command's words are nobody's to change.
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    if (dashes != arguments.end()) globals->after_dashes.assign(dashes + 1, arguments.end());
    std::vector<std::string> reversed(arguments.begin(), dashes);
    std::reverse(reversed.begin(), reversed.end());
    try {
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    }
    return chosen();
}

}  // namespace muster::cli
