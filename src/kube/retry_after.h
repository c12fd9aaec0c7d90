// kube/retry_after.h - how long a server that has no time wants to be left in peace.
#pragma once

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "net/http.h"

namespace muster::kube {

/// "Retry-After: 3", at most `most`; zero when it does not say, or in another form.
inline Duration asked_wait(const net::Response& response, Duration most) {
    const auto wait = parse_integer(response.headers.get("Retry-After"));
    if (!wait || *wait <= 0) return {};
    return seconds(std::min(*wait, most.nanoseconds / seconds(1).nanoseconds));
}

}  // namespace muster::kube
