// control/runner_log.cpp - objects, verbs and outcomes as fields of log lines.
#include "control/runner_log.h"

#include "api/guest_kinds.h"
#include "base/log.h"
#include "base/verify.h"
#include "control/conditions.h"

namespace muster::control {
namespace {

/// "Job"; of a kind that is not known, "jobs".
std::string_view kind_of(const api::Key& key) {
    const api::Kind* kind = api::find_known_kind(key.resource.group, key.resource.plural);
    return kind != nullptr ? std::string_view(kind->kind) : std::string_view(key.resource.plural);
}

/// As the rights for it are called.
std::string_view verb_of(Write::Verb verb) {
    switch (verb) {
        case Write::Verb::create:
            return "create";
        case Write::Verb::update:
            return "update";
        case Write::Verb::merge_patch:
        case Write::Verb::apply:
            return "patch";
        case Write::Verb::remove:
            return "delete";
        case Write::Verb::remove_all:
            return "deletecollection";
        case Write::Verb::demand_none:
            return "list";
    }
    broken_promise(__FILE__, __LINE__, "every verb has a word");
}

std::string_view text_of(Outcome::Kind kind) {
    switch (kind) {
        case Outcome::Kind::written:
            return "written";
        case Outcome::Kind::removed:
            return "removed";
        case Outcome::Kind::vanished:
            return "nothing to write to: it is gone";
        case Outcome::Kind::conflicted:
            return "not written: somebody else was quicker";
        case Outcome::Kind::refused:
            return "the server refuses a write";
        case Outcome::Kind::failed:
            return "the server could not take a write";
    }
    broken_promise(__FILE__, __LINE__, "every outcome has words");
}

LogLevel level_of(Outcome::Kind kind) {
    const bool bad = kind == Outcome::Kind::refused || kind == Outcome::Kind::failed;
    return bad ? LogLevel::warning : LogLevel::debug;
}

}  // namespace

std::vector<Decision> decisions_in(const Write& write, const kube::Object* seen) {
    static const api::Value nothing;
    const api::Value& before = seen != nullptr ? seen->value["status"]["conditions"] : nothing;
    std::vector<Decision> found;
    for (const api::Value& condition : write.body["status"]["conditions"].items()) {
        const api::Value& old = find_condition(before, condition["type"].text_or(""));
        const bool same =
            old["status"] == condition["status"] && old["reason"] == condition["reason"];
        if (same) continue;
        found.push_back({condition["type"].text(), condition["status"].text(),
                         condition["reason"].text(), condition["message"].text()});
    }
    return found;
}

void log_decisions(std::string_view controller, const Write& write, const kube::Object* seen) {
    for (const Decision& decision : decisions_in(write, seen)) {
        log_debug(controller, "decided",
                  {{"kind", kind_of(write.key)},
                   {"namespace", write.key.ns},
                   {"name", write.key.name},
                   {"condition", decision.condition},
                   {"status", decision.status},
                   {"reason", decision.reason},
                   {"message", decision.message}});
    }
}

void log_outcome(std::string_view controller, const Write& write, const Outcome& outcome) {
    const LogLevel level = level_of(outcome.kind);
    if (!logs(level)) return;
    log_line(level, controller, text_of(outcome.kind),
             {{"verb", verb_of(write.verb)},
              {"kind", kind_of(write.key)},
              {"namespace", write.key.ns},
              {"name", write.key.name},
              {"subresource", write.subresource},
              {"code", std::int64_t{outcome.code}},
              {"reason", outcome.reason},
              {"message", outcome.message}});
}

void log_event(std::string_view controller, const Event& event) {
    log_debug(controller, "event",
              {{"kind", kind_of(event.about)},
               {"namespace", event.about.ns},
               {"name", event.about.name},
               {"type", event.type},
               {"reason", event.reason},
               {"message", event.message}});
}

}  // namespace muster::control
