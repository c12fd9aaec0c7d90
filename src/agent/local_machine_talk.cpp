// agent/local_machine_talk.cpp - the connections to the pods' inits: nothing here waits for one.
#include <cerrno>
#include <utility>

#include "agent/local_machine.h"
#include "agent/run_report.h"
#include "api/json.h"
#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

namespace {

using api::Value;

constexpr Duration kLookPeriod = seconds(1);
constexpr int kMessagesAtOnce = 64;  // Of one pod; then it is another one's turn.

constexpr const char* kTooLong = "the command cannot be sent to the pod: it may have 64 KiB";
constexpr const char* kBusy =
    "the pod's first process does not take commands as fast as they are asked for; try again later";

}  // namespace

bool LocalMachine::connect(const std::string& uid) {
    Descriptor fd = connect_unix(pod_directory(uid), "init.sock", Patience::does_not_wait);
    if (!fd) return false;
    Sandbox& sandbox = sandboxes_[uid];
    sandbox.fd = std::move(fd);
    sandbox.watch =
        loop_.watch(sandbox.fd.get(), {.read = true, .write = false},
                    [this, uid](net::AsioLoop::Interest interest) { ready(uid, interest); });
    return true;
}

void LocalMachine::ready(const std::string& uid, net::AsioLoop::Interest interest) {
    if (interest.write) push(uid);
    if (interest.read) read(uid);
}

void LocalMachine::read(const std::string& uid) {
    for (int taken = 0; taken < kMessagesAtOnce; ++taken) {
        const auto sandbox = sandboxes_.find(uid);
        if (sandbox == sandboxes_.end()) return;
        Message message = receive_message(sandbox->second.fd.get());
        if (message.kind == Message::Kind::none_now) return;
        if (message.kind == Message::Kind::closed) return close(uid);
        const auto parsed = api::parse_json(message.text);
        if (const auto* document = std::get_if<api::Parsed>(&parsed))
            take(uid, document->value, std::move(message.descriptors));
    }
}

void LocalMachine::take(const std::string& uid, const Value& event,
                        std::vector<Descriptor> descriptors) {
    const std::string kind = event["event"].text();
    if (kind == "state") {
        if (events_.run) events_.run(uid, report_of(event));
    } else if (kind == "exec") {
        const auto sandbox = sandboxes_.find(uid);
        if (sandbox == sandboxes_.end()) return;
        auto node = sandbox->second.execs.extract(event["id"].text());
        if (node.empty()) return;
        node.mapped()(static_cast<int>(event["code"].integer_or(0)), event["failure"].text());
    } else if (kind == "attached") {
        const auto sandbox = sandboxes_.find(uid);
        if (sandbox == sandboxes_.end()) return;
        auto node = sandbox->second.attaching.extract(event["id"].text());
        if (node.empty()) return;
        node.mapped()(descriptors.empty() ? Descriptor() : std::move(descriptors.front()),
                      event["failure"].text());
    }
}

void LocalMachine::close(const std::string& uid) {
    auto node = sandboxes_.extract(uid);
    if (node.empty()) return;
    Sandbox sandbox = std::move(node.mapped());
    loop_.unwatch(sandbox.watch);
    if (sandbox.next_look) loop_.cancel(*sandbox.next_look);
    sandbox.fd.reset();
    for (auto& [id, done] : sandbox.execs)
        done(137, "the pod has ended");
    for (auto& [id, done] : sandbox.attaching)
        done(Descriptor(), "the pod has ended");
    if (sandbox.ended) return sandbox.ended();
    // An init that only closed the connection must not live on beside the one that follows.
    if (sandbox.lost.empty()) kill_init(uid);
    if (events_.lost)
        events_.lost(uid, sandbox.lost.empty() ? "the pod's first process was ended from outside"
                                               : sandbox.lost);
}

void LocalMachine::let_go() {
    for (auto& [uid, sandbox] : sandboxes_) {
        loop_.unwatch(sandbox.watch);
        if (sandbox.next_look) loop_.cancel(*sandbox.next_look);
    }
    sandboxes_.clear();
}

/// What the agent itself has to say is never refused.
void LocalMachine::say(const std::string& uid, const Value& request) {
    const auto sandbox = sandboxes_.find(uid);
    if (sandbox == sandboxes_.end() || !sandbox->second.lost.empty()) return;
    const auto added = sandbox->second.outbox.add(api::to_json(request), {}, Outbox::Weight::own);
    if (added != Outbox::Added::yes)
        return give_up(uid, "the pod's first process left more messages unread than are kept");
    push(uid);
}

/// `refused` is called later, on the loop.
void LocalMachine::say_if_room(const std::string& uid, const Value& request,
                               const std::vector<int>& descriptors, const Refused& refused) {
    const auto refuse = [this, refused, alive = std::weak_ptr<int>(alive_)](const char* why) {
        loop_.post([refused, why, alive] {
            if (!alive.expired()) refused(why);
        });
    };
    const auto sandbox = sandboxes_.find(uid);
    if (sandbox == sandboxes_.end() || !sandbox->second.lost.empty()) return refuse(kBusy);
    const auto added = sandbox->second.outbox.add(
        api::to_json(request), descriptors, Outbox::Weight::asked, [refuse] { refuse(kBusy); });
    if (added != Outbox::Added::yes)
        return refuse(added == Outbox::Added::too_long ? kTooLong : kBusy);
    push(uid);
}

void LocalMachine::push(const std::string& uid) {
    const auto found = sandboxes_.find(uid);
    if (found == sandboxes_.end()) return;
    Sandbox& sandbox = found->second;
    const bool waits = sandbox.outbox.send(sandbox.fd.get()) == Outbox::Sent::some;
    // A closed connection is told by its end, which is read soon.
    if (std::exchange(sandbox.writing, waits) != waits)
        loop_.change(sandbox.watch, {.read = true, .write = waits});
    if (!sandbox.next_look)
        sandbox.next_look = loop_.after(kLookPeriod, [this, uid] { look_at_init(uid); });
}

void LocalMachine::look_at_init(const std::string& uid) {
    const auto found = sandboxes_.find(uid);
    if (found == sandboxes_.end()) return;
    Sandbox& sandbox = found->second;
    sandbox.next_look.reset();
    const Outbox::Look look = sandbox.outbox.look(unread_bytes(sandbox.fd.get()));
    if (look == Outbox::Look::stuck)
        return give_up(uid, "the pod's first process took no message for " +
                                std::to_string(Outbox::kStuckLooks) + " s, and was killed");
    if (look == Outbox::Look::moving)
        sandbox.next_look = loop_.after(kLookPeriod, [this, uid] { look_at_init(uid); });
}

/// Its end is the end of the connection.
void LocalMachine::give_up(const std::string& uid, const std::string& why) {
    const auto sandbox = sandboxes_.find(uid);
    if (sandbox == sandboxes_.end() || !sandbox->second.lost.empty()) return;
    sandbox->second.lost = why;
    log_warning("agent", "pod " + uid + " is lost: " + why);
    kill_init(uid);
}

/// On the spawner's thread, as the holder may have other work; a new sandbox is made after it. A
/// pod that was given up is tried again until its connection has ended.
void LocalMachine::kill_init(const std::string& uid) {
    const auto again = [this, uid, alive = std::weak_ptr<int>(alive_)] {
        if (alive.expired()) return;
        const auto sandbox = sandboxes_.find(uid);
        if (sandbox != sandboxes_.end() && !sandbox->second.lost.empty()) kill_init(uid);
    };
    spawner_.post([this, again, directory = pod_directory(uid)] {
        if (network_.kill_pod(directory)) return;
        loop_.post([this, again] { loop_.after(kLookPeriod, again); });
    });
}

std::string LocalMachine::exec(const std::string& uid, const std::string& container,
                               const Exec& exec, ExecDone done) {
    const auto sandbox = sandboxes_.find(uid);
    if (sandbox == sandboxes_.end()) {
        loop_.post([done] { done(126, "the pod is not running"); });
        return "";
    }
    const std::string id = std::to_string(++last_exec_);
    sandbox->second.execs[id] = std::move(done);
    Value words = Value::array();
    for (const std::string& word : exec.command)
        words.push(word);
    const bool terminal = exec.terminal >= 0;
    say_if_room(uid,
                Value::object({{"do", "exec"},
                               {"id", id},
                               {"container", container},
                               {"argv", words},
                               {"tty", terminal}}),
                terminal ? std::vector<int>{exec.terminal}
                         : std::vector<int>{exec.in, exec.out, exec.error},
                [this, uid, id](const std::string& why) {
                    const auto found = sandboxes_.find(uid);
                    if (found == sandboxes_.end()) return;
                    auto node = found->second.execs.extract(id);
                    if (!node.empty()) node.mapped()(126, why);
                });
    return id;
}

void LocalMachine::attach(const std::string& uid, const std::string& container, int out, int error,
                          Attached done) {
    const auto sandbox = sandboxes_.find(uid);
    if (sandbox == sandboxes_.end()) {
        loop_.post([done] { done(Descriptor(), "the pod is not running"); });
        return;
    }
    const std::string id = std::to_string(++last_exec_);
    sandbox->second.attaching[id] = std::move(done);
    say_if_room(uid, Value::object({{"do", "attach"}, {"id", id}, {"container", container}}),
                {out, error}, [this, uid, id](const std::string& why) {
                    const auto found = sandboxes_.find(uid);
                    if (found == sandboxes_.end()) return;
                    auto node = found->second.attaching.extract(id);
                    if (!node.empty()) node.mapped()(Descriptor(), why);
                });
}

void LocalMachine::close_input(const std::string& uid, const std::string& container) {
    say(uid, Value::object({{"do", "close_input"}, {"container", container}}));
}

void LocalMachine::kill_exec(const std::string& uid, const std::string& id) {
    say(uid, Value::object({{"do", "kill"}, {"id", id}}));
}

}  // namespace muster::agent
