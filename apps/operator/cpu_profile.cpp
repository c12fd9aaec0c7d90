// apps/operator/cpu_profile.cpp - a timer of CPU time whose signal notes the stack that it finds.
#include "apps/operator/cpu_profile.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <thread>

#include <execinfo.h>
#include <sys/time.h>

#include "base/verify.h"

namespace muster::on_cluster {
namespace {

constexpr int depth_max = 64;
/// The handler, and what the kernel put in front of it.
#if defined(__SANITIZE_ADDRESS__)
constexpr int own_frames = 3;  // And the sanitizer's own backtrace().
#else
constexpr int own_frames = 2;
#endif

/// Stacks one after another: how many places, then those. A signal handler may only touch what is
/// there already, so this is the process's one.
struct Samples {
    std::unique_ptr<std::uintptr_t[]> words;
    std::size_t room = 0;
    std::atomic<std::size_t> used{0};
    std::atomic<int> writing{0};
    std::atomic<bool> wanted{false};
    std::atomic<bool> taken{false};
};
Samples samples;

void take_sample(int) {
    const int saved = errno;
    samples.writing.fetch_add(1);
    if (samples.wanted.load()) {
        std::array<void*, depth_max> frames{};
        const int found = backtrace(frames.data(), depth_max) - own_frames;
        if (found > 0) {
            const auto depth = static_cast<std::size_t>(found);
            const std::size_t at = samples.used.fetch_add(depth + 1);
            if (at + depth < samples.room) {
                samples.words[at] = depth;
                for (std::size_t i = 0; i < depth; ++i) {
                    samples.words[at + 1 + i] =
                        reinterpret_cast<std::uintptr_t>(frames[i + own_frames]);
                }
            }
        }
    }
    samples.writing.fetch_sub(1);
    errno = saved;
}

void set_timer(Duration period) {
    itimerval timer{};
    timer.it_interval.tv_usec = period.nanoseconds / 1000;
    timer.it_value = timer.it_interval;
    VERIFY(setitimer(ITIMER_PROF, &timer, nullptr) == 0);
}

void append_word(std::string& out, std::uintptr_t word) {
    out.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

std::string profile_text(const std::vector<SampledStack>& stacks, Duration period,
                         const std::string& maps) {
    std::string out;
    const auto microseconds = static_cast<std::uintptr_t>(period.nanoseconds / 1000);
    for (const std::uintptr_t word :
         {std::uintptr_t{0}, std::uintptr_t{3}, std::uintptr_t{0}, microseconds, std::uintptr_t{0}})
        append_word(out, word);
    for (const SampledStack& stack : stacks) {
        append_word(out, stack.count);
        append_word(out, stack.places.size());
        for (const std::uintptr_t place : stack.places)
            append_word(out, place);
    }
    for (const std::uintptr_t word : {0, 1, 0})
        append_word(out, word);
    return out + maps;
}

bool start_sampling(Duration longest) {
    if (samples.taken.exchange(true)) return false;
    // The first call loads what later ones need, which a handler must not.
    std::array<void*, 2> nothing{};
    backtrace(nothing.data(), 2);
    const auto ticks = static_cast<std::size_t>(longest.nanoseconds / sampling_period.nanoseconds);
    samples.room = (ticks + 1) * 4 * (depth_max + 1);
    // Not cleared: only pages that are written to take memory.
    samples.words.reset(new std::uintptr_t[samples.room]);
    samples.used = 0;
    samples.wanted = true;
    struct sigaction action {};
    action.sa_handler = take_sample;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    VERIFY(sigaction(SIGPROF, &action, nullptr) == 0);
    set_timer(sampling_period);
    return true;
}

std::vector<SampledStack> stop_sampling() {
    VERIFY(samples.taken);
    set_timer({});
    samples.wanted = false;
    while (samples.writing > 0)
        std::this_thread::yield();
    std::map<std::vector<std::uintptr_t>, std::uint64_t> counts;
    for (std::size_t at = 0; at < samples.used && at < samples.room;) {
        const std::size_t depth = samples.words[at];
        if (at + depth >= samples.room) break;  // The first that did not fit.
        const std::uintptr_t* first = &samples.words[at + 1];
        ++counts[{first, first + depth}];
        at += depth + 1;
    }
    samples.words.reset();
    samples.taken = false;
    std::vector<SampledStack> stacks;
    for (const auto& [places, count] : counts)
        stacks.push_back({places, count});
    return stacks;
}

}  // namespace muster::on_cluster
