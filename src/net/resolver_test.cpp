// net/resolver_test.cpp - name servers that do not answer.
#include "net/resolver.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/dial.h"
#include "net/loopback_test.h"

namespace muster::net {
namespace {

/// Answers "IP-of-NAME"; of names that begin with "slow" only once it is told to.
struct Names {
    std::string look_up(const std::string& name) {
        std::unique_lock lock(mutex);
        begun.push_back(name);
        changed.notify_all();
        changed.wait(lock, [&] { return open || !name.starts_with("slow"); });
        return "IP-of-" + name;
    }
    void wait_for(std::size_t lookups) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return begun.size() >= lookups; });
    }
    std::size_t count() {
        const std::lock_guard lock(mutex);
        return begun.size();
    }
    void answer() {
        const std::lock_guard lock(mutex);
        open = true;
        changed.notify_all();
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> begun;
    bool open = false;
};

/// A resolver on a loop of its own, whose answers are waited for.
struct TestResolver {
    TestResolver() {
        loop.start("home");
        run_on(loop, [&] {
            resolver = std::make_unique<Resolver>(
                loop, [its = names](const std::string& name) { return its->look_up(name); });
        });
    }
    ~TestResolver() {
        names->answer();
        run_on(loop, [&] { resolver = nullptr; });
        loop.stop();
    }
    /// What comes is kept in `told`.
    Resolver::AskId ask(const std::string& name) {
        Resolver::AskId id{};
        run_on(loop, [&] {
            id = resolver->ask(name, [this](const std::string& address) { told += address + " "; });
        });
        return id;
    }
    std::future<std::string> await(const std::string& name) {
        const auto found = std::make_shared<std::promise<std::string>>();
        run_on(loop, [&] {
            resolver->ask(name, [found](const std::string& address) { found->set_value(address); });
        });
        return found->get_future();
    }

    std::shared_ptr<Names> names = std::make_shared<Names>();
    AsioLoop loop;
    std::unique_ptr<Resolver> resolver;
    std::string told;  // On the loop.
};

}  // namespace

TEST_CASE("a name whose server does not answer holds up no other") {
    TestResolver test;
    test.ask("slow");
    CHECK(test.await("quick").get() == "IP-of-quick");
    run_on(test.loop, [&] { CHECK(test.told.empty()); });
    test.names->answer();
    CHECK(test.await("slow").get() == "IP-of-slow");
    run_on(test.loop, [&] { CHECK(test.told == "IP-of-slow "); });
}

TEST_CASE("a name is looked up once for all who ask meanwhile, and told to those who still ask") {
    TestResolver test;
    test.ask("slow");
    const Resolver::AskId forgotten = test.ask("slow");
    std::future<std::string> last = test.await("slow");
    run_on(test.loop, [&] { test.resolver->forget(forgotten); });
    test.names->answer();
    CHECK(last.get() == "IP-of-slow");
    run_on(test.loop, [&] { CHECK(test.told == "IP-of-slow "); });
    CHECK(test.names->count() == 1);
    CHECK(test.await("slow").get() == "IP-of-slow");
    CHECK(test.names->count() == 2);  // Nothing is remembered.
}

TEST_CASE("so many names are looked up at once; what nobody asks for when its turn comes is not") {
    TestResolver test;
    for (std::size_t i = 0; i < Resolver::at_once_max; ++i)
        test.ask("slow-" + std::to_string(i));
    test.names->wait_for(Resolver::at_once_max);
    const Resolver::AskId forgotten = test.ask("slow-forgotten");
    std::future<std::string> last = test.await("slow-last");
    run_on(test.loop, [&] { test.resolver->forget(forgotten); });
    CHECK(test.names->count() == Resolver::at_once_max);
    test.names->answer();
    CHECK(last.get() == "IP-of-slow-last");
    CHECK(test.names->count() == Resolver::at_once_max + 1);
}

TEST_CASE("a resolver ends without waiting for its name servers") {
    TestResolver test;
    test.ask("slow");
    test.names->wait_for(1);
    run_on(test.loop, [&] { test.resolver = nullptr; });
    test.names->answer();
    run_on(test.loop, [&] { CHECK(test.told.empty()); });
}

TEST_CASE("addresses of names and of addresses") {
    CHECK(is_address("127.0.0.1"));
    CHECK(is_address("::1"));
    CHECK(!is_address("localhost"));
    CHECK(find_address("localhost") == "127.0.0.1");
    CHECK(find_address("127.0.0.1") == "127.0.0.1");
    CHECK(find_address("no such name").empty());
}

}  // namespace muster::net
