// apps/cli/wait.cpp - `muster wait`: until a condition, a field, creation or deletion.
#include "apps/cli/follow.h"
#include "apps/cli/json_path.h"
#include "apps/cli/verbs.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error: " + text);
}

/// What --for says, as a question about an object (null: not there).
struct Wanted {
    enum class Kind { condition, gone, there, field };
    Kind kind = Kind::condition;
    std::string what;   // The condition's type or the path.
    std::string value;  // Empty for a field: any.

    bool operator()(const Value& object) const;
};

bool Wanted::operator()(const Value& object) const {
    if (kind == Kind::gone) return object.is_null();
    if (object.is_null()) return false;
    if (kind == Kind::there) return true;
    if (kind == Kind::field) {
        const auto found = find_path(what, object);
        if (found.empty()) return false;
        return value.empty() || plain_text(*found.front()) == value;
    }
    const std::int64_t generation = object["metadata"]["generation"].integer_or(0);
    for (const Value& condition : object["status"]["conditions"].items()) {
        if (!equal_ignoring_case(condition["type"].text_or(""), what)) continue;
        // A condition about an older form of the object does not count.
        if (condition["observedGeneration"].integer_or(generation) < generation) return false;
        return equal_ignoring_case(condition["status"].text_or(""), value);
    }
    return false;
}

Wanted parse_wanted(const std::string& text) {
    Wanted wanted;
    if (text == "delete") {
        wanted.kind = Wanted::Kind::gone;
    } else if (text == "create") {
        wanted.kind = Wanted::Kind::there;
    } else if (text.starts_with("condition=")) {
        const std::string rest = text.substr(10);
        const auto halves = split_first(rest, '=');
        wanted.what = halves ? std::string(halves->before) : rest;
        wanted.value = halves ? std::string(halves->after) : "true";
    } else if (text.starts_with("jsonpath=")) {
        wanted.kind = Wanted::Kind::field;
        const std::string rest = text.substr(9);
        const std::size_t end = rest.find('}');
        const std::size_t equals = rest.find('=', end == std::string::npos ? 0 : end);
        wanted.what = rest.substr(0, equals);
        if (equals != std::string::npos) {
            wanted.value = rest.substr(equals + 1);
            const bool quoted = wanted.value.size() > 1 &&
                                (wanted.value.front() == '"' || wanted.value.front() == '\'') &&
                                wanted.value.back() == wanted.value.front();
            if (quoted) wanted.value = wanted.value.substr(1, wanted.value.size() - 2);
        }
    } else {
        refuse("unrecognized condition: \"" + text + "\"");
    }
    return wanted;
}

/// The objects by name without fetching them: they may be gone, or not there yet.
std::vector<Placed> targets_of(Command& command, const Selection& selection, Wanted::Kind kind) {
    std::vector<Placed> targets;
    if (selection.files.empty() && selection.selector.empty() && !selection.all) {
        for (const Named& named : parse_named(command.resources(), selection.words)) {
            if (named.name.empty()) refuse("resource(s) were provided, but no name was specified");
            targets.push_back(
                {named.resource, named.resource->namespaced ? command.ns() : "", named.name});
        }
        return targets;
    }
    for (const Selected& selected : fetch(command, selection))
        targets.push_back(selected.place);
    if (targets.empty() && kind != Wanted::Kind::gone) refuse("no matching resources found");
    return targets;
}

}  // namespace

int wait(Command& command, const WaitOptions& options) {
    if (options.condition.empty()) refuse("required flag(s) \"for\" not set");
    const Wanted wanted = parse_wanted(options.condition);
    const auto patience = parse_go_duration(options.timeout);
    if (!patience) refuse("invalid --timeout: " + options.timeout);
    const Duration span = patience->nanoseconds < 0 ? hours(24 * 7) : *patience;
    const Time deadline = command.session().now() + span;
    for (const Placed& target : targets_of(command, options.selection, wanted.kind)) {
        // What is not there can only be waited for by asking for it.
        const bool may_be_absent =
            wanted.kind == Wanted::Kind::gone || wanted.kind == Wanted::Kind::there;
        try {
            if (!may_be_absent) command.session().get(target.path());
            bool deleted = false;
            bool was_there = false;
            const auto enough = [&](const Value& object) {
                was_there = was_there || !object.is_null();
                deleted = !may_be_absent && object.is_null();
                return deleted || wanted(object);
            };
            const bool met = follow(command.session(), target, enough, deadline);
            if (deleted)
                throw ServerError(
                    Reason::not_found,
                    "Error from server (NotFound): " + target.resource->full_plural() + " \"" +
                        target.name + "\" not found",
                    404);
            if (!met)
                throw Error(Reason::timeout, "error: timed out waiting for the condition on " +
                                                 target.resource->full_plural() + "/" +
                                                 target.name);
            // Nothing to wait for is nothing to tell of, as in kubectl.
            if (wanted.kind == Wanted::Kind::gone && !was_there) continue;
            print(options.output == "name" ? target.text() + "\n"
                                           : target.text() + " condition met\n");
        } catch (const Error& error) {
            command.failed(error);
        }
    }
    return command.exit_code();
}

}  // namespace muster::cli
