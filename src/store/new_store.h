// store/new_store.h - makes a store folder from records that are at hand: whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "store/journal.h"

namespace muster::store {

/// Written beside its place, as a HalfFolder, and put there when it is whole.
class NewStore {
public:
    /// Throws Error when the folder is there and not empty, cannot be made, or has no room.
    explicit NewStore(const std::string& folder);
    /// Removes what is not finished.
    ~NewStore();
    NewStore(const NewStore&) = delete;
    NewStore& operator=(const NewStore&) = delete;

    /// Keys in any order, each once.
    void put(const Record& record);
    /// `revision`: the newest ever given out; the next write gets the one after it.
    void finish(std::int64_t revision);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::store
