// apps/up/controllers.cpp - gives all controllers to the runner, all admission to the server, and
// brings questions from one to the other.
#include "apps/up/controllers.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/json.h"
#include "api/status.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::up {
namespace {

net::Response json_response(std::string text) {
    net::Response response;
    response.headers.set("Content-Type", "application/json");
    response.body = make_bytes(std::move(text));
    return response;
}

net::Response failure(Reason reason, const std::string& message) {
    net::Response response = json_response(api::to_json(api::failure_status(reason, message)));
    response.status = reason_code(reason);
    return response;
}

net::Response answer_of(const std::optional<std::string>& text, const api::Key& key) {
    if (text) return json_response(*text);
    // The server found the object; the controllers have not seen it yet.
    net::Response response =
        failure(Reason::service_unavailable,
                to_text(key) + " has not been looked at yet; ask again in a moment");
    response.headers.set("Retry-After", "1");
    return response;
}

/// A number of the query; absent when it is none.
std::optional<std::int64_t> number_of(const net::Request& request, const char* name) {
    const std::string_view text = request.query_value(name);
    if (text.empty()) return 0;
    const auto number = parse_integer(text);
    return number && *number >= 0 ? number : std::nullopt;
}

/// "/apis/GROUP/VERSION/..."
std::string version_of(const net::Request& request) {
    constexpr std::size_t place = 3;  // Before it an empty piece, apis and the group.
    const auto pieces = split(request.path, '/');
    return pieces.size() > place ? std::string(pieces[place]) : std::string();
}

constexpr std::int64_t usual_limit = 1'000;
constexpr std::int64_t limit_max = 100'000;

using Ask = std::function<net::Response(const control::Questions& questions, Time now)>;

/// The lists of pending workloads: of a ClusterQueue or a LocalQueue.
apiserver::Server::View pending_workloads(
    apiserver::Server::View::Scope scope,
    const std::function<void(Ask ask, std::shared_ptr<net::Responder> responder)>& ask) {
    const bool cluster = scope == apiserver::Server::View::Scope::cluster;
    const std::string singular = cluster ? "clusterqueue" : "localqueue";
    const auto answer = [ask, singular](const net::Request& request, const api::Key& key,
                                        const std::shared_ptr<net::Responder>& responder) {
        const auto offset = number_of(request, "offset");
        const auto limit = number_of(request, "limit");
        if (!offset || !limit) {
            responder->respond(failure(Reason::bad_request,
                                       "offset and limit are whole numbers that are not negative"));
            return;
        }
        const control::queue::Window window{
            *offset, *limit == 0 ? usual_limit : std::min(*limit, limit_max)};
        const std::string version = version_of(request);
        ask(
            [window, version, key, singular](const control::Questions& questions, Time now) {
                const auto text = questions.pending_workloads(key, version, window, now);
                if (text) return json_response(*text);
                return failure(Reason::not_found, singular + "." + key.resource.group + " \"" +
                                                      key.name + "\" not found");
            },
            responder);
    };
    return {{control::queue::visibility_group, singular + "s"},
            {"v1beta2", "v1beta1"},
            scope,
            singular,
            cluster ? "ClusterQueue" : "LocalQueue",
            "pendingworkloads",
            "PendingWorkloadsSummary",
            answer};
}

}  // namespace

void add_controllers(control::Runner& runner, Loop& control_loop, apiserver::Server& server,
                     Loop& server_loop, const control::ControlPlaneOptions& options,
                     control::queue::Controllers controllers) {
    const auto questions =
        std::make_shared<control::Questions>(control::add_controllers(runner, options));
    for (api::AdmissionHook& hook : control::admission_hooks(options.queues.jobs, controllers))
        server.add_admission(std::move(hook));
    const auto ask = [&control_loop, &server_loop, questions](
                         Ask question, std::shared_ptr<net::Responder> responder) {
        control_loop.post([&control_loop, &server_loop, questions, question = std::move(question),
                           responder = std::move(responder)]() mutable {
            net::Response answer = question(*questions, control_loop.now());
            server_loop.post([responder = std::move(responder), answer = std::move(answer)] {
                responder->respond(answer);
            });
        });
    };
    const auto why = [ask](const net::Request&, const api::Key& key,
                           std::shared_ptr<net::Responder> responder) {
        ask([key](const control::Questions& asked,
                  Time now) { return answer_of(asked.why(key, now), key); },
            std::move(responder));
    };
    for (const api::GroupResource& resource : control::explainable())
        server.add_answer(resource, "why", why);
    using Scope = apiserver::Server::View::Scope;
    for (const Scope scope : {Scope::cluster, Scope::namespaced})
        server.add_view(pending_workloads(scope, ask));
}

}  // namespace muster::up
