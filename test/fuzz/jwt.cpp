// test/fuzz/jwt.cpp - Tokens: none but our own is taken.
#include "net/jwt.h"

#include "net/pki.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

const net::KeyPair& authority() {
    static const net::KeyPair made = net::make_authority("fuzz", Time{1'600'000'000'000'000'000});
    return made;
}

constexpr const char* own_claims = R"({"sub":"me"})";

const std::string& own_token() {
    static const std::string made = net::sign_jwt(authority().key_pem, own_claims);
    return made;
}

void take(std::string_view input) {
    const auto claims = net::verified_claims(authority().key_pem, input);
    demand(!claims || *claims == own_claims, "only what we signed is taken");
}

}  // namespace

Target jwt_target() {
    return {"jwt", {own_token(), "eyJhbGciOiJub25lIn0.e30.", "a.b.c"}, take};
}

}  // namespace muster::fuzz
