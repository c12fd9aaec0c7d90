// apiserver/exchange.h - one request on its way through the server, and what the parts of the
// server share.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admission.h"
#include "api/kind.h"
#include "apiserver/event_expiries.h"
#include "apiserver/known_claims.h"
#include "apiserver/media.h"
#include "apiserver/rbac.h"
#include "apiserver/route.h"
#include "apiserver/selector.h"
#include "apiserver/server.h"
#include "apiserver/service_addresses.h"
#include "apiserver/status_error.h"
#include "apiserver/user.h"
#include "apiserver/webhook_rules.h"
#include "net/http.h"
#include "store/store.h"

namespace muster::apiserver {

class RequestMetrics;
class WatchStream;
class WebhookCaller;
struct KnownConversions;
struct Turns;

/// Where requests wait for their turns.
std::shared_ptr<Turns> make_turns(Loop& loop);

/// A request, taken apart, and the way back.
struct Exchange {
    net::Request request;
    std::shared_ptr<net::Responder> responder;
    Route route;
    User user;
    bool identified = false;                // `user` is who asks.
    std::string client;                     // Whose time its steps take; empty: the server's own.
    std::shared_ptr<Turns> turns;           // Where that is counted.
    std::shared_ptr<net::Account> account;  // What is held for `user`; null in-process.
    Form form;
    const api::Kind* kind = nullptr;        // Null when the path names none.
    std::shared_ptr<const api::Kind> held;  // `kind`, which may be removed while the answer waits.
    const api::Version* version = nullptr;  // Not null when `kind` is not.
    std::vector<std::string> warnings;      // Go out as Warning headers.
    bool answered = false;                  // An answer has begun; there can be no other.
    std::string chosen_name;                // Of the object to create, when the server made one up.
    int repeats = 0;  // How often a write began anew, because others came before it.
    std::shared_ptr<KnownConversions> conversions;  // Null until a webhook was asked.
    /// What the answer is counted as: dry_run, group, resource, scope, subresource, verb, version.
    std::shared_ptr<std::vector<std::string>> described =
        std::make_shared<std::vector<std::string>>(7);

    bool is_dry_run() const { return request.query_value("dryRun") == "All"; }
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// One change as watchers encode it: trees are made once, encoded lines are shared.
struct SharedChange {
    store::Revision revision = 0;
    /// The object on one side of the change.
    struct Side {
        std::shared_ptr<const api::Value> tree;  // Null until needed.
        std::optional<LabelIndex> labels;        // Of the tree.
        int looks = 0;                           // Watches that looked through its text instead.
    };
    Side before;
    Side after;
    std::map<std::string, Bytes, std::less<>> lines;  // By form and type.
};

/// An OpenAPI document and its hash, which is part of its address: clients keep it for ever.
struct OpenApiDocument {
    Bytes json;
    std::string hash;
};

/// The state of the server. One thread.
struct Context {
    Context(store::Store& the_store, Loop& the_loop, Options the_options)
        : store(the_store),
          loop(the_loop),
          options(std::move(the_options)),
          random(options.random),
          addresses(options.service_cidr),
          metrics(options.metrics ? options.metrics : std::make_shared<Metrics>()),
          turns(make_turns(the_loop)) {}

    store::Store& store;
    Loop& loop;
    Options options;
    Random random;
    api::Kinds kinds;  // All that is served.
    Node* node = nullptr;
    std::vector<api::AdmissionHook> hooks;
    std::vector<Server::ConnectionCheck> connection_checks;
    std::map<std::pair<api::GroupResource, std::string>, Server::Answer> answers;
    WebhookCaller* caller = nullptr;  // The way to webhooks; null: there is none.
    std::vector<Server::View> views;

    // Indexes, told of every staged write (see commit.h).
    Rbac rbac;
    Webhooks webhooks;
    ServiceAddresses addresses;
    std::shared_ptr<Metrics> metrics;
    std::shared_ptr<RequestMetrics> requests;             // Of `metrics`; set by the server.
    std::map<std::string, bool, std::less<>> namespaces;  // Name to "is terminating".
    std::map<std::string, api::NamespaceSecurity, std::less<>> pod_security;  // By namespace.
    std::set<std::string, std::less<>> default_priorities;  // PriorityClasses that are the default.
    EventExpiries event_expiries;
    EventTotals event_totals;   // Staged writes included.
    bool trims_events = false;  // A timer for it runs.
    ObjectTotals totals;        // Staged writes included.

    /// Trees of staged writes, so that watchers need not parse them again.
    std::map<store::Revision, std::shared_ptr<const api::Value>> fresh_trees;
    SharedChange shared;
    /// The definitions that users brought, by their names.
    struct Definition {
        api::GroupResource resource;
        std::string print;    // Of what its kind was made of; empty: it is not served yet.
        bool ending = false;  // It is being deleted, with all its objects.
    };
    std::map<std::string, Definition, std::less<>> definitions;
    /// By path ("apis/batch/v1"), those that were asked for.
    std::map<std::string, OpenApiDocument> open_api;
    std::set<std::shared_ptr<WatchStream>> watches;
    /// Claims of service account tokens seen lately, by the hash of the token.
    KnownClaims known_claims;
    /// Answers that wait until a revision is durable.
    std::multimap<store::Revision, std::function<void()>> waiting;
    bool stopping = false;
    std::shared_ptr<Turns> turns;
    /// Long texts that answers under way share, by what was asked for and the revision.
    std::map<std::string, std::weak_ptr<const net::Rope>, std::less<>> texts;
    /// Bytes of watch events that somebody still has to take.
    std::shared_ptr<std::atomic<std::size_t>> backlog =
        std::make_shared<std::atomic<std::size_t>>(0);
    bool ending_laggards = false;
    /// Callbacks that may come after the server's end hold it weakly.
    std::shared_ptr<int> alive = std::make_shared<int>(0);
};

/// Runs a step of a request; a refusal becomes its answer, or goes to `refuse` when that is given.
/// A step that lacks what a webhook knows is done again when that is there. One of the three
/// catches of the program.
void guarded(const ExchangePtr& exchange, const std::function<void()>& step,
             const std::function<void(const StatusError&)>& refuse = nullptr);

}  // namespace muster::apiserver
