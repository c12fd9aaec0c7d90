// apiserver/turns.cpp - finds out who asks, and lets the clients take turns on the server's loop.
#include "apiserver/turns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "apiserver/authenticate.h"
#include "apiserver/fair_queue.h"
#include "base/text.h"

namespace muster::apiserver {

/// The turns of a server. It outlives exchanges that are still under way at the server's end.
struct Turns {
    explicit Turns(Loop& the_loop) : loop(the_loop) {}
    Loop& loop;
    FairQueue queue;
    bool pumping = false;
    std::optional<Loop::TimerId> look_again;  // Set: it sleeps, for there is room for nobody.
    bool measuring = false;
};

std::shared_ptr<Turns> make_turns(Loop& loop) {
    return std::make_shared<Turns>(loop);
}

namespace {

/// A request that gets no turn for so long is refused.
constexpr Duration patience = seconds(10);
/// So much is done before the loop's other work has its turn.
constexpr Duration slice = milliseconds(1);
constexpr int slice_requests = 32;
/// How soon clients without room are looked at again.
constexpr Duration look_again = milliseconds(20);
/// Room for an answer of usual size; how large it is is known when it is there.
constexpr std::size_t usual_answer = 32 << 10;
/// Answers are charged from here on; smaller ones are counted in what a request costs.
constexpr std::size_t small_answer = 4 << 10;

bool is_probe(std::string_view path) {
    for (const std::string_view probe : {"/readyz", "/livez", "/healthz"}) {
        if (path.starts_with(probe)) return true;
    }
    return false;
}

bool is_system(const User& user) {
    return user.in_group("system:masters") || user.in_group("system:nodes");
}

std::shared_ptr<net::Account> account_of(const net::Request& request, const User& user) {
    const auto& standing = request.peer.standing;
    if (user.is_anonymous()) return standing->address();
    return standing->ledger().account(client_name(user), is_system(user)
                                                             ? net::Ledger::Rank::system
                                                             : net::Ledger::Rank::ordinary);
}

/// What is held for the request is held for its user from here on.
void claim(Exchange& exchange) {
    const auto& standing = exchange.request.peer.standing;
    if (!standing) return;
    exchange.account = account_of(exchange.request, exchange.user);
    if (!exchange.user.is_anonymous()) standing->is_of(exchange.account);
    if (exchange.request.charge) exchange.request.charge->move_to(exchange.account);
}

void identify(Context& context, Exchange& exchange) {
    if (exchange.identified) return;
    const auto* admitted = static_cast<const User*>(exchange.request.admitted.get());
    exchange.user = admitted != nullptr ? *admitted : authenticate(context, exchange.request);
    exchange.identified = true;
    claim(exchange);
}

std::string address_of(const net::Request& request) {
    return "address " + request.peer.address.substr(0, request.peer.address.rfind(':'));
}

StatusError too_many(const std::string& message) {
    return {Reason::too_many_requests, message, api::Value::object({{"retryAfterSeconds", 1}})};
}

void pump(const std::shared_ptr<Turns>& turns) {
    turns->look_again.reset();
    const Time begun = turns->loop.now();
    for (int i = 0; i < slice_requests && turns->loop.now() - begun < slice; ++i) {
        const auto turn = turns->queue.next(turns->loop.now());
        if (!turn) break;
        turn->call();
        turns->queue.spent(turn->client, nanoseconds(1));  // Where clocks stand still, turns count.
    }
    turns->pumping = !turns->queue.empty();
    if (!turns->pumping) return;
    const auto again = [turns] { pump(turns); };
    if (turns->queue.has_next(turns->loop.now())) {
        turns->loop.post(again);
    } else {
        turns->look_again = turns->loop.after(look_again, again);
    }
}

/// Throws when the client has too many in line.
void line_up(Context& context, const ExchangePtr& exchange, std::function<void()> step,
             const std::string& part) {
    const std::shared_ptr<Turns>& turns = context.turns;
    FairQueue::Waiting waiting;
    waiting.run = [exchange, step = std::move(step)] { guarded(exchange, step); };
    waiting.refuse = [exchange] {
        guarded(exchange, [] {
            throw too_many(
                "the server is busy with others' requests, or holds too many answers "
                "that this client does not read: try again later");
        });
    };
    const auto& request = exchange->request;
    if (const auto account = exchange->account ? exchange->account
                             : request.charge  ? request.charge->account()
                                               : nullptr) {
        const auto body = parse_integer(request.headers.get("Content-Length")).value_or(0);
        const bool comes = request.body->empty() && body > 0 && body < (1 << 30);
        const std::size_t room = usual_answer + (comes ? static_cast<std::size_t>(body) : 0);
        waiting.has_room = [account, room] { return account->has_room(room); };
    }
    waiting.until = context.loop.now() + patience;
    waiting.part = part;
    if (!turns->queue.push(exchange->client, std::move(waiting)))
        throw too_many("too many requests of this client wait already: try again later");
    if (turns->look_again) {
        turns->loop.cancel(*std::exchange(turns->look_again, std::nullopt));
    } else if (std::exchange(turns->pumping, true)) {
        return;
    }
    context.loop.post([turns] { pump(turns); });
}

}  // namespace

std::string client_name(const User& user) {
    constexpr std::string_view account = "system:serviceaccount:";
    const std::string_view name = user.name;
    if (!name.starts_with(account)) return "user " + user.name;
    const std::string_view place = name.substr(account.size());
    return "service accounts of " + std::string(place.substr(0, place.find(':')));
}

void in_turn(Context& context, const ExchangePtr& exchange, std::function<void()> step) {
    std::string part;
    const bool at_once = exchange->request.peer.trusted || exchange->request.admitted ||
                         identifies_at_once(context, exchange->request);
    if (at_once) {
        identify(context, *exchange);
        const bool first = exchange->request.peer.trusted || is_system(exchange->user) ||
                           is_probe(exchange->request.path);
        if (first) return step();
        exchange->client = exchange->user.is_anonymous() ? address_of(exchange->request)
                                                         : client_name(exchange->user);
    } else {
        // To look at a new token takes longer than most requests: that waits for its turn, too. The
        // connections of an address take turns, so that bad tokens do not keep good ones out.
        exchange->client = "unknown tokens of " + address_of(exchange->request);
        part = exchange->request.peer.address;
    }
    line_up(
        context, exchange,
        [&context, exchange, step = std::move(step)] {
            identify(context, *exchange);
            step();
        },
        part);
}

void charge_answer(const Exchange& exchange, net::Response& response) {
    const auto& request = exchange.request;
    if (!request.charge) return;
    response.account = exchange.account;
    if (!response.body || response.body->size() <= small_answer) return;
    net::Charge charge(response.account, request.peer.standing);
    charge.add(response.body->size());
    response.body = net::charged_bytes(std::move(response.body), std::move(charge));
}

namespace {

/// The bytes that a list counts as. Text that the store has as well takes memory only when it is
/// replaced there meanwhile. A very long list takes what is free, and never what is kept for
/// clients that hold little: those are still answered.
std::size_t held_for(const net::Rope& rope, const net::Ledger& ledger) {
    constexpr std::size_t most_shared = 32 << 20;
    const std::size_t own = rope.size() - rope.shared_size();
    const std::size_t shared = std::min(rope.shared_size(), most_shared);
    return std::min(own + shared, ledger.free());
}

}  // namespace

net::RopePtr charged_rope(const Exchange& exchange, std::shared_ptr<net::Rope> rope) {
    rope->seal();
    if (!exchange.request.charge || !exchange.request.peer.standing) return rope;
    struct Held {
        std::shared_ptr<net::Rope> rope;
        net::Charge charge;
    };
    // Others may come to share it: it is no matter of the connection.
    net::Charge charge(exchange.account, nullptr);
    charge.add(held_for(*rope, exchange.request.peer.standing->ledger()));
    const net::Rope* text = rope.get();
    auto held = std::make_shared<Held>(Held{std::move(rope), std::move(charge)});
    return {std::move(held), text};
}

net::RopePtr shared_text(Context& context, const Exchange& exchange, const std::string& key,
                         const std::function<std::shared_ptr<net::Rope>()>& make) {
    auto& place = context.texts[key];
    if (auto shared = place.lock()) return shared;
    net::RopePtr made = charged_rope(exchange, make());
    place = made;
    std::erase_if(context.texts, [](const auto& each) { return each.second.expired(); });
    return made;
}

Stopwatch::Stopwatch(const ExchangePtr& exchange) {
    if (exchange->client.empty() || !exchange->turns || exchange->turns->measuring) return;
    turns_ = exchange->turns;
    exchange_ = exchange;
    turns_->measuring = true;
    since_ = turns_->loop.now();
}

Stopwatch::~Stopwatch() {
    if (!turns_) return;
    turns_->measuring = false;
    turns_->queue.spent(exchange_->client, turns_->loop.now() - since_);
}

}  // namespace muster::apiserver
