// control/runner.cpp - the loop of all controllers: seen changes wake keys, keys are reconciled,
// writes go out.
#include "control/runner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/verify.h"
#include "control/event_recorder.h"
#include "control/runner_log.h"
#include "control/runner_parts.h"
#include "control/seen.h"
#include "control/work_queue.h"
#include "control/writer.h"

namespace muster::control {
namespace {

/// How many keys of one controller may have writes in flight.
constexpr int running_max = 64;

/// How long a planner waits for the sake of one of its writes.
constexpr Duration planner_wait_max = seconds(5);

/// How long a planner's write that met a conflict waits for what was written instead.
constexpr Duration news_patience = seconds(1);

/// After so many failures on end before this one.
Duration pause_after(int failures) {
    return milliseconds(100LL << std::min(failures, 8));
}

}  // namespace

struct Runner::State : std::enable_shared_from_this<Runner::State> {
    State(kube::Transport& t, Loop& l, AskOutside ask)
        : loop(l),
          ask_outside(std::move(ask)),
          writer(t),
          recorder(t, l),
          seen(
              t, l,
              [this](const kube::Object* before, const kube::Object* after) {
                  notify(before, after);
              },
              [this] { schedule(); }) {}

    Loop& loop;
    AskOutside ask_outside;
    Writer writer;
    EventRecorder recorder;
    Seen seen;
    std::vector<std::unique_ptr<Slot>> slots;
    std::vector<std::unique_ptr<PlanSlot>> planners;
    std::set<std::string> calls_in_flight;
    std::map<api::Key, std::set<std::string>>
        answers_of;  // Wake key -> ids of answers kept for it.
    bool pump_posted = false;
    bool stopped = false;
    std::optional<Loop::TimerId> timer;
    Time pumped;  // The last time.
    Counts counts;

    void forget_answers(const api::Key& key);
    void notify(const kube::Object* before, const kube::Object* after);
    void schedule();
    void pump();
    void follow_clock(Time now);
    void set_timer();
    void reconcile(std::size_t slot, const api::Key& key);
    void send_next(const std::shared_ptr<Run>& run);
    void finish(const std::shared_ptr<Run>& run, Outcome::Kind kind, Duration wait = {});
    void plan(PlanSlot& slot);
    void send_planned(PlanSlot& slot, std::shared_ptr<std::vector<Write>> writes, std::size_t next,
                      std::int64_t round);
    void fail_planned(PlanSlot& slot, const Write& write, std::int64_t round, Duration wait = {});
    void hold_back(PlanSlot& slot, HeldBack held);
    void tell_failed(PlanSlot& slot, const Write& write);
    void look(PlanSlot& slot, const api::Key& key);
    void take_outcome(const std::string& controller, const Write& write, const Outcome& outcome);
    void record(const std::vector<Event>& events, const std::string& component);
    void ask(const Call& call, std::size_t slot);
};

Runner::Runner(kube::Transport& transport, Loop& loop, AskOutside ask_outside)
    : state_(std::make_shared<State>(transport, loop, std::move(ask_outside))) {}

Runner::~Runner() {
    stop();
}

void Runner::add(Controller controller) {
    for (const Watch& watch : controller.watches)
        state_->seen.watch(watch.resource, watch.version);
    for (const kube::Index& index : controller.indexes)
        state_->seen.add_index(index);
    if (controller.wakes_of_added) state_->seen.watch_added();
    state_->slots.push_back(std::make_unique<Slot>(Slot{std::move(controller), {}, 0}));
}

void Runner::add(std::unique_ptr<Planner> planner) {
    auto slot = std::make_unique<PlanSlot>();
    for (const auto& [resource, version] : planner->watches()) {
        state_->seen.watch(resource, version);
        slot->watched.insert(resource);
    }
    if (planner->watches_added()) state_->seen.watch_added();
    slot->planner = std::move(planner);
    state_->planners.push_back(std::move(slot));
}

std::vector<kube::Target> Runner::watched() const {
    return state_->seen.targets();
}

void Runner::start() {
    state_->seen.start();
}

void Runner::stop() {
    state_->stopped = true;
    state_->seen.stop();
    state_->recorder.stop();
    if (state_->timer) state_->loop.cancel(*std::exchange(state_->timer, std::nullopt));
}

const kube::Cache& Runner::seen() const {
    return state_->seen.cache();
}

std::vector<Trouble> Runner::troubles() const {
    return state_->seen.troubles();
}

Runner::Counts Runner::counts() const {
    return state_->counts;
}

bool Runner::at_rest() const {
    if (!state_->seen.cache().synced() || state_->pump_posted || !state_->calls_in_flight.empty())
        return false;
    for (const auto& slot : state_->slots) {
        if (!slot->queue.idle()) return false;
    }
    return std::all_of(state_->planners.begin(), state_->planners.end(),
                       [](const auto& slot) { return !slot->dirty && slot->in_flight == 0; });
}

void Runner::State::forget_answers(const api::Key& key) {
    const auto answers = answers_of.find(key);
    if (answers == answers_of.end()) return;
    for (const std::string& id : answers->second)
        seen.remove_local("calls", id);
    answers_of.erase(answers);
}

void Runner::State::notify(const kube::Object* before, const kube::Object* after) {
    const api::GroupResource& resource = (after != nullptr ? after : before)->key.resource;
    const bool added = seen.is_added(resource);
    for (auto& slot : slots) {
        if (added && slot->controller.wakes_of_added) {
            for (const api::Key& key : slot->controller.wakes_of_added(seen.cache(), before, after))
                slot->queue.wake(key);
        }
        for (const Watch& watch : slot->controller.watches) {
            if (watch.resource != resource) continue;
            for (const api::Key& key : watch.wakes(seen.cache(), before, after))
                slot->queue.wake(key);
        }
    }
    for (auto& slot : planners) {
        const bool of_added = added && slot->planner->watches_added();
        if (!of_added && !slot->watched.contains(resource)) continue;
        slot->planner->observe(before, after);
        slot->dirty = true;
        if (after == nullptr) slot->refusals.erase(before->key);
        auto held = slot->held_back.extract((after != nullptr ? after : before)->key);
        if (held.empty()) continue;
        loop.cancel(held.mapped().patience);
        tell_failed(*slot, held.mapped().write);
    }
    if (after == nullptr) forget_answers(before->key);
    schedule();
}

void Runner::State::schedule() {
    if (pump_posted || stopped || !seen.cache().synced()) return;
    pump_posted = true;
    loop.post([self = shared_from_this()] { self->pump(); });
}

void Runner::State::pump() {
    pump_posted = false;
    if (stopped) return;
    const Time now = loop.now();
    follow_clock(now);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Slot& slot = *slots[i];
        while (slot.running < running_max) {
            const std::optional<api::Key> key = slot.queue.take(now);
            if (!key) break;
            reconcile(i, *key);
        }
    }
    for (auto& slot : planners) {
        const bool due = slot->due && *slot->due <= now;
        if ((slot->dirty || due) && slot->not_before <= now) plan(*slot);
    }
    set_timer();
}

/// Somebody has set the clock back: nobody waits longer for that.
void Runner::State::follow_clock(Time now) {
    const Duration back = now - pumped;
    if (back < Duration{}) {
        for (auto& slot : slots)
            slot->queue.set_clock(back);
        for (auto& slot : planners) {
            if (slot->due) slot->due = *slot->due + back;
            slot->not_before = slot->not_before + back;
        }
    }
    pumped = now;
}

void Runner::State::set_timer() {
    std::optional<Time> next;
    const auto sooner = [&](std::optional<Time> time) {
        if (time && (!next || *time < *next)) next = time;
    };
    for (const auto& slot : slots)
        sooner(slot->queue.next_due());
    for (const auto& slot : planners) {
        if (slot->due) sooner(std::max(*slot->due, slot->not_before));
        if (slot->dirty) sooner(slot->not_before);
    }
    if (timer) loop.cancel(*std::exchange(timer, std::nullopt));
    if (!next) return;
    const Duration delay = std::max(*next - loop.now(), milliseconds(1));
    timer = loop.after(delay, [self = shared_from_this()] {
        self->timer.reset();
        self->schedule();
    });
}

void Runner::State::reconcile(std::size_t index, const api::Key& key) {
    Slot& slot = *slots[index];
    ++counts.reconciles;
    ++slot.running;
    auto run = std::make_shared<Run>(
        Run{index, key, slot.controller.reconcile(seen.cache(), key, loop.now()), 0});
    for (const Call& call : run->result.calls)
        ask(call, index);
    send_next(run);
}

void Runner::State::send_next(const std::shared_ptr<Run>& run) {
    if (run->next == run->result.writes.size()) {
        finish(run, Outcome::Kind::written);
        return;
    }
    const Write& write = run->result.writes[run->next];
    const std::string manager = slots[run->slot]->controller.name;
    ++counts.writes;
    if (logs(LogLevel::debug)) log_decisions(manager, write, seen.cache().find(write.key).get());
    writer.send(write, manager, seen.version_of(write.key.resource),
                [self = shared_from_this(), run, manager](const Outcome& outcome) {
                    if (self->stopped) return;
                    const Write& sent = run->result.writes[run->next++];
                    self->take_outcome(manager, sent, outcome);
                    using Kind = Outcome::Kind;
                    const bool stop = outcome.kind == Kind::conflicted ||
                                      outcome.kind == Kind::refused || outcome.kind == Kind::failed;
                    if (stop) {
                        self->finish(run, outcome.kind, outcome.wait);
                    } else {
                        self->send_next(run);
                    }
                });
}

void Runner::State::finish(const std::shared_ptr<Run>& run, Outcome::Kind kind, Duration wait) {
    Slot& slot = *slots[run->slot];
    --slot.running;
    if (kind == Outcome::Kind::written) {
        record(run->result.events, slot.controller.name);
        slot.queue.done(run->key);
        if (run->result.look_again)
            slot.queue.wake_at(run->key, loop.now() + *run->result.look_again);
    } else {
        std::erase_if(run->result.events,
                      [](const Event& event) { return event.told != Event::Told::always; });
        record(run->result.events, slot.controller.name);
        slot.queue.failed(run->key, loop.now(), wait);
    }
    schedule();
}

void Runner::State::plan(PlanSlot& slot) {
    ++counts.plans;
    slot.dirty = false;
    slot.due.reset();
    ++slot.round;
    Reconciled result = slot.planner->plan(seen.cache(), loop.now());
    if (result.look_again) slot.due = loop.now() + *result.look_again;
    for (const api::Key& key : result.looks)
        look(slot, key);
    // Writes of one object keep their order; those of different objects travel side by side.
    std::map<api::Key, std::shared_ptr<std::vector<Write>>> by_object;
    std::vector<std::shared_ptr<std::vector<Write>>> in_order;
    for (Write& write : result.writes) {
        auto& writes = by_object[write.key];
        if (writes == nullptr) in_order.push_back(writes = std::make_shared<std::vector<Write>>());
        writes->push_back(std::move(write));
    }
    for (auto& writes : in_order) {
        ++slot.in_flight;
        send_planned(slot, std::move(writes), 0, slot.round);
    }
    record(result.events, slot.planner->name());  // What is told of goes first.
}

void Runner::State::send_planned(PlanSlot& slot, std::shared_ptr<std::vector<Write>> writes,
                                 std::size_t next, std::int64_t round) {
    if (next == writes->size()) {
        --slot.in_flight;
        slot.failures = 0;
        schedule();
        return;
    }
    const Write& write = (*writes)[next];
    ++counts.writes;
    if (logs(LogLevel::debug))
        log_decisions(slot.planner->name(), write, seen.cache().find(write.key).get());
    writer.send(
        write, slot.planner->name(), seen.version_of(write.key.resource),
        [self = shared_from_this(), &slot, writes, next, round](const Outcome& outcome) {
            if (self->stopped) return;
            const Write& sent = (*writes)[next];
            self->take_outcome(slot.planner->name(), sent, outcome);
            if (outcome.kind == Outcome::Kind::written || outcome.kind == Outcome::Kind::removed) {
                const bool same = outcome.object != nullptr && sent.version != 0 &&
                                  outcome.object->version == sent.version;
                if (same) {
                    slot.planner->unchanged(sent);
                    // Nothing will be observed, and something else may wait for that.
                    const Time soon = self->loop.now() + news_patience;
                    slot.due = std::min(slot.due.value_or(soon), soon);
                }
                slot.refusals.erase(sent.key);
                self->send_planned(slot, writes, next + 1, round);
                return;
            }
            const bool refused = outcome.kind == Outcome::Kind::refused;
            if (sent.version != 0 && (refused || outcome.kind == Outcome::Kind::conflicted))
                return self->hold_back(slot, {sent, round, refused, {}});
            const Duration wait =
                outcome.is_busy ? outcome.wait : std::min(outcome.wait, planner_wait_max);
            self->fail_planned(slot, sent, round, wait);
        });
}

/// Somebody has changed the object since it was seen, and that comes, or is here already; or the
/// server does not want it so. Until there is something new nothing is decided about it, but for a
/// while: nobody else waits.
void Runner::State::hold_back(PlanSlot& slot, HeldBack held) {
    const api::Key key = held.write.key;
    const kube::ObjectPtr present = seen.cache().find(key);
    const bool is_here = present == nullptr || present->version != held.write.version;
    if (is_here) {
        tell_failed(slot, held.write);
        return schedule();
    }
    if (slot.held_back.contains(key)) {  // It has planned again meanwhile.
        --slot.in_flight;
        return;
    }
    const Duration pause = held.refused ? pause_after(slot.refusals[key]++) : news_patience;
    held.patience = loop.after(pause, [self = shared_from_this(), &slot, key] {
        const auto waited = slot.held_back.extract(key);
        if (self->stopped || waited.empty()) return;
        const HeldBack& given_up = waited.mapped();
        if (!given_up.refused) return self->fail_planned(slot, given_up.write, given_up.round);
        self->tell_failed(slot, given_up.write);
        self->schedule();
    });
    slot.held_back[key] = std::move(held);
}

void Runner::State::tell_failed(PlanSlot& slot, const Write& write) {
    --slot.in_flight;
    slot.planner->failed(write);
    slot.dirty = true;
}

/// The writes of one round fail together (a burst of pods that changed meanwhile): that is one
/// failure, and one pause. When a server has no time for one of them it has none for the others:
/// the whole planner waits for as long as it said.
void Runner::State::fail_planned(PlanSlot& slot, const Write& write, std::int64_t round,
                                 Duration wait) {
    tell_failed(slot, write);
    if (round > slot.failed_in) {
        slot.failed_in = round;
        slot.not_before = loop.now() + pause_after(slot.failures++);
    }
    slot.not_before = std::max(slot.not_before, loop.now() + wait);
    schedule();
}

void Runner::State::look(PlanSlot& slot, const api::Key& key) {
    ++slot.in_flight;
    writer.look(key, seen.version_of(key.resource),
                [self = shared_from_this(), &slot, key](const Outcome& outcome) {
                    if (self->stopped) return;
                    --slot.in_flight;
                    if (outcome.kind == Outcome::Kind::written && outcome.object != nullptr) {
                        self->seen.take_answer(outcome.object);
                        slot.planner->looked(key, outcome.object.get());
                    } else if (outcome.kind == Outcome::Kind::vanished) {
                        slot.planner->looked(key, nullptr);
                    } else {
                        ++self->counts.failed_writes;
                        ++slot.in_flight;
                        const Duration pause = std::max(seconds(1), outcome.wait);
                        self->loop.after(pause, [self, &slot, key] {
                            if (self->stopped) return;
                            --slot.in_flight;
                            self->look(slot, key);
                        });
                        return;
                    }
                    slot.dirty = true;
                    self->schedule();
                });
}

void Runner::State::take_outcome(const std::string& controller, const Write& write,
                                 const Outcome& outcome) {
    log_outcome(controller, write, outcome);
    const std::string refusal = controller + " " + to_text(write.key);
    switch (outcome.kind) {
        case Outcome::Kind::written:
            seen.remove_local("refusals", refusal);
            if (outcome.object != nullptr) seen.take_answer(outcome.object);
            return;
        case Outcome::Kind::removed:
            seen.take_removal(write.key, write.uid);
            return;
        case Outcome::Kind::vanished:
            return;
        case Outcome::Kind::conflicted:
            ++counts.failed_writes;
            return;
        case Outcome::Kind::refused:
            seen.put_local("refusals", refusal,
                           api::Value::object({{"reason", outcome.reason},
                                               {"code", outcome.code},
                                               {"message", outcome.message},
                                               {"at", to_rfc3339_micro(loop.now())}}));
            [[fallthrough]];
        case Outcome::Kind::failed:
            ++counts.failed_writes;
            return;
    }
}

void Runner::State::record(const std::vector<Event>& events, const std::string& component) {
    for (const Event& event : events) {
        ++counts.events;
        if (logs(LogLevel::debug)) log_event(component, event);
        const kube::ObjectPtr about = seen.cache().find(event.about);
        recorder.record(event, about.get(),
                        api::to_api_version(
                            {event.about.resource.group, seen.version_of(event.about.resource)}),
                        component);
    }
}

void Runner::State::ask(const Call& call, std::size_t slot) {
    if (!calls_in_flight.insert(call.id).second) return;
    ++counts.calls;
    ask_outside(call, [self = shared_from_this(), call, slot](int status, std::string body) {
        self->calls_in_flight.erase(call.id);
        if (self->stopped) return;
        self->seen.put_local("calls", call.id,
                             api::Value::object({{"status", status},
                                                 {"body", std::move(body)},
                                                 {"at", to_rfc3339_micro(self->loop.now())}}));
        self->answers_of[call.wake].insert(call.id);
        self->slots[slot]->queue.wake(call.wake);
        self->schedule();
    });
}

}  // namespace muster::control
