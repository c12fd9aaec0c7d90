// base/bytes.h - shared immutable bytes: made once, held by the store, the answer and every
// watcher.
#pragma once

#include <memory>
#include <string>

namespace muster {

/// Never null where it stands for content; null stands for "absent" where a comment says so.
using Bytes = std::shared_ptr<const std::string>;

inline Bytes make_bytes(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
}

}  // namespace muster
