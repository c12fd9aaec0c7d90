// api/webhook_client.h - where a webhook is (clientConfig of a webhook's configuration or of a
// definition's conversion), and what may be said of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/path.h"
#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// A URL taken apart, as far as somebody's webhook has one.
struct WebhookUrl {
    std::string scheme;
    std::string user;
    std::string host;  // With its port, as it stands there.
    std::string path;
    std::string query;
    std::string fragment;
    std::string fault;  // Not empty: it is no URL.
};
WebhookUrl webhook_url(std::string_view text);

/// `client` has exactly one of url and service, and that is one that may be asked.
void check_webhook_client(const Value& client, const Path& path, std::vector<FieldError>& errors);

}  // namespace muster::api
