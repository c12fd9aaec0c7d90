// base/log_format_test.cpp - how an event looks in the log.
#include "base/log_format.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace muster {

namespace {

constexpr Time noon{1'700'049'600'000'000'000};

}  // namespace

TEST_CASE("text has its columns, and an event is one line") {
    CHECK(log_text(LogFormat::text, noon, LogLevel::info, "kube", "it is\nthere") ==
          "2023-11-15T12:00:00.000000Z info    kube: it is\\nthere\n");
    CHECK(log_text(LogFormat::text, noon, LogLevel::info, "kube", "a\rb\x1b[2Jc") ==
          "2023-11-15T12:00:00.000000Z info    kube: a?b?[2Jc\n");
    CHECK(log_text(LogFormat::text, noon, LogLevel::warning, "net", "full") ==
          "2023-11-15T12:00:00.000000Z warning net: full\n");
}

TEST_CASE("JSON has the members of Kubernetes' programs, and is JSON whatever is told") {
    CHECK(
        log_text(LogFormat::json, noon, LogLevel::error, "kube", "no \"x\" in \\a\n\x01 \u00e4") ==
        R"({"level":"error","ts":"2023-11-15T12:00:00.000000Z","logger":"kube",)"
        R"("msg":"no \"x\" in \\a\n\u0001 )"
        "\u00e4\"}\n");
    CHECK(log_text(LogFormat::json, noon, LogLevel::info, "a", "cut \xc3") ==
          R"({"level":"info","ts":"2023-11-15T12:00:00.000000Z","logger":"a","msg":"cut ?"})"
          "\n");
}

TEST_CASE("fields are members of their own in JSON, whatever users have called their objects") {
    CHECK(
        log_text(LogFormat::json, noon, LogLevel::debug, "queue", "admitted",
                 {{"kind", "Workload"},
                  {"namespace", "a\",\"level\":\"error"},
                  {"name", "two\nlines \x1b[31m"},
                  {"code", std::int64_t{409}}}) ==
        R"({"level":"debug","ts":"2023-11-15T12:00:00.000000Z","logger":"queue","msg":"admitted",)"
        R"("kind":"Workload","namespace":"a\",\"level\":\"error",)"
        R"("name":"two\nlines \u001b[31m","code":409})"
        "\n");
}

TEST_CASE("fields stand behind the text, and none can be taken for another or for a line") {
    CHECK(log_text(LogFormat::text, noon, LogLevel::debug, "queue", "admitted",
                   {{"kind", "Workload"}, {"name", "job-a.b/c"}, {"status", std::int64_t{-1}}}) ==
          "2023-11-15T12:00:00.000000Z debug   queue: admitted kind=Workload name=job-a.b/c "
          "status=-1\n");
    for (const auto& [value, shown] :
         {std::pair{"two words", R"("two words")"}, std::pair{"a=b", R"("a=b")"},
          std::pair{"a\nb", R"("a\nb")"}, std::pair{"say \"x\"", R"("say \"x\"")"},
          std::pair{"\x7f", "\"\x7f\""}, std::pair{"\xc3", R"("?")"}}) {
        CHECK(log_text(LogFormat::text, noon, LogLevel::info, "a", "b", {{"reason", value}}) ==
              std::string("2023-11-15T12:00:00.000000Z info    a: b reason=") + shown + '\n');
    }
}

TEST_CASE("a field without a text is left out") {
    for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
        CHECK(log_text(format, noon, LogLevel::info, "a", "b", {{"namespace", ""}}) ==
              log_text(format, noon, LogLevel::info, "a", "b"));
    }
}

TEST_CASE("lines are below, at or above the least level") {
    set_log_level(LogLevel::warning);
    CHECK(!logs(LogLevel::debug));
    CHECK(!logs(LogLevel::info));
    CHECK(logs(LogLevel::warning));
    CHECK(logs(LogLevel::error));
    set_log_level(LogLevel::info);
    CHECK(!logs(LogLevel::debug));
    CHECK(logs(LogLevel::info));
}

TEST_CASE("levels have words") {
    CHECK(find_log_level("warning") == LogLevel::warning);
    CHECK(!find_log_level("loud"));
}

}  // namespace muster
