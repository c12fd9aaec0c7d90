// apiserver/webhook_call.h - a question to somebody's program over HTTPS: where it goes, and what
// comes back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "api/value.h"
#include "base/bytes.h"
#include "base/time.h"
#include "net/client.h"
#include "net/http.h"

namespace muster::apiserver {

struct Context;

/// One POST of a JSON document.
struct WebhookCall {
    enum class Way { machine, pods };
    Way way = Way::machine;     // In whose network the target is.
    net::Target target;         // Always https.
    std::string server_name;    // Whom the certificate must name; empty: the target's host.
    std::string authority_pem;  // Empty: the machine's own authorities.
    std::string url;            // As messages show it.
    net::Request request;
    Duration timeout = seconds(10);
};

/// The way out: the only thing of webhooks that touches sockets and name servers. Any
/// implementation answers each call once, on the server's loop, with status 0 and the reason when
/// there was no answer.
class WebhookCaller {
public:
    /// Drops a call that has no answer yet: what was not sent is not sent any more, and nothing is
    /// answered.
    using Drop = std::function<void()>;
    virtual ~WebhookCaller() = default;
    virtual Drop call(WebhookCall call, std::function<void(net::Response)> done) = 0;
};

/// An answer larger than this is none.
constexpr std::size_t webhook_answer_limit = 32 << 20;

/// The document that a webhook answered, or why there is none, in the words of the reference.
using WebhookAnswer = std::variant<api::Value, std::string>;

/// What came back over HTTP as the document that it is. Pure.
WebhookAnswer read_answer(const net::Response& response);

/// Why a call got no answer, as a program in Go says it. Pure.
std::string call_fault(const WebhookCall& call, std::string_view why);

/// Sends a document to `client` (a clientConfig). `done` runs once, never before this returns, and
/// not after the server's end.
void call_webhook(Context& context, const api::Value& client, const api::Value& document,
                  Duration timeout, std::function<void(WebhookAnswer)> done);

}  // namespace muster::apiserver
