// net/ledger.cpp - adds and takes off.
#include "net/ledger.h"

#include <utility>

namespace muster::net {

std::shared_ptr<Account> Ledger::account(const std::string& name, Rank rank) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<Account>& place = accounts_[name];
    if (auto found = place.lock()) return found;
    auto made = std::make_shared<Account>(shared_from_this(), name, rank);
    place = made;
    return made;
}

Account::~Account() {
    const std::lock_guard lock(ledger_->mutex_);
    const auto at = ledger_->accounts_.find(name_);
    // Another one of this name may have been made meanwhile.
    if (at != ledger_->accounts_.end() && at->second.expired()) ledger_->accounts_.erase(at);
}

bool Account::has_room(std::size_t bytes) const {
    if (rank_ == Ledger::Rank::system) return true;
    const Ledger::Limits& limits = ledger_->limits();
    const std::size_t mine = held() + bytes;
    const std::size_t all = ledger_->held() + bytes;
    if (all <= limits.all && mine <= ledger_->free()) return true;
    return mine <= limits.little && all <= limits.all + limits.beyond;
}

bool Account::is_over() const {
    return rank_ == Ledger::Rank::ordinary && held() > ledger_->limits().little &&
           held() > ledger_->free();
}

void Account::add(std::size_t bytes) {
    held_ += bytes;
    ledger_->held_ += bytes;
}

void Account::give_back(std::size_t bytes) {
    held_ -= bytes;
    ledger_->held_ -= bytes;
}

std::shared_ptr<Account> Standing::account() const {
    const std::lock_guard lock(mutex_);
    return account_;
}

void Standing::is_of(const std::shared_ptr<Account>& account) {
    const std::size_t cost = ledger_->limits().each_connection;
    const std::lock_guard lock(mutex_);
    const bool was_known = known_.exchange(true);
    if (was_known && account_ == account) return;
    if (was_known) {
        account_->give_back(cost);
    } else {
        ++ledger_->known_;
        too_many_ = !account->has_room(cost);
    }
    account->add(cost);
    account_ = account;
}

Standing::~Standing() {
    if (!known_) return;
    account_->give_back(ledger_->limits().each_connection);
    --ledger_->known_;
}

Charge::Charge(Charge&& other) noexcept
    : account_(std::move(other.account_)),
      standing_(std::move(other.standing_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Charge& Charge::operator=(Charge&& other) noexcept {
    if (this == &other) return *this;
    clear();
    account_ = std::move(other.account_);
    standing_ = std::move(other.standing_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
}

bool Charge::grow(std::size_t bytes) {
    if (!account_) return true;
    if (!account_->has_room(bytes) || (standing_ && !standing_->has_room(bytes))) return false;
    add(bytes);
    return true;
}

bool Charge::set(std::size_t bytes) {
    if (bytes >= bytes_) return grow(bytes - bytes_);
    if (!account_) return true;
    const std::size_t less = bytes_ - bytes;
    account_->give_back(less);
    if (standing_) standing_->held_ -= less;
    bytes_ = bytes;
    return true;
}

void Charge::add(std::size_t bytes) {
    if (!account_) return;
    account_->add(bytes);
    if (standing_) standing_->held_ += bytes;
    bytes_ += bytes;
}

void Charge::clear() {
    if (bytes_ == 0) return;
    account_->give_back(bytes_);
    if (standing_) standing_->held_ -= bytes_;
    bytes_ = 0;
}

void Charge::move_to(std::shared_ptr<Account> account) {
    if (account == account_) return;
    account->add(bytes_);
    if (account_) account_->give_back(bytes_);
    account_ = std::move(account);
}

Bytes charged_bytes(Bytes bytes, Charge charge) {
    struct Held {
        Bytes bytes;
        Charge charge;
    };
    if (!charge.account()) return bytes;
    const std::string* text = bytes.get();
    auto held = std::make_shared<Held>(Held{std::move(bytes), std::move(charge)});
    return {std::move(held), text};
}

}  // namespace muster::net
