// apiserver/proxy_page_test.cpp - which links of a page are changed, and that nothing else is.
#include "apiserver/proxy_page.h"

#include <doctest/doctest.h>

namespace muster::apiserver {
namespace {

const ProxyPlace place{"/p/proxy", "10.0.0.1:80", "localhost:6443"};

TEST_CASE("links to the pod's root go below the prefix, others stay") {
    const std::pair<const char*, const char*> cases[] = {
        {"/", "/p/proxy/"},
        {"/a?b=/c#d", "/p/proxy/a?b=/c#d"},
        {"/p/proxy/a", "/p/proxy/a"},
        {"a/b", "a/b"},
        {"./a", "./a"},
        {"?q=http://x/", "?q=http://x/"},
        {"#top", "#top"},
        {"", ""},
        {"data:text/plain,x", "data:text/plain,x"},
        {"http://10.0.0.1:80/a", "/p/proxy/a"},
        {"https://localhost:6443/a", "/p/proxy/a"},
        {"//10.0.0.1:80/a", "/p/proxy/a"},
        {"http://10.0.0.1:80", "http://10.0.0.1:80"},
        {"http://elsewhere/a", "http://elsewhere/a"},
        {"//elsewhere/a", "//elsewhere/a"},
    };
    for (const auto& [link, shown] : cases) {
        CAPTURE(link);
        CHECK(rewrite_url(link, place) == shown);
    }
}

TEST_CASE("links are changed in the tags that have them, and nowhere else") {
    const std::pair<const char*, const char*> cases[] = {
        {R"(<a href="/x">/x</a>)", R"(<a href="/p/proxy/x">/x</a>)"},
        {R"(<IMG alt='/y' SRC='/x'/>)", R"(<IMG alt='/y' SRC='/p/proxy/x'/>)"},
        {"<link rel=icon href=/x>", "<link rel=icon href=/p/proxy/x>"},
        {R"(<script src = "/x">var a = '<a href="/x">';</script><base href="/">)",
         R"(<script src = "/p/proxy/x">var a = '<a href="/x">';</script><base href="/p/proxy/">)"},
        {R"(<!-- <a href="/x"> --><p title="/x">1 < 2</p>)",
         R"(<!-- <a href="/x"> --><p title="/x">1 < 2</p>)"},
        {"<a href", "<a href"},
        {"<a href=\"/x", "<a href=\"/p/proxy/x"},
        {"<", "<"},
        {"<a =\"/x\">", "<a =\"/x\">"},
        {"<!-- never ends <a href=/x>", "<!-- never ends <a href=/x>"},
    };
    for (const auto& [page, shown] : cases) {
        CAPTURE(page);
        CHECK(rewrite_page(page, place) == shown);
    }
}

}  // namespace
}  // namespace muster::apiserver
