// agent/protocols_test.cpp - bytes on the wire and in files: DNS, SPDY, exec channels, logs; and
// names.
#include <cerrno>

#include <doctest/doctest.h>
#include <sys/socket.h>

#include "agent/channel_protocol.h"
#include "agent/dns_message.h"
#include "agent/log_query.h"
#include "agent/names.h"
#include "agent/node_keeper.h"
#include "agent/spdy.h"
#include "agent/unix_socket.h"
#include "api/json.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

kube::ObjectPtr object(const std::string& plural, const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return kube::make_object({"", plural}, std::get<api::Parsed>(std::move(parsed)).value);
}

std::string query(const std::string& name, std::uint16_t type) {
    std::string bytes("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
    std::string label;
    for (const char c : name + ".") {
        if (c == '.') {
            bytes += static_cast<char>(label.size());
            bytes += label;
            label.clear();
        } else {
            label += c;
        }
    }
    bytes += std::string(1, '\0') + static_cast<char>(type >> 8) + static_cast<char>(type & 0xff);
    return bytes + std::string("\0\1", 2);
}

NameTable table() {
    NameTable names;
    names.put_service(object("services", R"({"metadata":{"name":"web","namespace":"ns"},
        "spec":{"clusterIP":"10.96.0.5","ports":[{"name":"http","port":80}]}})"));
    names.put_service(object("services", R"({"metadata":{"name":"head","namespace":"ns"},
        "spec":{"clusterIP":"None","ports":[{"port":6379}]}})"));
    const char* slice = R"({"metadata":{"name":"@-1","namespace":"ns",
        "labels":{"kubernetes.io/service-name":"@"}},"ports":[{"name":"%","port":8080}],
        "endpoints":[{"addresses":["10.244.1.1"],"conditions":{"ready":true},"hostname":"h0"},
                     {"addresses":["10.244.1.2"],"conditions":{"ready":false}}]})";
    for (const auto& [service, port] : {std::pair("web", "http"), std::pair("head", "")}) {
        std::string text = slice;
        for (std::size_t at = 0; (at = text.find('@')) != std::string::npos;)
            text.replace(at, 1, service);
        text.replace(text.find('%'), 1, port);
        names.put_slice(object("endpointslices", text));
    }
    return names;
}

}  // namespace

TEST_CASE("names: services by address, headless ones by their ready pods, others do not exist") {
    const NameTable names = table();
    using Kind = NameAnswer::Kind;
    const auto addresses = [&names](const std::string& name) {
        const NameAnswer answer = names.find(name);
        std::string text;
        for (const std::string& each : answer.addresses)
            text += each + " ";
        return answer.kind == Kind::no_such_name ? "NX" : text;
    };
    CHECK(addresses("web.ns.svc.cluster.local") == "10.96.0.5 ");
    CHECK(addresses("WEB.ns.svc.Cluster.local") == "10.96.0.5 ");
    CHECK(addresses("head.ns.svc.cluster.local") == "10.244.1.1 ");
    CHECK(addresses("h0.head.ns.svc.cluster.local") == "10.244.1.1 ");
    CHECK(addresses("10-244-1-1.head.ns.svc.cluster.local") == "10.244.1.1 ");
    CHECK(addresses("10-244-1-7.ns.pod.cluster.local") == "10.244.1.7 ");
    CHECK(addresses("nope.ns.svc.cluster.local") == "NX");
    CHECK(addresses("web.other.svc.cluster.local") == "NX");
    CHECK(addresses("example.com") == "NX");
    CHECK(names.find("ns.svc.cluster.local").kind == Kind::no_data);
}

TEST_CASE("service addresses lead to ready pods") {
    const Forwards forwards = table().forwards_of("ns", "web", {10, 10, 10}).addresses;
    REQUIRE(forwards.size() == 1);
    CHECK(forwards.begin()->first == Endpoint{"10.96.0.5", 80});
    CHECK(forwards.begin()->second == std::vector<Endpoint>{{"10.244.1.1", 8080}});
}

TEST_CASE("a slice that changes its pods or goes is seen at once") {
    NameTable names = table();
    names.remove_slice({{"", "endpointslices"}, "ns", "head-1"});
    CHECK(names.find("head.ns.svc.cluster.local").kind == NameAnswer::Kind::no_data);
}

TEST_CASE("DNS: an address for A, no data for AAAA, no such name, nothing for nonsense") {
    const auto a = parse_question(query("web.ns.svc.cluster.local", 1));
    REQUIRE(a);
    CHECK(a->name == "web.ns.svc.cluster.local");
    const NameAnswer found{NameAnswer::Kind::addresses, {"10.96.0.5"}};
    const std::string answer = make_answer(*a, found);
    CHECK(answer.substr(0, 8) == std::string("\x12\x34\x85\x80\x00\x01\x00\x01", 8));
    CHECK(answer.substr(answer.size() - 4) == std::string("\x0a\x60\x00\x05", 4));
    const auto aaaa = parse_question(query("web.ns.svc.cluster.local", 28));
    CHECK(make_answer(*aaaa, found).substr(2, 6) == std::string("\x85\x80\x00\x01\x00\x00", 6));
    CHECK(make_answer(*a, {})[3] == static_cast<char>(0x83));
    const std::string whole = query("web.ns.svc.cluster.local", 1);
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK_FALSE(parse_question(whole.substr(0, size)));
}

TEST_CASE("SPDY: the dictionary has the length that the draft gives it") {
    CHECK(spdy_dictionary().size() == 1423);
}

TEST_CASE("SPDY: data frames in pieces of any size, pings and resets come out whole") {
    Spdy spdy;
    const std::string bytes = Spdy::data(3, "hello", Spdy::Last::no) + Spdy::ping(7) +
                              Spdy::reset(5) + Spdy::data(3, "", Spdy::Last::yes);
    std::vector<SpdyEvent> events;
    for (const char c : bytes)
        for (SpdyEvent& event : spdy.take(std::string_view(&c, 1)))
            events.push_back(std::move(event));
    REQUIRE(events.size() == 4);
    CHECK(events[0].data == "hello");
    CHECK(events[1].kind == SpdyEvent::Kind::ping);
    CHECK(events[1].stream == 7);
    CHECK(events[2].kind == SpdyEvent::Kind::reset);
    CHECK(events[3].last);
}

TEST_CASE("SPDY: what is not SPDY/3 is refused") {
    Spdy old;
    CHECK_THROWS_AS(old.take(std::string("\x80\x02\x00\x01\x00\x00\x00\x00", 8)), Error);
    Spdy garbled;
    CHECK_THROWS_AS(
        garbled.take(std::string("\x80\x03\x00\x01\x00\x00\x00\x0e", 8) + std::string(14, 'x')),
        Error);
}

TEST_CASE("exec channels: input, its end, resize, and how a command ended") {
    CHECK(parse_client_message(std::string("\0abc", 4)).bytes == "abc");
    CHECK(parse_client_message(std::string("\xff\0", 2)).kind == ClientMessage::Kind::end_of_input);
    const ClientMessage size = parse_client_message("\4{\"Width\":80,\"Height\":24}");
    CHECK(size.width == 80);
    CHECK(parse_client_message("").kind == ClientMessage::Kind::other);
    CHECK(exit_status(0, "") == R"({"metadata":{},"status":"Success"})");
    CHECK(exit_status(5, "").find(R"({"reason":"ExitCode","message":"5"})") != std::string::npos);
    CHECK(exit_status(126, "no such file").find("InternalError") != std::string::npos);
}

TEST_CASE("flags of a log's query are read as the API server reads them") {
    const auto follows = [](const std::vector<std::pair<std::string, std::string>>& words) {
        net::Request request;
        request.query = words;
        return log_query_of(request, Time{}).follow;
    };
    CHECK(follows({{"follow", "true"}}));
    CHECK(follows({{"follow", "True"}}));  // As Python writes it.
    CHECK(follows({{"follow", "1"}}));
    CHECK(follows({{"follow", ""}}));
    CHECK_FALSE(follows({{"follow", "False"}}));
    CHECK_FALSE(follows({{"follow", "0"}}));
    CHECK_FALSE(follows({}));
}

TEST_CASE("logs: lines, long lines, the last lines, times and limits") {
    const Time at{1'700'000'000'123'456'789};
    std::string file;
    LineCutter cutter("stdout");
    cutter.take("one\ntw", at, file);
    cutter.take("o\n" + std::string(20'000, 'x') + "\nend", at, file);
    cutter.finish(at, file);
    CHECK(LogPrinter({}).take(file) == "one\ntwo\n" + std::string(20'000, 'x') + "\nend\n");
    CHECK(LogPrinter({}).take(tail_of(file, 1)) == "end\n");
    CHECK(LogPrinter({}).take(tail_of(file, 2)) == std::string(20'000, 'x') + "\nend\n");
    CHECK(tail_of(file, 0).empty());
    CHECK(tail_of(file, 100) == file);
    LogQuery query;
    query.timestamps = true;
    query.limit_bytes = 34;
    LogPrinter printer(query);
    CHECK(printer.take(file) == "2023-11-14T22:13:20.123456789Z one");
    CHECK(printer.full());
    LogQuery late;
    late.since = at + seconds(1);
    CHECK(LogPrinter(late).take(file).empty());
    LogPrinter torn({});
    CHECK(torn.take(file.substr(0, 20)).empty());
    CHECK(torn.take(file.substr(20, 30)) == "one\n");
}

TEST_CASE("a node is declared in one word, and mistakes are named") {
    const NodeDeclaration node = parse_node_declaration("a:cpu=8,memory=8118372Ki,label.zone=x");
    CHECK(node.name == "a");
    CHECK(node.capacity.size() == 3);  // With 110 pods.
    CHECK(node.labels.size() == 1);
    CHECK_THROWS_WITH_AS(parse_node_declaration("a:cpu=lots"), doctest::Contains("lots"), Error);
    CHECK_THROWS_WITH_AS(parse_node_declaration(":cpu=1"), doctest::Contains("no name"), Error);
    CHECK_THROWS_WITH_AS(parse_node_declaration("a:cpu"), doctest::Contains("no ="), Error);
    const auto refused = [](const std::string& text, const char* why) {
        CAPTURE(text);
        CHECK_THROWS_WITH_AS(parse_node_declaration(text), doctest::Contains(why), Error);
    };
    refused("X_Y:cpu=1", "\"X_Y\" is no name: ");
    refused("a:cpu=1,mem=8Gi", "\"mem\" is no resource: cpu, memory, pods");
    refused("a:gpu=1", "such as nvidia.com/gpu");
    refused("a:cpu=1,cpu=2", "cpu stands there twice");
    refused("a:label.zone=a b", "label zone=a b: ");
    CHECK(parse_node_declaration("a:nvidia.com/gpu=1,hugepages-2Mi=4Mi").capacity.size() == 3);
}

TEST_CASE("a message that is too long is neither sent nor acted on") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const Descriptor ours(ends[0]);
    const Descriptor theirs(ends[1]);
    CHECK_FALSE(send_message(ours.get(), std::string((64 << 10) + 1, 'x')));
    CHECK(errno == EMSGSIZE);
    const std::string raw((64 << 10) + 1, 'x');
    REQUIRE(::send(ours.get(), raw.data(), raw.size(), 0) > 0);
    const Message got = receive_message(theirs.get());
    CHECK(got.kind == Message::Kind::closed);
}

TEST_CASE("a long list goes in several messages, and whole") {
    std::vector<std::string> lines;
    for (int i = 0; i < 2000; ++i)
        lines.push_back("0b1c2d3e-uid/containers/main/" + std::to_string(i));
    std::vector<std::string> together;
    const auto parts = in_messages(lines);
    CHECK(parts.size() > 1);
    for (const auto& part : parts) {
        CHECK(join(part, "\n").size() < (64 << 10) - 100);
        together.insert(together.end(), part.begin(), part.end());
    }
    CHECK(together == lines);
    CHECK(in_messages({}).empty());
}

TEST_CASE("nodes share the machine's disk, but for what is declared") {
    std::vector<NodeDeclaration> nodes = {parse_node_declaration("a:cpu=1"),
                                          parse_node_declaration("b:ephemeral-storage=5Gi")};
    share_disk(nodes, 4096 * 1024);
    CHECK(nodes[0].capacity.back() ==
          std::pair<std::string, std::string>("ephemeral-storage", "2048Ki"));
    CHECK(nodes[1].capacity.size() == 2);
    share_disk(nodes, 0);  // The disk says nothing: nothing is declared.
    CHECK(nodes[0].capacity.size() == 3);
}

}  // namespace muster::agent
