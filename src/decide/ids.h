// decide/ids.h - small numbers that stand for names inside the core; names stay at the border.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/persistent_map.h"
#include "base/persistent_vector.h"
#include "base/verify.h"

namespace muster::decide {

enum class ResourceId : std::uint32_t {};
enum class FlavorId : std::uint32_t {};
enum class QueueId : std::uint32_t {};
enum class LocalQueueId : std::uint32_t {};
enum class CohortId : std::uint32_t {};
enum class WorkloadId : std::uint32_t {};
enum class NodeId : std::uint32_t {};

template <class Id>
constexpr std::size_t index(Id id) {
    return static_cast<std::size_t>(id);
}

/// A resource of one flavor: the unit of quota.
struct FlavorResource {
    FlavorId flavor{};
    ResourceId resource{};
    friend auto operator<=>(const FlavorResource&, const FlavorResource&) = default;
};

/// Names and their ids, both ways. Ids are dense and start at 0; a released one is given out again.
/// Copies share the names. Ids depend on the order of arrival, so no order that can be seen outside
/// may come from them.
template <class Id>
class Names {
public:
    /// The id of `name`, new if need be.
    Id id_of(std::string_view name) {
        if (const Id* found = ids_.find(name)) return *found;
        auto text = std::make_shared<const std::string>(name);
        Id id{};
        if (free_.empty()) {
            id = static_cast<Id>(names_.size());
            names_.push_back(text);
        } else {
            id = free_.back();
            free_.pop_back();
            names_.edit(index(id)) = text;
        }
        ids_.insert(*text, id);
        return id;
    }

    std::optional<Id> find(std::string_view name) const {
        const Id* found = ids_.find(name);
        return found == nullptr ? std::nullopt : std::optional(*found);
    }

    const std::string& name_of(Id id) const { return *shared_name_of(id); }

    const std::shared_ptr<const std::string>& shared_name_of(Id id) const {
        VERIFY(index(id) < names_.size() && names_[index(id)] != nullptr);
        return names_[index(id)];
    }

    void release(Id id) {
        ids_.erase(name_of(id));
        names_.edit(index(id)) = nullptr;
        free_.push_back(id);
    }

    /// One more than the largest id given out.
    std::size_t limit() const { return names_.size(); }

    /// All that are in use, by name.
    const PersistentMap<std::string_view, Id>& by_name() const { return ids_; }

private:
    PersistentVector<std::shared_ptr<const std::string>> names_;
    PersistentMap<std::string_view, Id> ids_;  // The views point into `names_`.
    std::vector<Id> free_;
};

}  // namespace muster::decide
