// api/managed_fields.cpp - reading, writing and bounding metadata.managedFields.
#include "api/managed_fields.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

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
    auto count = static_cast<std::size_t>(std::count_if(owners.begin(), owners.end(), is_updater));
    if (count <= updaters_max) return;
    std::sort(owners.begin(), owners.end(), written_before);
    std::map<std::string, std::size_t> of_version;  // How many updaters wrote in it.
    for (const FieldOwner& owner : owners) {
        if (is_updater(owner)) ++of_version[owner.api_version];
    }
    // The oldest goes into the next one that wrote in the same version.
    std::map<std::string, std::vector<FieldSet>> folded;
    std::vector<FieldOwner> kept;
    for (FieldOwner& owner : owners) {
        const bool folds =
            is_updater(owner) && count > updaters_max && of_version[owner.api_version] > 1;
        if (folds) {
            --count;
            --of_version[owner.api_version];
            folded[owner.api_version].push_back(std::move(owner.set));
            continue;
        }
        if (is_updater(owner) && folded.contains(owner.api_version)) {
            auto older = folded.extract(owner.api_version);
            older.mapped().push_back(std::move(owner.set));
            owner.set = field_union(std::move(older.mapped()));
            owner.manager = folded_manager;
            owner.subresource.clear();
        }
        kept.push_back(std::move(owner));
    }
    owners = std::move(kept);
}

}  // namespace muster::api
