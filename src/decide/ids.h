// decide/ids.h - small numbers that stand for names inside the core; names stay at the border.
#pragma once

#include <algorithm>
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

/// A name that knows about where it stands among all names of its kind: of two the one with the
/// lower rank comes first, and only with equal ranks the texts are looked at.
struct RankedName {
    std::uint64_t rank = 0;
    const std::string* text = nullptr;  // Lives as long as its id.

    friend bool operator<(const RankedName& a, const RankedName& b) {
        return a.rank != b.rank ? a.rank < b.rank : *a.text < *b.text;
    }
};

/// Names and their ids, both ways. Ids are dense and start at 0; a released one is given out again.
/// Copies share the names. Ids depend on the order of arrival, so no order that can be seen outside
/// may come from them; nor from ranks, other than the one of the texts.
template <class Id>
class Names {
public:
    /// The id of `name`, new if need be.
    Id id_of(std::string_view name) {
        const auto [below, above] = ids_.around(name);
        if (above != nullptr && above->key == name) return above->value;
        Known known = between(below, above);
        known.text = std::make_shared<const std::string>(name);
        const std::string_view text = *known.text;
        Id id{};
        if (free_.empty()) {
            id = static_cast<Id>(names_.size());
            names_.push_back(std::move(known));
        } else {
            id = free_.back();
            free_.pop_back();
            names_.edit(index(id)) = std::move(known);
        }
        ids_.insert(text, id);
        return id;
    }

    std::optional<Id> find(std::string_view name) const {
        const Id* found = ids_.find(name);
        return found == nullptr ? std::nullopt : std::optional(*found);
    }

    const std::string& name_of(Id id) const { return *known(id).text; }
    RankedName ranked(Id id) const { return {known(id).rank, known(id).text.get()}; }

    void release(Id id) {
        ids_.erase(name_of(id));
        names_.edit(index(id)) = {};
        free_.push_back(id);
    }

    /// One more than the largest id given out.
    std::size_t limit() const { return names_.size(); }

    /// All that are in use, by name.
    const PersistentMap<std::string_view, Id>& by_name() const { return ids_; }

private:
    struct Known {
        std::shared_ptr<const std::string> text;  // Null: not in use.
        std::uint64_t rank = 0;
        std::uint32_t serial = 0;  // Newer ones have larger ones.
        // How many that came before it came right behind each other, upwards or downwards.
        std::uint8_t run_up = 0;
        std::uint8_t run_down = 0;
    };
    using Entry = typename PersistentMap<std::string_view, Id>::Entry;

    const Known& known(Id id) const {
        VERIFY(index(id) < names_.size() && names_[index(id)].text != nullptr);
        return names_[index(id)];
    }

    // Anywhere between its neighbours, and where there is no room like the lower one. Names often
    // come in their order, up or down, also in several places by turns: then most of the room is
    // left for those that follow.
    Known between(const Entry* below, const Entry* above) {
        static constexpr std::uint8_t run_min = 3;
        const Known* low = below == nullptr ? nullptr : &known(below->value);
        const Known* high = above == nullptr ? nullptr : &known(above->value);
        const bool goes_up = low != nullptr && (high == nullptr || low->serial > high->serial);
        const bool goes_down = high != nullptr && !goes_up;
        Known made;
        made.serial = ++serial_;
        if (goes_up) made.run_up = std::min<std::uint8_t>(run_min, low->run_up + 1);
        if (goes_down) made.run_down = std::min<std::uint8_t>(run_min, high->run_down + 1);
        const std::uint64_t from = low == nullptr ? 0 : low->rank;
        const std::uint64_t to = high == nullptr ? UINT64_MAX : high->rank;
        const std::uint64_t step = std::min((to - from) / 64, std::uint64_t{1} << 42);
        made.rank = from + (to - from) / 2;
        if (made.run_up == run_min) made.rank = from + step;
        if (made.run_down == run_min) made.rank = to - step;
        return made;
    }

    PersistentVector<Known> names_;
    PersistentMap<std::string_view, Id> ids_;  // The views point into `names_`.
    std::vector<Id> free_;
    std::uint32_t serial_ = 0;
};

}  // namespace muster::decide
