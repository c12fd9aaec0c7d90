// base/choices.h - random tests as bytes: each choice takes the next one, so that a failing case
// can be made shorter until nothing in it is left out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

/// The bytes as choices. When they have run out every choice is the first.
class Choices {
public:
    explicit Choices(std::string_view bytes) : bytes_(bytes) {}

    bool has() const { return at_ < bytes_.size(); }
    /// In [0, bound). Requires: 0 < bound <= 256.
    std::int64_t below(std::int64_t bound) {
        return has() ? static_cast<unsigned char>(bytes_[at_++]) % bound : 0;
    }
    /// True once in `times`.
    bool one_in(std::int64_t times) { return below(times) == 1; }
    /// Requires: there is one.
    template <class Map>
    auto one_of(const Map& map) {
        auto at = map.begin();
        for (std::int64_t i = below(static_cast<std::int64_t>(map.size())); i > 0; --i)
            ++at;
        return at;
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

/// Between `least` and `most` bytes, the same for the same seed.
std::string random_bytes(std::uint64_t seed, std::size_t least, std::size_t most);

/// The shortest and then smallest bytes found that still fail. Requires: `bytes` fail.
std::string shrunk(std::string bytes, const std::function<bool(const std::string&)>& fails);

/// "1 0 255": bytes as a test prints them.
std::string numbers_of(std::string_view bytes);

}  // namespace muster
