// apps/store/export_file_test.cpp - what is exported is read back byte by byte; what was cut off or
// changed is refused, in every place.
#include "apps/store/export_file.h"

#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"

namespace muster::storage {
namespace {

using store::Record;

std::string export_of(const std::vector<Record>& records, std::int64_t revision) {
    std::string text;
    ExportWriter writer([&text](std::string_view more) { text += more; }, revision);
    for (const Record& record : records)
        writer.put(record);
    writer.finish();
    return text;
}

/// A text that comes in pieces.
Source pieces_of(const std::string& text, std::size_t size) {
    return [rest = text, size]() mutable {
        const std::string piece = rest.substr(0, size);
        rest.erase(0, piece.size());
        return piece;
    };
}

std::string refusal(const std::string& text) {
    try {
        read_export(pieces_of(text, 100), "FILE", [](const Record&) {});
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

const std::vector<Record> records = {
    {"/a", make_bytes(R"({"b":1.0,"a":"\u0041 ","c":1e2 })"), 1},
    {"/b\n\"\\\x01", make_bytes("{\"x\":\"}\"}"), 2},
    {"/c", make_bytes(""), 3},
    {"/d", make_bytes(std::string("\0\xff\n{", 4)), 4},
    {"/e", make_bytes("{\"a\":1,\n\"b\":2}"), 5},
    {"/f", make_bytes("{\"a\":"), 7},
};

TEST_CASE("an export is read back byte by byte") {
    const std::string text = export_of(records, 9);
    for (const std::size_t size : {1U, 7U, 100'000U}) {
        std::vector<Record> read;
        const ExportTotals totals = read_export(pieces_of(text, size), "FILE", [&](Record record) {
            read.push_back(std::move(record));
        });
        CHECK(totals.revision == 9);
        CHECK(totals.objects == records.size());
        REQUIRE(read.size() == records.size());
        for (std::size_t i = 0; i < read.size(); ++i) {
            CHECK(read[i].key == records[i].key);
            CHECK(*read[i].value == *records[i].value);
            CHECK(read[i].revision == records[i].revision);
        }
    }
}

TEST_CASE("a value as deep as the parser reads is read back") {
    for (const std::size_t depth : {997U, 998U, 999U, 1000U, 1001U}) {
        CAPTURE(depth);
        const std::string value =
            "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
        std::string read;
        read_export(pieces_of(export_of({{"/a", make_bytes(value), 1}}, 1), 100'000), "FILE",
                    [&read](const Record& record) { read = *record.value; });
        CHECK(read == value);
    }
}

TEST_CASE("revisions beyond those that are counted are refused with their line") {
    CHECK(refusal(export_of({{"/a", make_bytes("{}"), 3}}, store::revision_max)).empty());
    const std::int64_t above = store::revision_max + 1;
    CHECK(refusal(export_of({{"/a", make_bytes("{}"), 3}}, above))
              .starts_with("error: FILE, line 1: the revision 9007199254740993 is above "));
    const std::string text =
        "{\"format\":\"muster export 1\",\"revision\":9}\n"
        "{\"key\":\"/a\",\"revision\":9223372036854775807,\"value\":{}}\n";
    CHECK(refusal(text).starts_with("error: FILE, line 2: the revision 9223372036854775807 is "));
}

TEST_CASE("an export that is cut off anywhere is refused") {
    const std::string text = export_of(records, 9);
    for (std::size_t size = 0; size < text.size(); ++size) {
        CAPTURE(size);
        CHECK(refusal(text.substr(0, size)) != "");
    }
    CHECK(refusal("") == "error: FILE, line 0: it is empty; an export begins with its format");
    CHECK(refusal(text) == "");
}

TEST_CASE("an export with any byte changed is refused") {
    const std::string text = export_of(records, 9);
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        CAPTURE(at);
        CHECK(refusal(changed) != "");
    }
    CHECK(refusal(text + "\n") != "");
    CHECK(refusal(text + text) != "");
}

TEST_CASE("what is not an export is refused in words") {
    CHECK(refusal("{}\n") ==
          "error: FILE, line 1: it is no export in the format \"muster export 1\"");
    CHECK(refusal("apiVersion: v1\n").find("line 1: ") != std::string::npos);
    CHECK(refusal(export_of({{"/b", make_bytes("{}"), 1}, {"/a", make_bytes("{}"), 1}}, 2)) ==
          "error: FILE, line 3: the keys are not in order");
    CHECK(refusal(export_of({{"/a", make_bytes("{}"), 3}}, 2)) ==
          "error: FILE, line 2: the revision is above that of the export");
}

}  // namespace
}  // namespace muster::storage
