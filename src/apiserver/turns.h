// apiserver/turns.h - who waits for the server and who does not: the system goes first, all others
// by turns.
#pragma once

#include <functional>
#include <string>

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Runs `step` when the turn of the exchange's client has come; at once for the system: the
/// program's own parts, system:masters, and those who only ask whether the server lives. Before it
/// runs, `exchange->user` is who asks. Answers 429 when the client has too much waiting, or holds
/// so much that there is no room for its answer for too long.
void in_turn(Context& context, const ExchangePtr& exchange, std::function<void()> step);

/// Whose memory and time a user's requests are counted as. The service accounts of a namespace are
/// one client: whoever may make them could otherwise be as many as it likes.
std::string client_name(const User& user);

/// A long text that others who ask for the same at the same revision share: the one that somebody
/// still sends, or what `make` makes.
net::RopePtr shared_text(Context& context, const Exchange& exchange, const std::string& key,
                         const std::function<std::shared_ptr<net::Rope>()>& make);

/// Charges what is held for an answer: nothing in-process.
void charge_answer(const Exchange& exchange, net::Response& response);

/// A text that is charged to the exchange's client as long as anybody has it.
net::RopePtr charged_rope(const Exchange& exchange, std::shared_ptr<net::Rope> rope);

/// Measures a step of an exchange as time of its client. Steps inside others count once.
class Stopwatch {
public:
    explicit Stopwatch(const ExchangePtr& exchange);
    ~Stopwatch();
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    std::shared_ptr<Turns> turns_;  // Null: nothing is measured.
    ExchangePtr exchange_;
    Time since_;
};

}  // namespace muster::apiserver
