// apps/cli/verbs.h - the verbs as functions: what a command line said in, an exit code out.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/command.h"

namespace muster::cli {

struct GetOptions {
    Selection selection;
    std::string output;
    std::string sort_by;
    std::vector<std::string> label_columns;
    bool watch = false;
    bool watch_only = false;
    bool no_headers = false;
    bool show_labels = false;
    bool show_kind = false;
    bool ignore_not_found = false;
    bool show_managed_fields = false;
};
int get(Command& command, const GetOptions& options);

struct DescribeOptions {
    Selection selection;
    bool show_events = true;
};
int describe(Command& command, const DescribeOptions& options);

struct WriteOptions {
    Selection selection;
    std::string given_ns;  // -n as it was typed.
    std::string output;
    std::string dry_run;  // "", "none", "server", "client"
    std::string field_manager = "muster";
    bool force_conflicts = false;
    bool server_side = true;
};
int apply(Command& command, const WriteOptions& options);
int create(Command& command, const WriteOptions& options);

struct DeleteOptions {
    Selection selection;
    std::string output;
    std::string cascade = "background";
    std::string timeout = "0s";
    int grace_period = -1;
    bool now = false;
    bool force = false;
    bool wait = true;
    bool ignore_not_found = false;
};
int remove(Command& command, const DeleteOptions& options);

struct WaitOptions {
    Selection selection;
    std::string condition;  // --for
    std::string timeout = "30s";
    std::string output;
};
int wait(Command& command, const WaitOptions& options);

struct LogsOptions {
    std::string target;  // POD or TYPE/NAME
    std::string container;
    std::string selector;
    std::string since;
    std::string tail;
    std::string limit_bytes;
    bool follow = false;
    bool previous = false;
    bool timestamps = false;
};
int logs(Command& command, const LogsOptions& options);

struct ExecOptions {
    std::string target;
    std::string container;
    std::vector<std::string> arguments;
    bool input = false;
    bool terminal = false;
};
int exec(Command& command, const ExecOptions& options);

struct ChangeOptions {
    Selection selection;
    std::vector<std::string> changes;  // "k=v", "k-"
    bool overwrite = false;
    std::string output;
};
int label(Command& command, const ChangeOptions& options);
int annotate(Command& command, const ChangeOptions& options);

struct PatchOptions {
    Selection selection;
    std::string type = "strategic";
    std::string patch;
    std::string patch_file;
    std::string subresource;
    std::string output;
};
int patch(Command& command, const PatchOptions& options);

struct ScaleOptions {
    Selection selection;
    int replicas = -1;
    int current_replicas = -1;
};
int scale(Command& command, const ScaleOptions& options);

enum class Schedulable { yes, no };
int cordon(Command& command, const Selection& selection, Schedulable schedulable);

struct CrdsOptions {
    std::vector<std::string> words;  // Kinds, resources or groups; none: all.
    std::string output = "yaml";
    std::string webhook_service = "muster-system/muster-webhook-service";  // NAMESPACE/NAME
    std::string ca_file;  // The CA that signed the webhook's certificate, as PEM.
    bool no_conversion = false;
    bool missing = false;  // Only what the cluster does not have from somebody else.
};
int crds(Command& command, const CrdsOptions& options);

struct RbacOptions {
    std::string prefix = "muster";
    std::string ns = "muster-system";
    std::string output = "yaml";
};
int rbac(const RbacOptions& options);

int why(Command& command, const std::string& target, const std::string& output);
int queue(Command& command, bool all_namespaces);
int nodes(Command& command);
int api_resources(Command& command);
int version(Command& command);

}  // namespace muster::cli
