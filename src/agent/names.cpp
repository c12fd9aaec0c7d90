// agent/names.cpp - see names.h.
#include "agent/names.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace muster::agent {

namespace {

using api::Value;

bool is_ready(const Value& endpoint) {
    return endpoint["conditions"]["ready"].boolean_or(true);
}

std::string dashed(const std::string& ip) {
    return replace_all(ip, ".", "-");
}

/// "a-b-c-d" as "a.b.c.d"; empty when it is no such name.
std::string undashed(std::string_view text) {
    const auto parts = split(text, '-');
    if (parts.size() != 4) return "";
    std::string ip;
    for (const std::string_view part : parts) {
        const auto number = parse_integer(part);
        if (!number || *number < 0 || *number > 255) return "";
        ip += (ip.empty() ? "" : ".") + std::to_string(*number);
    }
    return ip;
}

NameAnswer addresses(std::vector<std::string> list) {
    return {list.empty() ? NameAnswer::Kind::no_data : NameAnswer::Kind::addresses,
            std::move(list)};
}

/// Slices of a service that are looked at; one has a hundred pods.
constexpr std::size_t kSlicesMax = 100;

/// Where a slice leads: addresses of pods that are ready, and ports by name.
struct PodsOfSlice {
    std::vector<std::string> ready;
    std::map<std::string, int, std::less<>> ports;
    std::size_t work = 0;
};

PodsOfSlice pods_of(const kube::Object& slice, std::size_t most) {
    PodsOfSlice pods;
    for (const Value& port : slice.value["ports"].items()) {
        pods.ports.emplace(port["name"].text(), static_cast<int>(port["port"].integer_or(0)));
        ++pods.work;
    }
    for (const Value& endpoint : slice.value["endpoints"].items()) {
        ++pods.work;
        if (!is_ready(endpoint)) continue;
        for (const Value& address : endpoint["addresses"].items())
            if (pods.ready.size() < most) pods.ready.push_back(address.text());
    }
    return pods;
}

}  // namespace

void NameTable::put_service(const kube::ObjectPtr& service) {
    services_[{service->key.ns, service->key.name}] = service;
    changed_(service->key.ns, service->key.name);
}

void NameTable::remove_service(const api::Key& key) {
    services_.erase({key.ns, key.name});
    changed_(key.ns, key.name);
}

void NameTable::put_slice(const kube::ObjectPtr& slice) {
    const Place place{slice->key.ns, slice->key.name};
    remove_slice(slice->key);
    slices_[place] = slice;
    const std::string service(slice->label("kubernetes.io/service-name"));
    if (service.empty()) return;
    slices_by_service_[{slice->key.ns, service}].insert(place);
    changed_(slice->key.ns, service);
}

void NameTable::remove_slice(const api::Key& key) {
    const auto found = slices_.find({key.ns, key.name});
    if (found == slices_.end()) return;
    const std::string service(found->second->label("kubernetes.io/service-name"));
    const auto list = slices_by_service_.find({key.ns, service});
    if (list != slices_by_service_.end()) {
        list->second.erase(found->first);
        if (list->second.empty()) slices_by_service_.erase(list);
        changed_(key.ns, service);
    }
    slices_.erase(found);
}

std::vector<const kube::Object*> NameTable::slices_of(const Place& service) const {
    std::vector<const kube::Object*> slices;
    const auto found = slices_by_service_.find(service);
    if (found == slices_by_service_.end()) return slices;
    for (const Place& place : found->second)
        slices.push_back(slices_.at(place).get());
    return slices;
}

kube::ObjectPtr NameTable::service(const std::string& ns, const std::string& name) const {
    const auto found = services_.find({ns, name});
    return found == services_.end() ? nullptr : found->second;
}

NameAnswer NameTable::find(std::string_view name) const {
    const std::string lower = to_lower(name);
    std::vector<std::string_view> labels = split(lower, '.');
    const std::size_t count = labels.size();
    if (count < 4 || labels[count - 1] != "local" || labels[count - 2] != "cluster") return {};
    const std::string_view kind = labels[count - 3];
    if (kind == "pod" && count == 5) {
        const std::string ip = undashed(labels[0]);
        return ip.empty() ? NameAnswer{} : addresses({ip});
    }
    if (kind != "svc") return {};
    if (count == 4) {  // "NAMESPACE.svc.cluster.local" holds names but has no address.
        const std::string ns(labels[0]);
        const auto first = services_.lower_bound({ns, ""});
        return first != services_.end() && first->first.first == ns ? addresses({}) : NameAnswer{};
    }
    if (count > 6) return {};
    const Place place{std::string(labels[count - 4]), std::string(labels[count - 5])};
    return find_service(place, count == 6 ? std::string(labels[0]) : "");
}

NameAnswer NameTable::find_service(const Place& place, const std::string& host) const {
    const auto found = services_.find(place);
    if (found == services_.end()) return {};
    const Value& spec = found->second->value["spec"];
    const std::string ip = spec["clusterIP"].text();
    if (ip != "None" && host.empty())
        return addresses(ip.empty() ? std::vector<std::string>{} : std::vector<std::string>{ip});
    const bool unready_too = spec["publishNotReadyAddresses"].boolean_or(false);
    std::set<std::string> list;
    for (const kube::Object* slice : slices_of(place))
        for (const Value& endpoint : slice->value["endpoints"].items()) {
            if (!unready_too && !is_ready(endpoint)) continue;
            for (const Value& address : endpoint["addresses"].items())
                if (host.empty() || to_lower(endpoint["hostname"].text()) == host ||
                    dashed(address.text()) == host)
                    list.insert(address.text());
        }
    if (!host.empty() && list.empty()) return {};
    return addresses({list.begin(), list.end()});
}

std::vector<Value> NameTable::services_in(const std::string& ns) const {
    std::vector<Value> list;
    for (auto at = services_.lower_bound({ns, ""}); at != services_.end() && at->first.first == ns;
         ++at)
        list.push_back(at->second->value);
    return list;
}

ServiceSeen NameTable::forwards_of(const std::string& ns, const std::string& service,
                                   const ForwardBounds& bounds) const {
    ServiceSeen seen;
    const Place place{ns, service};
    const auto found = services_.find(place);
    if (found == services_.end() || place == Place{"default", "kubernetes"}) return seen;
    const Value& spec = found->second->value["spec"];
    const std::string ip = spec["clusterIP"].text();
    if (ip.empty() || ip == "None") return seen;
    std::vector<PodsOfSlice> slices;
    for (const kube::Object* slice : slices_of(place)) {
        if (slices.size() == kSlicesMax) break;
        slices.push_back(pods_of(*slice, bounds.pods_behind_each));
        seen.work += slices.back().work;
    }
    for (const Value& port : spec["ports"].items()) {
        ++seen.work;
        if (port["protocol"].text_or("TCP") != "TCP") continue;
        if (seen.addresses.size() >= bounds.addresses) {
            ++seen.left_out;
            continue;
        }
        std::vector<Endpoint>& behind =
            seen.addresses[{ip, static_cast<int>(port["port"].integer_or(0))}];
        const std::size_t most = seen.pods < bounds.pods ? bounds.pods_behind_each : std::size_t{1};
        for (const PodsOfSlice& slice : slices) {
            ++seen.work;
            const auto to = slice.ports.find(port["name"].text());
            if (to == slice.ports.end()) continue;
            for (const std::string& pod : slice.ready)
                if (behind.size() < most) behind.push_back({pod, to->second});
        }
        std::sort(behind.begin(), behind.end());
        seen.pods += behind.size();
        seen.work += behind.size();
    }
    return seen;
}

}  // namespace muster::agent
