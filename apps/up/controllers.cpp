// apps/up/controllers.cpp - gives all controllers to the runner, all admission to the server, and
// brings questions from one to the other.
#include "apps/up/controllers.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/json.h"
#include "base/error.h"

namespace muster::up {
namespace {

net::Response answer_of(const std::optional<std::string>& text, const api::Key& key) {
    net::Response response;
    response.headers.set("Content-Type", "application/json");
    if (text) {
        response.body = make_bytes(*text);
        return response;
    }
    // The server found the object; the controllers have not seen it yet.
    const api::Value status = api::Value::object(
        {{"kind", "Status"},
         {"apiVersion", "v1"},
         {"metadata", api::Value::object()},
         {"status", "Failure"},
         {"message", to_text(key) + " has not been looked at yet; ask again in a moment"},
         {"reason", reason_word(Reason::service_unavailable)},
         {"code", reason_code(Reason::service_unavailable)}});
    response.status = reason_code(Reason::service_unavailable);
    response.headers.set("Retry-After", "1");
    response.body = make_bytes(api::to_json(status));
    return response;
}

}  // namespace

void add_controllers(control::Runner& runner, Loop& control_loop, apiserver::Server& server,
                     Loop& server_loop, const control::ControlPlaneOptions& options) {
    const auto questions =
        std::make_shared<control::Questions>(control::add_controllers(runner, options));
    for (api::AdmissionHook& hook : control::admission_hooks(options.queues.jobs))
        server.add_admission(std::move(hook));
    const auto ask = [&control_loop, &server_loop, questions](
                         const net::Request&, const api::Key& key,
                         std::shared_ptr<net::Responder> responder) {
        control_loop.post([&control_loop, &server_loop, questions, key,
                           responder = std::move(responder)]() mutable {
            net::Response answer = answer_of(questions->why(key, control_loop.now()), key);
            server_loop.post([responder = std::move(responder), answer = std::move(answer)] {
                responder->respond(answer);
            });
        });
    };
    for (const api::GroupResource& resource : control::explainable())
        server.add_answer(resource, "why", ask);
}

}  // namespace muster::up
