// control/writer.cpp - a write becomes a request, an answer becomes an outcome.
#include "control/writer.h"

#include <utility>

#include "api/owner.h"
#include "base/verify.h"
#include "kube/retry_after.h"

namespace muster::control {
namespace {

constexpr Duration wait_max = seconds(60);

net::Request request_of(const Write& write, const kube::Target& target) {
    using Verb = Write::Verb;
    api::Value body = write.body;
    if (write.version != 0 && (write.verb == Verb::update || write.verb == Verb::merge_patch)) {
        body.at("metadata").set("resourceVersion", std::to_string(write.version));
    }
    switch (write.verb) {
        case Verb::create:
            return kube::create(target, write.key.ns, write.key.name, write.subresource, body);
        case Verb::update:
            return kube::update(target, write.key, write.subresource, body);
        case Verb::merge_patch:
            return kube::patch(target, write.key, write.subresource, "application/merge-patch+json",
                               body);
        case Verb::apply: {
            const api::Kind* kind = api::find_kind(target.resource.group, target.resource.plural);
            body.set("apiVersion", api::to_api_version({target.resource.group, target.version}));
            if (kind != nullptr) body.set("kind", kind->kind);
            body.at("metadata").set("name", write.key.name);
            if (!write.key.ns.empty()) body.at("metadata").set("namespace", write.key.ns);
            return kube::patch(target, write.key, write.subresource, "application/apply-patch+yaml",
                               body);
        }
        case Verb::remove:
            return kube::remove(target, write.key, write.uid, write.propagation,
                                write.grace_seconds);
        case Verb::remove_all:
            return kube::remove_all(target, write.key.ns, write.propagation);
        case Verb::demand_none: {
            net::Request request = kube::list(target, write.key.ns);
            request.query.emplace_back("limit", "1");
            return request;
        }
    }
    broken_promise(__FILE__, __LINE__, "every verb has a request");
}

Outcome::Kind kind_of_failure(const Write& write, int code, std::string_view reason) {
    if (code == 404) {
        return write.verb == Write::Verb::create ? Outcome::Kind::refused : Outcome::Kind::vanished;
    }
    if (code == 409 && reason != "AlreadyExists") return Outcome::Kind::conflicted;
    // Credentials that have grown old are renewed meanwhile.
    if (code == 401 || code == 429 || code >= 500 || code == 0) return Outcome::Kind::failed;
    return Outcome::Kind::refused;
}

Outcome outcome_of(const Write& write, const kube::Target& target, std::string_view version_seen,
                   const net::Response& response) {
    Outcome outcome;
    outcome.code = response.status;
    api::Value value = kube::body_of(response, api::FieldOwners::left_out);
    const bool is_status = value["kind"].text_or("") == "Status";
    if (response.status < 200 || response.status > 299) {
        outcome.reason = value["reason"].text();
        outcome.message = value["message"].text();
        if (outcome.message.empty() && response.body != nullptr) outcome.message = *response.body;
        outcome.kind = kind_of_failure(write, response.status, outcome.reason);
        if (outcome.kind == Outcome::Kind::failed)
            outcome.wait = kube::asked_wait(response, wait_max);
        // A webhook of one kind or namespace may answer so, too.
        outcome.is_busy = outcome.code == 429 && !outcome.message.starts_with("admission webhook");
        return outcome;
    }
    outcome.kind = Outcome::Kind::written;
    if (write.verb == Write::Verb::demand_none && !value["items"].empty()) {
        outcome.kind = Outcome::Kind::conflicted;
    }
    if (write.key.name.empty()) return outcome;
    const bool terminating = value["metadata"].has("deletionTimestamp");
    if (write.verb == Write::Verb::remove && !terminating) {
        outcome.kind = Outcome::Kind::removed;
    } else if (!is_status && target.version == version_seen &&
               (write.subresource.empty() || write.subresource == "status")) {
        outcome.object = kube::make_object(target.resource, std::move(value));
    }
    return outcome;
}

}  // namespace

void Writer::send(const Write& write, std::string_view manager, std::string_view version_seen,
                  std::function<void(Outcome)> done) {
    const std::string version = write.api_version.empty()
                                    ? std::string(version_seen)
                                    : api::parse_group_version(write.api_version).version;
    const kube::Target target{write.key.resource, version};
    net::Request request = request_of(write, target);
    request.headers.set("User-Agent", std::string(manager));
    if (!write.body.is_null()) request.query.emplace_back("fieldManager", std::string(manager));
    if (write.verb == Write::Verb::apply) request.query.emplace_back("force", "true");
    transport_.send(std::move(request), [this, write, target, seen = std::string(version_seen),
                                         done = std::move(done)](const net::Response& response) {
        Outcome outcome = outcome_of(write, target, seen, response);
        if (write.verb == Write::Verb::create && outcome.reason == "AlreadyExists" &&
            write.subresource.empty()) {
            compare_existing(write, target, seen, done);
        } else {
            done(std::move(outcome));
        }
    });
}

void Writer::look(const api::Key& key, std::string_view version_seen,
                  std::function<void(Outcome)> done) {
    const kube::Target target{key.resource, std::string(version_seen)};
    Write nothing;
    nothing.verb = Write::Verb::merge_patch;
    nothing.key = key;
    transport_.send(kube::get(target, key.ns, key.name),
                    [nothing, target, done = std::move(done)](const net::Response& response) {
                        done(outcome_of(nothing, target, target.version, response));
                    });
}

void Writer::compare_existing(const Write& write, const kube::Target& target,
                              std::string_view version_seen, std::function<void(Outcome)> done) {
    // A repeated create after a crash collides with its own first try; that is a success if the
    // owner is the same.
    const std::string ours = api::controller_of(write.body)["uid"].text();
    transport_.send(
        kube::get(target, write.key.ns, write.key.name),
        [write, target, ours, seen = std::string(version_seen),
         done = std::move(done)](const net::Response& response) {
            Outcome outcome = outcome_of(write, target, seen, response);
            if (outcome.kind == Outcome::Kind::written && outcome.object != nullptr) {
                const std::string theirs = api::controller_of(outcome.object->value)["uid"].text();
                if (theirs != ours) {
                    outcome.kind = Outcome::Kind::refused;
                    outcome.code = 409;
                    outcome.reason = "AlreadyExists";
                    outcome.message =
                        to_text(write.key) + " already exists and belongs to another owner";
                    outcome.object = nullptr;
                }
            } else if (outcome.code == 404) {
                outcome.kind = Outcome::Kind::failed;  // It went away in between: try again.
            }
            done(std::move(outcome));
        });
}

}  // namespace muster::control
