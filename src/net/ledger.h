// net/ledger.h - what a server holds in memory for its clients, counted by who it is held for.
//
// Held are requests under way, bodies that have come, and answers that have not gone out. All
// clients together may have `Limits::all`. A client may have as much as is still free: one alone
// gets half of it, and however many there are, something is left for the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"

namespace muster::net {

class Account;

/// The accounts of a server. Any thread.
class Ledger : public std::enable_shared_from_this<Ledger> {
public:
    struct Limits {
        std::size_t all = 160 << 20;
        std::size_t beyond = 32 << 20;      // On top, for those that hold little.
        std::size_t little = 256 << 10;     // So much anybody may hold, as long as `beyond` lasts.
        std::size_t connection = 64 << 20;  // Of one connection.
        std::size_t each_connection = 16 << 10;  // What one is counted as once it is known whose.
    };

    explicit Ledger(Limits limits) : limits_(limits) {}

    /// The account of that name, made when it is not there; it lasts as long as somebody has it.
    /// `system`: it is counted and never refused.
    enum class Rank { ordinary, system };
    std::shared_ptr<Account> account(const std::string& name, Rank rank = Rank::ordinary);

    const Limits& limits() const { return limits_; }
    std::size_t held() const { return held_.load(std::memory_order_relaxed); }
    std::size_t free() const { return held() < limits_.all ? limits_.all - held() : 0; }
    /// Connections that have said whose they are.
    std::size_t known_connections() const { return known_.load(std::memory_order_relaxed); }

private:
    friend class Account;
    friend class Standing;
    Limits limits_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> known_{0};
    std::mutex mutex_;
    std::unordered_map<std::string, std::weak_ptr<Account>> accounts_;
};

/// What is held for one client: a user, or an address that has not said who it is. Any thread.
class Account {
public:
    Account(std::shared_ptr<Ledger> ledger, std::string name, Ledger::Rank rank)
        : ledger_(std::move(ledger)), name_(std::move(name)), rank_(rank) {}
    ~Account();
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

    const std::string& name() const { return name_; }
    std::size_t held() const { return held_.load(std::memory_order_relaxed); }
    /// False when so much more is beyond its part.
    bool has_room(std::size_t bytes) const;
    /// It holds more than its part, now that others want theirs.
    bool is_over() const;
    void add(std::size_t bytes);
    void give_back(std::size_t bytes);

private:
    std::shared_ptr<Ledger> ledger_;
    std::string name_;
    Ledger::Rank rank_;
    std::atomic<std::size_t> held_{0};
};

/// A connection as the ledger knows it: how much is held for it, and whose it is. Any thread.
class Standing {
public:
    Standing(std::shared_ptr<Ledger> ledger, std::shared_ptr<Account> address)
        : ledger_(std::move(ledger)), address_(address), account_(std::move(address)) {}
    ~Standing();
    Standing(const Standing&) = delete;
    Standing& operator=(const Standing&) = delete;

    Ledger& ledger() const { return *ledger_; }
    /// Of the address that it comes from.
    const std::shared_ptr<Account>& address() const { return address_; }
    /// Of the one who spoke last; of its address before anybody was believed.
    std::shared_ptr<Account> account() const;
    /// From now on it is not anonymous, and counts for its client.
    void is_of(const std::shared_ptr<Account>& account);
    /// Its client has more connections than its part.
    bool is_too_many() const { return too_many_.load(std::memory_order_relaxed); }
    bool is_known() const { return known_.load(std::memory_order_relaxed); }
    std::size_t held() const { return held_.load(std::memory_order_relaxed); }
    bool has_room(std::size_t bytes) const {
        return held() + bytes <= ledger_->limits().connection;
    }

private:
    friend class Charge;
    std::shared_ptr<Ledger> ledger_;
    std::shared_ptr<Account> address_;
    mutable std::mutex mutex_;
    std::shared_ptr<Account> account_;
    std::atomic<std::size_t> held_{0};
    std::atomic<bool> known_{false};
    std::atomic<bool> too_many_{false};
};

/// An amount on an account and on a connection, given back at its end. On one thread at a time.
class Charge {
public:
    Charge() = default;
    Charge(std::shared_ptr<Account> account, std::shared_ptr<Standing> standing)
        : account_(std::move(account)), standing_(std::move(standing)) {}
    Charge(Charge&& other) noexcept;
    Charge& operator=(Charge&& other) noexcept;
    ~Charge() { clear(); }

    /// False: there is no room, and nothing is charged.
    [[nodiscard]] bool grow(std::size_t bytes);
    /// Charges so much in place of what there is. False: there is no room for more.
    [[nodiscard]] bool set(std::size_t bytes);
    /// Charges, room or not: it is there already.
    void add(std::size_t bytes);
    void clear();
    void move_to(std::shared_ptr<Account> account);
    std::size_t bytes() const { return bytes_; }
    const std::shared_ptr<Account>& account() const { return account_; }
    const std::shared_ptr<Standing>& standing() const { return standing_; }

private:
    std::shared_ptr<Account> account_;
    std::shared_ptr<Standing> standing_;
    std::size_t bytes_ = 0;
};

/// Bytes that stay charged until nobody has them any more.
Bytes charged_bytes(Bytes bytes, Charge charge);

}  // namespace muster::net
