// apps/cli/change.cpp - `muster label`, `annotate`, `patch`, `scale`, `cordon` and `uncordon`.
#include <variant>

#include "api/yaml.h"
#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "apps/up/data_directory.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

constexpr const char* merge_patch_type = "application/merge-patch+json";

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error: " + text);
}

/// Words that change something ("a=b", "a-") stand behind those that name objects.
void split_words(Selection& selection, std::vector<std::string>& changes) {
    auto& words = selection.words;
    while (!words.empty() && (words.back().find('=') != std::string::npos ||
                              (words.back().ends_with('-') && words.size() > 1))) {
        changes.insert(changes.begin(), words.back());
        words.pop_back();
    }
}

Value merge(Command& command, const Placed& placed, const Value& patch,
            const std::string& subresource = "") {
    return command.session().call(body_request(
        "PATCH", placed.path(subresource) + "?fieldManager=muster-edit", patch, merge_patch_type));
}

/// Labels or annotations of one object; what is printed about it.
std::string change_map(Command& command, const Selected& selected, const char* field,
                       const std::vector<std::string>& changes, bool overwrite) {
    const Value& present = selected.object["metadata"][field];
    Value values = Value::object();
    bool removed_all = true;
    for (const std::string& change : changes) {
        const auto halves = split_first(change, '=');
        if (!halves) {
            const std::string key = change.substr(0, change.size() - 1);
            if (present.has(key)) values.set(key, nullptr);
            continue;
        }
        removed_all = false;
        const std::string key(halves->before);
        const Value* old = present.find(key);
        if (old && *old == Value(halves->after)) continue;
        if (old && !overwrite && std::string_view(field) == "annotations")
            refuse("--overwrite is false but found the following declared annotation(s): '" + key +
                   "' already has a value (" + old->text() + ")");
        if (old && !overwrite)
            refuse("'" + key + "' already has a value (" + old->text() +
                   "), and --overwrite is false");
        values.set(key, halves->after);
    }
    const bool labels = std::string_view(field) == "labels";
    if (values.empty()) return labels ? "not labeled" : "annotated";
    merge(command, selected.place, Value::object({{"metadata", Value::object({{field, values}})}}));
    if (!labels) return "annotated";
    return removed_all ? "unlabeled" : "labeled";
}

int change_maps(Command& command, const ChangeOptions& options, const char* field) {
    Selection selection = options.selection;
    std::vector<std::string> changes;
    split_words(selection, changes);
    if (changes.empty())
        refuse(std::string("at least one ") +
               (std::string_view(field) == "labels" ? "label" : "annotation") +
               " update is required");
    for (const Selected& selected : fetch(command, selection)) {
        try {
            const std::string done =
                change_map(command, selected, field, changes, options.overwrite);
            print(selected.place.text() + " " + done + "\n");
        } catch (const Error& error) {
            command.failed(error);
        }
    }
    return command.exit_code();
}

Value parse_patch(const PatchOptions& options) {
    if (options.patch.empty() == options.patch_file.empty())
        refuse("must specify one of -p and --patch-file");
    const std::string text =
        options.patch.empty() ? up::read_file(options.patch_file) : options.patch;
    auto parsed = api::parse_yaml(text);
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        refuse("unable to parse the patch: " + error->text);
    auto& documents = std::get<std::vector<api::Parsed>>(parsed);
    if (documents.size() != 1) refuse("unable to parse the patch: it is not one document");
    return std::move(documents.front().value);
}

}  // namespace

int label(Command& command, const ChangeOptions& options) {
    return change_maps(command, options, "labels");
}

int annotate(Command& command, const ChangeOptions& options) {
    return change_maps(command, options, "annotations");
}

int patch(Command& command, const PatchOptions& options) {
    const Value body = parse_patch(options);
    static constexpr std::pair<const char*, const char*> types[] = {
        {"strategic", "application/strategic-merge-patch+json"},
        {"merge", merge_patch_type},
        {"json", "application/json-patch+json"}};
    const char* type = nullptr;
    for (const auto& [word, value] : types) {
        if (options.type == word) type = value;
    }
    if (!type) refuse("--type must be one of [json merge strategic], not \"" + options.type + "\"");
    const Output output = parse_output(options.output);
    for (const Selected& selected : fetch(command, options.selection)) {
        try {
            const Value after = command.session().call(
                body_request("PATCH", selected.place.path(options.subresource), body, type));
            const bool same = after["metadata"]["resourceVersion"] ==
                              selected.object["metadata"]["resourceVersion"];
            if (!output.is_table()) {
                print(objects_text(output, {after}, false, false));
            } else {
                print(selected.place.text() + (same ? " patched (no change)\n" : " patched\n"));
            }
        } catch (const Error& error) {
            command.failed(error);
        }
    }
    return command.exit_code();
}

int scale(Command& command, const ScaleOptions& options) {
    if (options.replicas < 0)
        refuse("the --replicas=COUNT flag is required, and COUNT must be >= 0");
    for (const Selected& selected : fetch(command, options.selection)) {
        try {
            const Value present = command.session().get(selected.place.path("scale"));
            const std::int64_t count = present["spec"]["replicas"].integer_or(0);
            if (options.current_replicas >= 0 && count != options.current_replicas)
                refuse("Expected replicas to be " + std::to_string(options.current_replicas) +
                       ", was " + std::to_string(count));
            merge(command, selected.place,
                  Value::object({{"spec", Value::object({{"replicas", options.replicas}})}}),
                  "scale");
            print(selected.place.text() + " scaled\n");
        } catch (const Error& error) {
            command.failed(error);
        }
    }
    return command.exit_code();
}

int cordon(Command& command, const Selection& selection, Schedulable schedulable) {
    Selection nodes = selection;
    // Only names are given: the kind is known.
    if (!nodes.words.empty() && nodes.words.front().find('/') == std::string::npos)
        nodes.words.insert(nodes.words.begin(), "nodes");
    const bool close = schedulable == Schedulable::no;
    const std::string done = close ? "cordoned" : "uncordoned";
    for (const Selected& selected : fetch(command, nodes)) {
        const bool closed = selected.object["spec"]["unschedulable"].boolean_or(false);
        if (closed == close) {
            print(selected.place.text() + " already " + done + "\n");
            continue;
        }
        Value value;
        if (close) value = true;
        merge(command, selected.place,
              Value::object({{"spec", Value::object({{"unschedulable", value}})}}));
        print(selected.place.text() + " " + done + "\n");
    }
    return command.exit_code();
}

}  // namespace muster::cli
