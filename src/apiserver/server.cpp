// apiserver/server.cpp - the story of a request: who asks, for what, may they, then the verb.
#include "apiserver/server.h"

#include <algorithm>
#include <utility>

#include "api/crd.h"
#include "apiserver/answer.h"
#include "apiserver/authenticate.h"
#include "apiserver/authorize.h"
#include "apiserver/bootstrap.h"
#include "apiserver/commit.h"
#include "apiserver/decode.h"
#include "apiserver/discovery.h"
#include "apiserver/exchange.h"
#include "apiserver/health.h"
#include "apiserver/measure.h"
#include "apiserver/read.h"
#include "apiserver/remove.h"
#include "apiserver/renew_stored.h"
#include "apiserver/request_options.h"
#include "apiserver/reviews.h"
#include "apiserver/stored.h"
#include "apiserver/stored_problem.h"
#include "apiserver/subresources.h"
#include "apiserver/turns.h"
#include "apiserver/watch.h"
#include "apiserver/write.h"

namespace muster::apiserver {
namespace {

/// Whether the group is the server's own; the paths of all others are only known while somebody has
/// defined them.
bool is_built_in(std::string_view group) {
    const std::vector<api::Kind>& kinds = api::all_kinds();
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const api::Kind& kind) { return kind.group == group && !kind.custom; });
}

/// Finds kind and version of the path; the reviews have none that is kept.
void find_served(Context& context, Exchange& exchange) {
    const Route& route = exchange.route;
    exchange.held = context.kinds.find_shared(route.group, route.plural);
    exchange.kind = exchange.held.get();
    const bool custom =
        exchange.kind != nullptr ? exchange.kind->custom : !is_built_in(route.group);
    const auto nothing_there = [&] { return custom ? page_not_found() : no_such_resource(); };
    if (exchange.kind == nullptr) throw nothing_there();
    exchange.version = exchange.kind->find_version(route.version);
    if (exchange.version == nullptr) throw nothing_there();
    if (!exchange.kind->namespaced && !route.ns.empty()) throw nothing_there();
    if (exchange.kind->namespaced && route.ns.empty() && !route.name.empty() &&
        route.verb != "watch") {
        throw nothing_there();
    }
    if (exchange.kind->namespaced && route.ns.empty() && route.verb == "create")
        throw custom ? page_not_found() : method_not_allowed();
    const bool passed_on = route.subresource == "proxy";
    if (exchange.request.method == "HEAD" && !custom && !passed_on) throw method_not_allowed();
    if (exchange.version->deprecated) {
        exchange.warnings.push_back(api::deprecation_warning(*exchange.kind, *exchange.version));
    }
}

/// Who cannot be answered hears all the same that the version is deprecated.
void warn_of_custom_version(Context& context, Exchange& exchange) {
    const Route& route = exchange.route;
    const auto kind = context.kinds.find_shared(route.group, route.plural);
    if (kind == nullptr || !kind->custom) return;
    const api::Version* version = kind->find_version(route.version);
    if (version != nullptr && version->deprecated)
        exchange.warnings.push_back(api::deprecation_warning(*kind, *version));
}

bool is_namespaces(const api::Kind& kind) {
    return kind.group.empty() && kind.plural == "namespaces";
}

/// Answers what is only looked at. False: the path is none of that.
bool serve_view(Context& context, const ExchangePtr& exchange) {
    const Route& route = exchange->route;
    for (const Server::View& view : context.views) {
        const bool named = route.ns.empty() == (view.scope == Server::View::Scope::cluster) &&
                           std::find(view.versions.begin(), view.versions.end(), route.version) !=
                               view.versions.end();
        if (route.group != view.resource.group || route.plural != view.resource.plural ||
            route.subresource != view.subresource || route.name.empty() || !named) {
            continue;
        }
        if (route.verb != "get") throw method_not_allowed();
        view.answer(exchange->request, {view.resource, route.ns, route.name}, exchange->responder);
        return true;
    }
    return false;
}

/// POST bindings is POST pods/NAME/binding with the name in the body only.
void name_bound_pod(Exchange& exchange) {
    const api::Value binding = typed_body(exchange, "v1", "Binding");
    exchange.route.plural = "pods";
    exchange.route.name = binding["metadata"]["name"].text();
    exchange.route.subresource = "binding";
}

void serve_resource(Context& context, const ExchangePtr& exchange) {
    const Route& route = exchange->route;
    if (serve_view(context, exchange)) return;
    if (const api::Kind* review = find_review(route); review != nullptr && route.name.empty()) {
        if (review->kind != "Binding") {
            serve_review(context, exchange, *review);
            return;
        }
        if (route.verb == "create") name_bound_pod(*exchange);
    }
    find_served(context, *exchange);
    describe(context, *exchange);
    const std::string& verb = route.verb;
    if (verb == "create" || verb == "update") check_write_options(*exchange);
    const bool status = route.subresource == "status" && exchange->kind->has_status;
    if (!route.subresource.empty() && !status) {
        serve_subresource(context, exchange);
    } else if (verb == "get") {
        serve_get(context, exchange);
    } else if (verb == "list") {
        serve_list(context, exchange);
    } else if (verb == "watch") {
        serve_watch(context, exchange);
    } else if (verb == "create" && !status && (route.name.empty() || exchange->kind->custom)) {
        if (!exchange->kind->caveat.empty()) exchange->warnings.push_back(exchange->kind->caveat);
        serve_create(context, exchange);
    } else if (verb == "update" && !route.name.empty()) {
        serve_update(context, exchange);
    } else if (verb == "patch" && !route.name.empty()) {
        serve_patch(context, exchange);
    } else if ((verb == "update" || verb == "patch") && exchange->kind->custom) {
        throw bad_request("name must be provided");
    } else if (verb == "delete" && !status) {
        serve_delete(context, exchange);
    } else if (verb == "deletecollection" && !status && !is_namespaces(*exchange->kind)) {
        serve_delete_collection(context, exchange);
    } else {
        throw exchange->kind->custom
            ? method_not_allowed(exchange->kind->resource(), exchange->request.method, verb)
            : method_not_allowed();
    }
}

void serve(Context& context, const ExchangePtr& exchange) {
    if (context.stopping) throw unavailable("the server is stopping");
    const Route& route = exchange->route;
    const bool node_answers = route.subresource == "proxy" || route.subresource == "log" ||
                              route.subresource == "exec" || route.subresource == "attach" ||
                              route.subresource == "portforward";
    const auto form = negotiate(exchange->request);
    if (form) exchange->form = *form;
    authorize(context, *exchange);
    if (!route.is_resource) {
        if (serve_metrics(context, *exchange)) return;
        if (serve_health(*exchange) || serve_discovery(context, exchange)) return;
        throw page_not_found();
    }
    if (!form && !node_answers) {
        warn_of_custom_version(context, *exchange);
        throw StatusError(Reason::not_acceptable,
                          "only the following media types are accepted: application/json, "
                          "application/yaml");
    }
    serve_resource(context, exchange);
}

/// What came in by an import, or by hand, may be no object.
void index_stored(Context& context, const store::Entry& entry) {
    // Events are many, and little is asked of them.
    if (!entry.key.starts_with("/core/events/")) check_stored(entry);
    std::string problem;
    try {
        const api::Value object = read_stored(*entry.value);
        problem = identity_problem(entry.key, object);
        if (problem.empty()) index_object(context, entry.key, object, entry.revision);
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (!problem.empty()) refuse_stored(entry.key, problem);
}

}  // namespace

struct Server::State {
    State(store::Store& store, Loop& loop, Options options)
        : context(store, loop, std::move(options)) {}
    Context context;
};

Server::Server(store::Store& store, Loop& loop, Options options)
    : state_(std::make_unique<State>(store, loop, std::move(options))) {
    Context& context = state_->context;
    context.requests = std::make_shared<RequestMetrics>(*context.metrics);
    for (const char* prefix :
         {"/admissionregistration.k8s.io/", "/apiextensions.k8s.io/", "/rbac.authorization.k8s.io/",
          "/core/namespaces/", "/core/services/", "/core/events/"}) {
        constexpr std::size_t all = 1u << 30;
        for (const store::Entry& entry : store.range(prefix, "", all)) {
            index_stored(context, entry);
        }
    }
    count_stored(context);
    order_events(context);
    expire_events(context);
}

Server::~Server() {
    stop();
}

namespace {

ExchangePtr begin_exchange(Context& context, net::Request request,
                           std::shared_ptr<net::Responder> responder) {
    auto exchange = std::make_shared<Exchange>();
    exchange->request = std::move(request);
    exchange->responder = std::move(responder);
    exchange->responder = measured(context, *exchange);
    exchange->turns = context.turns;
    exchange->route = parse_route(exchange->request);
    return exchange;
}

/// The way back of a head: an answer is a refusal.
class Refused final : public net::Responder {
public:
    explicit Refused(std::function<void(net::Verdict)> decided) : decided_(std::move(decided)) {}
    void respond(net::Response response) override {
        net::Verdict verdict;
        verdict.refusal = std::move(response);
        decided_(std::move(verdict));
    }
    void begin(net::Response head) override { respond(std::move(head)); }
    void write(Bytes) override {}
    void finish() override {}
    std::size_t buffered() const override { return 0; }
    net::Backlog backlog() const override { return nullptr; }
    void on_closed(std::function<void()>) override {}
    std::shared_ptr<net::Channel> upgrade_websocket(std::string) override { return nullptr; }
    std::shared_ptr<net::Channel> upgrade_raw(net::Response) override { return nullptr; }

private:
    std::function<void(net::Verdict)> decided_;
};

}  // namespace

void Server::handle(net::Request request, std::shared_ptr<net::Responder> responder) {
    Context& context = state_->context;
    const auto exchange = begin_exchange(context, std::move(request), std::move(responder));
    guarded(exchange, [&context, exchange] {
        in_turn(context, exchange, [&context, exchange] { serve(context, exchange); });
    });
}

void Server::admit(net::Request head, const std::function<void(net::Verdict)>& decided) {
    Context& context = state_->context;
    const auto exchange =
        begin_exchange(context, std::move(head), std::make_shared<Refused>(decided));
    guarded(exchange, [&context, exchange, decided] {
        in_turn(context, exchange, [&context, exchange, decided] {
            if (context.stopping) throw unavailable("the server is stopping");
            authorize(context, *exchange);
            net::Verdict verdict;
            verdict.account = exchange->account;
            verdict.admitted = std::make_shared<const User>(exchange->user);
            decided(std::move(verdict));
        });
    });
}

void Server::set_node(Node* node) {
    state_->context.node = node;
}

void Server::set_webhook_caller(WebhookCaller* caller) {
    state_->context.caller = caller;
}

void Server::add_admission(api::AdmissionHook hook) {
    state_->context.hooks.push_back(std::move(hook));
}

void Server::add_connection_check(ConnectionCheck check) {
    state_->context.connection_checks.push_back(std::move(check));
}

void Server::add_view(View view) {
    state_->context.views.push_back(std::move(view));
}

void Server::add_answer(api::GroupResource resource, std::string subresource, Answer answer) {
    state_->context.answers[{std::move(resource), std::move(subresource)}] = std::move(answer);
}

void Server::bootstrap(std::function<void()> done) {
    renew_stored(state_->context);
    create_what_every_cluster_has(state_->context, std::move(done));
}

void Server::stop() {
    Context& context = state_->context;
    context.stopping = true;
    const auto watches = context.watches;
    for (const auto& watch : watches) {
        watch->end();
    }
}

}  // namespace muster::apiserver
