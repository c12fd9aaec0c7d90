// apiserver/known_claims.h - claims of the tokens seen lately, so that their signatures are checked
// once.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "api/value.h"

namespace muster::apiserver {

/// By the hash of the token. When there are too many the oldest goes, one for each that comes: who
/// brings many tokens makes few of the others' be checked again.
class KnownClaims {
public:
    static constexpr std::size_t kept_max = 1000;

    /// Null: not seen lately.
    const api::Value* find(const std::string& token_hash) const {
        const auto found = claims_.find(token_hash);
        return found == claims_.end() ? nullptr : &found->second;
    }
    void keep(const std::string& token_hash, api::Value claims) {
        if (!claims_.emplace(token_hash, std::move(claims)).second) return;
        order_.push_back(token_hash);
        if (order_.size() <= kept_max) return;
        claims_.erase(order_.front());
        order_.pop_front();
    }

private:
    std::map<std::string, api::Value> claims_;
    std::deque<std::string> order_;
};

}  // namespace muster::apiserver
