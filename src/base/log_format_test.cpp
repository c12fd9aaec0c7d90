// base/log_format_test.cpp - how an event looks in the log.
#include "base/log_format.h"

#include <doctest/doctest.h>

namespace muster {

namespace {

constexpr Time noon{1'700'049'600'000'000'000};

}  // namespace

TEST_CASE("text has its columns, and an event is one line") {
    CHECK(log_text(LogFormat::text, noon, LogLevel::info, "kube", "it is\nthere") ==
          "2023-11-15T12:00:00.000000Z info    kube: it is\\nthere\n");
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

TEST_CASE("levels have words") {
    CHECK(find_log_level("warning") == LogLevel::warning);
    CHECK(!find_log_level("loud"));
}

}  // namespace muster
