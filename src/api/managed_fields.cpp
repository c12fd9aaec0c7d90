// api/managed_fields.cpp - reading, writing and bounding metadata.managedFields.
#include "api/managed_fields.h"

#include <algorithm>
#include <tuple>

#include "base/time.h"

namespace muster::api {
namespace {

constexpr std::size_t updaters_max = 10;
constexpr const char* folded_manager = "ancient-changes";

std::int64_t seconds_of(const std::string& time) {
    const std::optional<Time> read = parse_rfc3339(time);
    return read ? read->since_epoch / 1'000'000'000 : 0;
}

bool is_updater(const FieldOwner& owner) {
    return owner.operation == FieldOwner::Operation::update;
}

bool written_before(const FieldOwner& a, const FieldOwner& b) {
    return std::tuple(a.operation, seconds_of(a.time), std::tie(a.manager, a.api_version),
                      std::string_view(a.subresource)) <
           std::tuple(b.operation, seconds_of(b.time), std::tie(b.manager, b.api_version),
                      std::string_view(b.subresource));
}

}  // namespace

bool same_owner(const FieldOwner& a, const FieldOwner& b) {
    return a.manager == b.manager && a.operation == b.operation && a.subresource == b.subresource &&
           (!is_updater(a) || a.api_version == b.api_version);
}

std::optional<std::vector<FieldOwner>> parse_managed_fields(const Value& managed_fields) {
    std::vector<FieldOwner> owners;
    for (const Value& entry : managed_fields.items()) {
        const std::string_view operation = entry["operation"].text_or("");
        if (operation != "Apply" && operation != "Update") return std::nullopt;
        if (entry["apiVersion"].text_or("").empty()) return std::nullopt;
        if (entry["fieldsType"].text_or("") != "FieldsV1") return std::nullopt;
        std::optional<FieldSet> set;
        if (entry["fieldsV1"].is_null()) {
            set = FieldSet();
        } else {
            set = parse_fields_v1(entry["fieldsV1"]);
        }
        if (!set) return std::nullopt;
        owners.push_back(
            {entry["manager"].text(),
             operation == "Apply" ? FieldOwner::Operation::apply : FieldOwner::Operation::update,
             entry["apiVersion"].text(), entry["subresource"].text(), entry["time"].text(),
             *std::move(set)});
    }
    return owners;
}

Value to_managed_fields(std::vector<FieldOwner> owners) {
    Value entries;
    std::sort(owners.begin(), owners.end(), written_before);
    for (const FieldOwner& owner : owners) {
        Value entry = Value::object();
        entry.set("apiVersion", owner.api_version);
        entry.set("fieldsType", "FieldsV1");
        entry.set("fieldsV1", to_fields_v1(owner.set));
        entry.set("manager", owner.manager);
        entry.set("operation", is_updater(owner) ? "Update" : "Apply");
        if (!owner.subresource.empty()) entry.set("subresource", owner.subresource);
        if (!owner.time.empty()) entry.set("time", owner.time);
        entries.push(std::move(entry));
    }
    return entries;
}

void limit_updaters(std::vector<FieldOwner>& owners) {
    const auto count = [&] { return std::count_if(owners.begin(), owners.end(), is_updater); };
    if (static_cast<std::size_t>(count()) <= updaters_max) return;
    std::sort(owners.begin(), owners.end(), written_before);
    while (static_cast<std::size_t>(count()) > updaters_max) {
        // The oldest, and the next one that wrote in the same version.
        const auto first = std::find_if(owners.begin(), owners.end(), [&](const FieldOwner& owner) {
            return is_updater(owner) &&
                   std::count_if(owners.begin(), owners.end(), [&](const FieldOwner& other) {
                       return is_updater(other) && other.api_version == owner.api_version;
                   }) > 1;
        });
        if (first == owners.end()) return;
        const auto second = std::find_if(first + 1, owners.end(), [&](const FieldOwner& owner) {
            return is_updater(owner) && owner.api_version == first->api_version;
        });
        second->set = field_union(first->set, second->set);
        second->manager = folded_manager;
        second->subresource.clear();
        owners.erase(first);
    }
}

}  // namespace muster::api
