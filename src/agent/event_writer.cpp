// agent/event_writer.cpp - see event_writer.h.
#include "agent/event_writer.h"

#include "base/hash.h"
#include "base/text.h"
#include "kube/request.h"

namespace muster::agent {

namespace {
const kube::Target kEvents{{"", "events"}, "v1"};
constexpr std::size_t kKept = 8192;
constexpr std::size_t kMessageLimit = 1024;
}  // namespace

void EventWriter::record(const api::Value& object, const PodEvent& event) {
    using api::Value;
    const Value& metadata = object["metadata"];
    const std::string kind(object["kind"].text_or("Pod"));
    const std::string writer = kind == "Pod" ? "kubelet" : "kube-proxy";
    const std::string host = object["spec"]["nodeName"].text();
    const std::string ns = metadata["namespace"].text();
    const std::string uid = metadata["uid"].text();
    const auto hash = stable_hash(event.message, stable_hash(event.reason, stable_hash(uid)));
    const std::string name = metadata["name"].text().substr(0, 200) + "." + to_digits(hash);
    const std::string now = to_rfc3339(loop_.now());
    if (counts_.size() > kKept) counts_.clear();
    const std::int64_t count = ++counts_[ns + "/" + name];
    if (count > 1) {
        transport_.send(
            kube::patch(kEvents, {kEvents.resource, ns, name}, "", "application/merge-patch+json",
                        Value::object({{"count", count}, {"lastTimestamp", now}})),
            [](const net::Response&) {});
        return;
    }
    const Value involved = Value::object({{"apiVersion", "v1"},
                                          {"kind", kind},
                                          {"name", metadata["name"]},
                                          {"namespace", ns},
                                          {"uid", uid},
                                          {"resourceVersion", metadata["resourceVersion"]}});
    const Value body =
        Value::object({{"apiVersion", "v1"},
                       {"kind", "Event"},
                       {"metadata", Value::object({{"name", name}, {"namespace", ns}})},
                       {"involvedObject", involved},
                       {"type", event.type},
                       {"reason", event.reason},
                       {"message", std::string(utf8_prefix(event.message, kMessageLimit))},
                       {"source", Value::object({{"component", writer}, {"host", host}})},
                       {"reportingComponent", writer},
                       {"reportingInstance", host},
                       {"firstTimestamp", now},
                       {"lastTimestamp", now},
                       {"count", 1}});
    transport_.send(kube::create(kEvents, ns, name, "", body), [](const net::Response&) {});
}

}  // namespace muster::agent
