// net/resolver.cpp - a thread for each name that is being looked up.
#include "net/resolver.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "base/log.h"

namespace muster::net {

Resolver::Resolver(Loop& home, LookUp look_up)
    : look_up_(std::move(look_up)), mailbox_(std::make_shared<Mailbox>(home)) {}

Resolver::~Resolver() {
    mailbox_->close();
    *alive_ = false;
}

Resolver::AskId Resolver::ask(const std::string& name, OnFound on_found) {
    const AskId id{next_ask_++};
    if (!is_asked(name) && !under_way_.contains(name)) waiting_.push_back(name);
    asks_[id] = {name, std::move(on_found)};
    begin_some();
    return id;
}

void Resolver::forget(AskId ask) {
    asks_.erase(ask);
}

bool Resolver::is_asked(const std::string& name) const {
    return std::any_of(asks_.begin(), asks_.end(),
                       [&](const auto& each) { return each.second.name == name; });
}

void Resolver::begin_some() {
    while (!waiting_.empty() && under_way_.size() < at_once_max) {
        const std::string name = std::move(waiting_.front());
        waiting_.pop_front();
        if (is_asked(name) && under_way_.insert(name).second) begin(name);
    }
}

void Resolver::begin(const std::string& name) {
    const auto come_home = [this, name, mailbox = mailbox_, alive = alive_](std::string address) {
        mailbox->post([this, name, address = std::move(address), alive] {
            if (*alive) found(name, address);
        });
    };
    try {
        // Nobody can end it, so nobody waits for it.
        std::thread([name, look_up = look_up_, come_home] {
            pthread_setname_np(pthread_self(), "resolver");
            come_home(look_up(name));
        }).detach();
    } catch (const std::system_error& error) {
        log_warning("net", "cannot look up " + name + ": " + error.what());
        come_home("");
    }
}

void Resolver::found(const std::string& name, const std::string& address) {
    under_way_.erase(name);
    std::vector<AskId> askers;
    for (const auto& [id, ask] : asks_) {
        if (ask.name == name) askers.push_back(id);
    }
    for (const AskId id : askers) {
        // Who was told before may have made others forget.
        if (const auto ask = asks_.extract(id)) ask.mapped().on_found(address);
    }
    begin_some();
}

}  // namespace muster::net
