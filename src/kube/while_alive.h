// kube/while_alive.h - answers for somebody who may be gone when they come.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kube/transport.h"

namespace muster::kube {

/// `take` as an answer's receiver, called only while the owner of `alive` has not let go of it.
inline Transport::OnResponse while_alive(const std::shared_ptr<int>& alive,
                                         std::function<void(const net::Response&)> take) {
    return [take = std::move(take), alive = std::weak_ptr<int>(alive)](net::Response response) {
        if (!alive.expired()) take(response);
    };
}

}  // namespace muster::kube
