// store/half_folder.h - a folder that is made beside its place, and put there when it is whole.
#pragma once

#include <string>

namespace muster::store {

/// Its name is that of the place and a dot and six letters, which nothing had before. It is for its
/// owner only. What was there before is never removed.
class HalfFolder {
public:
    /// Makes the folders above the place too. Throws Error when it cannot be made.
    explicit HalfFolder(std::string place);
    /// Removes it unless it was put in its place.
    ~HalfFolder();
    HalfFolder(const HalfFolder&) = delete;
    HalfFolder& operator=(const HalfFolder&) = delete;

    const std::string& path() const { return path_; }

    /// Puts it in its place, which is free or an empty folder, and syncs its entries and its name.
    /// Throws Error; the place then has nothing, or the whole folder whose name may be lost with
    /// the power.
    void put();

private:
    std::string place_;
    std::string path_;  // Empty: it was put in its place.
};

}  // namespace muster::store
