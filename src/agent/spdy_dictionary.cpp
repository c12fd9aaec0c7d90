// agent/spdy_dictionary.cpp - the preset dictionary of SPDY/3 header compression, as its draft 3,
// section 2.6.10.1, defines it: words with their lengths, then bare text.
#include <array>
#include <string>
#include <string_view>

#include "agent/spdy.h"

namespace muster::agent {

namespace {

constexpr std::array<std::string_view, 61> kWords = {"options",
                                                     "head",
                                                     "post",
                                                     "put",
                                                     "delete",
                                                     "trace",
                                                     "accept",
                                                     "accept-charset",
                                                     "accept-encoding",
                                                     "accept-language",
                                                     "accept-ranges",
                                                     "age",
                                                     "allow",
                                                     "authorization",
                                                     "cache-control",
                                                     "connection",
                                                     "content-base",
                                                     "content-encoding",
                                                     "content-language",
                                                     "content-length",
                                                     "content-location",
                                                     "content-md5",
                                                     "content-range",
                                                     "content-type",
                                                     "date",
                                                     "etag",
                                                     "expect",
                                                     "expires",
                                                     "from",
                                                     "host",
                                                     "if-match",
                                                     "if-modified-since",
                                                     "if-none-match",
                                                     "if-range",
                                                     "if-unmodified-since",
                                                     "last-modified",
                                                     "location",
                                                     "max-forwards",
                                                     "pragma",
                                                     "proxy-authenticate",
                                                     "proxy-authorization",
                                                     "range",
                                                     "referer",
                                                     "retry-after",
                                                     "server",
                                                     "te",
                                                     "trailer",
                                                     "transfer-encoding",
                                                     "upgrade",
                                                     "user-agent",
                                                     "vary",
                                                     "via",
                                                     "warning",
                                                     "www-authenticate",
                                                     "method",
                                                     "get",
                                                     "status",
                                                     "200 OK",
                                                     "version",
                                                     "HTTP/1.1",
                                                     "url"};
constexpr std::array<std::string_view, 4> kLastWords = {"public", "set-cookie", "keep-alive",
                                                        "origin"};
constexpr std::string_view kText =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
    "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 "
    "Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service "
    "UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, "
    "Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/"
    "xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8chars"
    "et=iso-8859-1,utf-,*,enq=0.";

void append_word(std::string& out, std::string_view word) {
    out.append(3, '\0');
    out += static_cast<char>(word.size());
    out += word;
}

}  // namespace

const std::string& spdy_dictionary() {
    static const std::string dictionary = [] {
        std::string made;
        for (const std::string_view word : kWords)
            append_word(made, word);
        for (const std::string_view word : kLastWords)
            append_word(made, word);
        made += kText;
        return made;
    }();
    return dictionary;
}

}  // namespace muster::agent
