// base/random.h - the only source of chance: seeded, so that the same seed gives the same run.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// splitmix64. Not for keys or secrets: those come from net/ (OpenSSL).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next();

    /// Uniform in [0, bound). Requires: bound > 0.
    std::uint64_t below(std::uint64_t bound);

    /// `length` characters of Kubernetes' safe alphabet ("bcdfghjklmnpqrstvwxz2456789"), for
    /// generateName.
    std::string suffix(int length);

    /// A random (version 4) UUID in its usual text form.
    std::string uuid();

private:
    std::uint64_t state_;
};

}  // namespace muster
