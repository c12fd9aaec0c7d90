// api/protobuf_test.cpp - Kubernetes' own test objects read from protobuf equal their JSON; hostile
// bytes end in an error.
#include "api/protobuf.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "api/kind.h"
#include "base/random.h"
#include "base/text.h"

namespace muster::api {
namespace {

struct Golden {
    const char* name;
    const char* protobuf;  // base64
    const char* json;
};

const Golden goldens[] = {
#include "api/protobuf_goldens.inc"
};

std::string bytes_of(const Golden& golden) {
    auto bytes = from_base64(golden.protobuf);
    REQUIRE(bytes);
    return *bytes;
}

Value json_of(std::string_view text) {
    auto parsed = parse_json(text);
    REQUIRE(std::holds_alternative<Parsed>(parsed));
    return std::get<Parsed>(std::move(parsed)).value;
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_CASE("Kubernetes' own objects are the same from protobuf as from JSON") {
    for (const Golden& golden : goldens) {
        CAPTURE(golden.name);
        const auto read = parse_protobuf(bytes_of(golden));
        REQUIRE(std::holds_alternative<Value>(read));
        CHECK((std::get<Value>(read) == json_of(golden.json)));
    }
}

// With MUSTER_KUBERNETES_TESTDATA set to k8s.io/api's testdata/HEAD, all that we know is compared.
TEST_CASE("all of k8s.io/api's test objects are the same, where the folder is at hand") {
    const char* folder = std::getenv("MUSTER_KUBERNETES_TESTDATA");
    if (folder == nullptr) return;
    int same = 0;
    int unknown = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".pb") continue;
        std::filesystem::path json_path = entry.path();
        const Value expected = json_of(content_of(json_path.replace_extension(".json")));
        if (find_schema(expected["apiVersion"].text_or(""), expected["kind"].text_or("")) ==
            nullptr) {
            ++unknown;
            continue;
        }
        CAPTURE(entry.path().filename().string());
        const auto read = parse_protobuf(content_of(entry.path()));
        REQUIRE(std::holds_alternative<Value>(read));
        CHECK((std::get<Value>(read) == expected));
        const Schema& schema =
            *find_schema(expected["apiVersion"].text_or(""), expected["kind"].text_or(""));
        CHECK(unknown_fields(schema, expected).empty());
        ++same;
    }
    MESSAGE(same << " compared, " << unknown << " of kinds that are not served");
}

TEST_CASE("what is no Kubernetes protobuf is refused in words") {
    CHECK(std::holds_alternative<ParseError>(parse_protobuf("")));
    CHECK(std::holds_alternative<ParseError>(parse_protobuf("{\"kind\":\"Pod\"}")));
    const std::string nonsense("k8s\0\x0a\x08\x0a\x02v1\x12\x02No", 14);
    const auto read = parse_protobuf(nonsense);
    REQUIRE(std::holds_alternative<ParseError>(read));
    CHECK(std::get<ParseError>(read).text.find("no kind \"No\"") == 0);
}

TEST_CASE("cut and changed bytes never do worse than an error") {
    Random random(20260821);
    int errors = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string bytes = bytes_of(goldens[random.below(std::size(goldens))]);
        if (random.below(3) == 0) bytes.resize(random.below(bytes.size()));
        for (std::uint64_t i = random.below(6); i > 0 && bytes.size() > 4; --i) {
            bytes[4 + random.below(bytes.size() - 4)] = static_cast<char>(random.below(256));
        }
        const auto read = parse_protobuf(bytes);
        if (std::holds_alternative<ParseError>(read)) ++errors;
        if (const Value* value = std::get_if<Value>(&read)) CHECK(value->is_object());
    }
    CHECK(errors > 100);
}

}  // namespace
}  // namespace muster::api
