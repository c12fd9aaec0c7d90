// apiserver/proxy_page.h - makes what a pod serves at "/" work below the path of its proxy: the
// links of pages and the targets of redirects.
#pragma once

#include <string>
#include <string_view>

namespace muster::apiserver {

/// Where a proxied answer is seen from.
struct ProxyPlace {
    std::string prefix;    // "/api/v1/namespaces/default/services/web/proxy"
    std::string endpoint;  // "10.244.0.5:8265": the pod's own name for itself.
    std::string host;      // What the client called this server.
};

/// A link: below the prefix when it means the pod's own root, else as it was.
std::string rewrite_url(std::string_view url, const ProxyPlace& place);

/// An HTML page with every link of its tags rewritten; nothing else of it changes.
std::string rewrite_page(std::string_view page, const ProxyPlace& place);

}  // namespace muster::apiserver
