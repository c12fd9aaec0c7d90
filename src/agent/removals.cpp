// agent/removals.cpp - see removals.h.
#include "agent/removals.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/unix_socket.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {
constexpr int kWordsAtOnce = 64;
}

Removals::Removals(Network& network, net::AsioLoop& loop, Ended ended)
    : network_(network), loop_(loop), ended_(std::move(ended)) {}

Removals::~Removals() {
    for (const auto& [id, running] : running_)
        loop_.unwatch(running.watch);
}

/// A list that is too long for one message is done in parts.
void Removals::add(RemovalJob job) {
    going_.try_emplace(job.uid);
    for (std::vector<std::string>& part : in_messages(job.paths))
        queue_.add({job.uid, job.ns, std::move(part), job.tries});
    begin();
}

void Removals::begin() {
    while (auto job = queue_.take()) {
        const std::uint64_t id = ++last_;
        Running& running = running_[id];
        running.job = std::move(*job);
        try {
            running.fd = network_.begin_removal(running.job.paths);
        } catch (const Error& error) {
            // Later, so that what is told of it may add something again.
            loop_.post([this, id, problem = std::string(error.what()),
                        alive = std::weak_ptr<int>(alive_)] {
                if (!alive.expired()) end(id, problem);
            });
            continue;
        }
        running.watch = loop_.watch(running.fd.get(), {.read = true, .write = false},
                                    [this, id](net::AsioLoop::Interest) { read(id); });
    }
}

/// "going FILES BYTES" now and then, and an answer at the end.
void Removals::read(std::uint64_t id) {
    Running& running = running_.at(id);
    for (int words = 0; words < kWordsAtOnce; ++words) {
        const Message message = receive_message(running.fd.get());
        if (message.kind == Message::Kind::none_now) return;
        if (!message.text.starts_with("going ")) return end(id, Network::problem_in(message.text));
        note(running, message.text);
    }
}

void Removals::note(Running& running, const std::string& text) {
    const auto words = split(text, ' ');
    if (words.size() != 3) return;
    const RemovalProgress now{parse_integer(words[1]).value_or(0),
                              parse_integer(words[2]).value_or(0)};
    for (RemovalProgress* sum : {&going_[running.job.uid], &all_}) {
        sum->files += now.files - running.told.files;
        sum->bytes += now.bytes - running.told.bytes;
    }
    running.told = now;
}

void Removals::end(std::uint64_t id, const std::string& problem) {
    auto node = running_.extract(id);
    const Running& running = node.mapped();
    if (running.fd) loop_.unwatch(running.watch);
    queue_.end(running.job);
    if (!queue_.has(running.job.uid)) going_.erase(running.job.uid);
    ended_(running.job, problem);
    begin();
}

}  // namespace muster::agent
