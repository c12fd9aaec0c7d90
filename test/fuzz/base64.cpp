// test/fuzz/base64.cpp - Base64 and base64url.
#include "base/text.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    if (const auto bytes = from_base64(input))
        demand(from_base64(to_base64(*bytes)) == bytes, "it comes back");
    if (const auto bytes = from_base64url(input))
        demand(from_base64url(to_base64url(*bytes)) == bytes, "it comes back");
    demand(from_base64(to_base64(input)) == std::string(input), "every text comes back");
    demand(is_utf8(quoted(input)) || !is_utf8(input), "quoting keeps UTF-8");
}

}  // namespace

Target base64_target() {
    return {"base64", {"YWJj", "YQ==", "_-8", "\xc3\xa9", "Y W J j"}, take};
}

}  // namespace muster::fuzz
