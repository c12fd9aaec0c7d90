// apps/operator/conversion_look.cpp - definitions, then the Services that they name.
#include "apps/operator/conversion_look.h"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "control/webhooks/configuration.h"
#include "kube/request.h"

namespace muster::on_cluster {
namespace {

const kube::Target definitions{{"apiextensions.k8s.io", "customresourcedefinitions"}, "v1"};
const kube::Target services{{"", "services"}, "v1"};

/// What has been found so far.
struct Look {
    std::map<api::Key, std::vector<std::string>> named;  // Kinds by the Service of their converter.
    std::size_t left = 0;
    std::function<void(std::string)> tell;
};

void ask_for_services(kube::Transport& transport, const std::shared_ptr<Look>& look) {
    for (const auto& [service, kinds] : look->named) {
        transport.send(
            kube::get(services, service.ns, service.name),
            [look, service = service, kinds = kinds](const net::Response& response) {
                if (response.status != 404) return;
                look->tell("nobody converts the versions of " + join(kinds, ", ") +
                           ": their definitions name the Service " + service.ns + "/" +
                           service.name +
                           ", which is not there. Let this program serve webhooks (--webhooks), or "
                           "apply `muster crds --no-conversion --missing`; definitions that "
                           "somebody else brought stay as they are then: take their "
                           "spec.conversion away");
            });
    }
}

}  // namespace

std::optional<api::Key> converter_of(const api::Value& definition) {
    const api::Value& conversion = definition["spec"]["conversion"];
    if (conversion["strategy"].text_or("") != "Webhook") return std::nullopt;
    const api::Value& service = conversion["webhook"]["clientConfig"]["service"];
    if (!service.is_object()) return std::nullopt;
    return api::Key{services.resource, service["namespace"].text(), service["name"].text()};
}

void look_for_converters(kube::Transport& transport, std::function<void(std::string)> tell) {
    const auto look = std::make_shared<Look>();
    look->tell = std::move(tell);
    const std::vector<api::GroupResource> kinds = control::webhooks::converted_kinds();
    look->left = kinds.size();
    for (const api::GroupResource& kind : kinds) {
        const std::string name = kind.plural + "." + kind.group;
        transport.send(kube::get(definitions, "", name), [&transport, look,
                                                          name](const net::Response& response) {
            const auto service =
                response.status == 200 ? converter_of(kube::body_of(response)) : std::nullopt;
            if (service) look->named[*service].push_back(name);
            if (--look->left == 0) ask_for_services(transport, look);
        });
    }
}

}  // namespace muster::on_cluster
