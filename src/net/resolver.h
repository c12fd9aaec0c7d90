// net/resolver.h - looks names up without holding up whoever asks, or anybody who asks for another
// name.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "net/mailbox.h"

namespace muster::net {

/// Addresses of names, looked up on threads of their own: so many at once, and each name once for
/// all who ask meanwhile. Lives on `home`, where the answers come.
class Resolver {
public:
    /// The address of a name as text, empty when there is none. Blocks; is called on any thread.
    using LookUp = std::function<std::string(const std::string& name)>;
    using OnFound = std::function<void(const std::string& address)>;
    enum class AskId : std::uint64_t {};
    static constexpr std::size_t at_once_max = 32;

    Resolver(Loop& home, LookUp look_up);
    /// Does not wait: what is under way comes to its end alone, and nobody is told.
    ~Resolver();
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    /// `on_found` is called once, later, unless forgotten.
    AskId ask(const std::string& name, OnFound on_found);
    /// A name that nobody asks for any more is not looked up, if that has not begun.
    void forget(AskId ask);

private:
    struct Ask {
        std::string name;
        OnFound on_found;
    };
    bool is_asked(const std::string& name) const;
    void begin_some();
    void begin(const std::string& name);
    void found(const std::string& name, const std::string& address);

    LookUp look_up_;
    std::map<AskId, Ask> asks_;
    std::uint64_t next_ask_ = 1;
    std::deque<std::string> waiting_;
    std::set<std::string> under_way_;
    std::shared_ptr<Mailbox> mailbox_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // What comes home looks at it.
};

}  // namespace muster::net
