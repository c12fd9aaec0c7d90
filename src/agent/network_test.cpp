// agent/network_test.cpp - pods for real: namespaces, a container's view of the machine, logs,
// exec, and life without Muster. Skipped by name where namespaces are forbidden.
#include "agent/network.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/container_root.h"
#include "agent/files.h"
#include "agent/log_format.h"
#include "agent/unix_socket.h"
#include "api/json.h"
#include "base/error.h"

namespace muster::agent {

namespace {

/// The test program is also the holder that Network starts.
[[gnu::constructor]] void be_the_holder_when_asked() {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> arguments;
    for (std::string each; std::getline(file, each, '\0');)
        arguments.push_back(each);
    if (!arguments.empty()) arguments.erase(arguments.begin());
    if (const auto code = run_hidden_verb(arguments)) ::_exit(*code);
}

/// A data folder with a network, ended with the test.
struct Bench {
    Bench() {
        char name[] = "/tmp/muster-agent-XXXXXX";
        directory = ::mkdtemp(name);
        try {
            network = Network::open(directory);
        } catch (const Error& error) {
            MESSAGE("skipped: " << error.what());
        }
    }
    ~Bench() {
        if (network) network->end();
        network.reset();
        remove_tree(directory);
    }

    std::string start_pod(const std::string& uid, const std::string& ip) {
        const std::string pod = network->directory() + "/pods/" + uid;
        make_directories(pod + "/shm");
        make_directories(network->directory() + "/root");
        write_file(pod + "/sandbox.json",
                   api::to_json(api::Value::object({{"ip", ip}, {"hostname", uid}})));
        network->start_pod(pod);
        return pod;
    }

    /// Writes what attempt 0 of container "main" is.
    void describe(const std::string& pod, const std::string& script,
                  std::vector<BindMount> mounts = {}) {
        RootPlan root;
        root.mount_point = network->directory() + "/root";
        root.scratch = pod + "/containers/main/0";
        root.shared_memory = pod + "/shm";
        root.home = "/root";
        root.hidden = {directory};
        root.mounts = std::move(mounts);
        make_directories(pod + "/containers/main");
        write_file(
            pod + "/containers/main/0.json",
            api::to_json(api::Value::object(
                {{"argv", api::Value::array({"sh", "-c", script})},
                 {"env", api::Value::array({"PATH=/usr/bin:/bin", "HOME=/root", "COLOR=blue"})},
                 {"cwd", "/"},
                 {"root", to_value(root)}})));
    }

    std::string directory;
    std::unique_ptr<Network> network;
};

/// Talks to a pod's init until it says what is waited for.
struct Talk {
    explicit Talk(const std::string& pod) : fd(connect_unix(pod, "init.sock")) {
        REQUIRE(static_cast<bool>(fd));
    }
    void say(const std::string& text, const std::vector<int>& descriptors = {}) {
        REQUIRE(send_message(fd.get(), text, descriptors));
    }
    api::Value wait_for(const std::string& member) {
        for (;;) {
            pollfd ready{fd.get(), POLLIN, 0};
            REQUIRE(::poll(&ready, 1, 20'000) == 1);
            const Message message = receive_message(fd.get());
            REQUIRE(message.kind == Message::Kind::message);
            const auto parsed = api::parse_json(message.text);
            const api::Value& value = std::get<api::Parsed>(parsed).value;
            if (value.has(member)) return value;
        }
    }
    /// Until the container has made the file /tmp/up.
    void wait_for_mark() {
        const Descriptor null(::open("/dev/null", O_RDWR));
        say(R"({"do":"exec","id":"up","container":"main",)"
            R"("argv":["sh","-c","until [ -e /tmp/up ]; do :; done"]})",
            {null.get(), null.get(), null.get()});
        wait_for("id");
    }
    Descriptor fd;
};

std::string log_of(const std::string& pod) {
    std::string text;
    std::istringstream lines(read_file(pod + "/logs/main/0.log").value_or(""));
    for (std::string line; std::getline(lines, line);)
        if (const auto parsed = parse_log_line(line)) text += std::string(parsed->text) + "\n";
    return text;
}

constexpr const char* kStart = R"({"do":"start","container":"main","attempt":0})";

}  // namespace

TEST_CASE("a pod sees its own network, host name, processes and writable places only") {
    Bench bench;
    if (!bench.network) return;
    const std::string pod = bench.start_pod("web-0", "10.244.1.7");
    make_directories(pod + "/volumes/config");
    write_file(pod + "/volumes/config/key", "value");
    bench.describe(pod,
                   "hostname; echo $COLOR; cat /etc/deep/er/key; echo; cat /nowhere/key; echo;"
                   "touch /usr/x 2>/dev/null || echo read-only; touch /tmp/a /root/b /dev/shm/c && "
                   "echo written; ls /tmp/muster-agent* 2>/dev/null | wc -l; ls /proc | grep -c "
                   "'^[0-9]'; grep CapEff /proc/self/status; ls /etc/passwd; exit 3",
                   {{pod + "/volumes/config", "/etc/deep/er", true},
                    {pod + "/volumes/config", "/nowhere", false}});
    Talk talk(pod);
    talk.say(kStart);
    const api::Value end = talk.wait_for("finished");
    CHECK(end["failure"].text() == "");
    CHECK(end["code"].integer_or(-1) == 3);
    const std::string log = log_of(pod);
    CAPTURE(log);
    CHECK(log.starts_with("web-0\nblue\nvalue\nvalue\nread-only\nwritten\n0\n"));
    CHECK(log.find("CapEff:\t0000000000000000") != std::string::npos);
    CHECK(log.find("/etc/passwd") != std::string::npos);
}

TEST_CASE("the ends of a command are told apart: code, signal, failure to start") {
    Bench bench;
    if (!bench.network) return;
    const std::string killed = bench.start_pod("a", "10.244.1.1");
    bench.describe(killed, "kill -9 $$");
    Talk first(killed);
    first.say(kStart);
    const api::Value end = first.wait_for("finished");
    CHECK(end["code"].integer_or(0) == 137);
    CHECK(end["signal"].integer_or(0) == 9);

    const std::string missing = bench.start_pod("b", "10.244.1.2");
    bench.describe(missing, "true", {{"/does/not/exist", "/data", false}});
    Talk second(missing);
    second.say(kStart);
    CHECK(second.wait_for("finished")["failure"].text().find("cannot mount /data") !=
          std::string::npos);
}

TEST_CASE("SIGTERM reaches the command, and its whole container ends with it") {
    Bench bench;
    if (!bench.network) return;
    const std::string pod = bench.start_pod("a", "10.244.1.1");
    bench.describe(pod, "trap 'echo bye; exit 0' TERM; > /tmp/up; sleep 1000 & sleep 1000 & wait");
    Talk talk(pod);
    talk.say(kStart);
    talk.wait_for("ready");
    talk.wait_for_mark();
    talk.say(R"({"do":"signal","container":"main","signal":15})");
    CHECK(talk.wait_for("finished")["code"].integer_or(-1) == 0);
    CHECK(log_of(pod) == "bye\n");
}

TEST_CASE("an exec joins the container") {
    Bench bench;
    if (!bench.network) return;
    const std::string pod = bench.start_pod("a", "10.244.1.1");
    bench.describe(pod, "echo here > /tmp/mark; echo up; sleep 1000");
    Talk talk(pod);
    talk.say(kStart);
    talk.wait_for("ready");
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    talk.say(
        R"({"do":"exec","id":"1","container":"main","argv":["sh","-c","while ! cat /tmp/mark; do :; done; exit 4"]})",
        {0, ends[1], ends[1]});
    const api::Value ended = talk.wait_for("id");
    CHECK(ended["code"].integer_or(-1) == 4);
    ::close(ends[1]);
    std::string text;  // What cat complained of before the file was there comes first.
    char part[64];
    for (ssize_t got = 1; got > 0 && text.find("here") == std::string::npos;) {
        got = ::read(ends[0], part, sizeof(part));
        text.append(part, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    CHECK(text.find("here") != std::string::npos);
    ::close(ends[0]);
}

TEST_CASE("pods reach each other, and Muster reaches them through dialled sockets") {
    Bench bench;
    if (!bench.network) return;
    const int listener = bench.network->listen("10.96.0.77", 80);
    const std::string pod = bench.start_pod("a", "10.244.1.1");
    bench.describe(pod,
                   "exec bash -c 'exec 3<>/dev/tcp/10.96.0.77/80; echo hello >&3; read -u 3 x'");
    Talk talk(pod);
    talk.say(kStart);
    pollfd ready{listener, POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 20'000) == 1);
    const Descriptor peer(::accept(listener, nullptr, nullptr));
    char text[16] = {};
    CHECK(::read(peer.get(), text, sizeof(text)) == 6);
    ::close(listener);
}

TEST_CASE("a network is found again with its pods, and nothing is started twice") {
    Bench bench;
    if (!bench.network) return;
    const std::string pod = bench.start_pod("a", "10.244.1.1");
    bench.describe(pod, "echo once; > /tmp/up; sleep 1000");
    {
        Talk talk(pod);
        talk.say(kStart);
        talk.wait_for("ready");
        talk.wait_for_mark();
    }
    bench.network.reset();
    bench.network = Network::open(bench.directory);
    Talk again(pod);
    CHECK(again.wait_for("attempt")["container"].text() == "main");
    again.say(kStart);
    again.say(R"({"do":"signal","container":"main","signal":9})");
    CHECK(again.wait_for("finished")["code"].integer_or(0) == 137);
    CHECK(log_of(pod) == "once\n");
}

}  // namespace muster::agent
