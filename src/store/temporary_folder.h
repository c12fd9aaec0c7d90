// store/temporary_folder.h - a folder of a test's own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "base/verify.h"

namespace muster::store {

/// Gone at the end.
class TemporaryFolder {
public:
    /// `in_memory`: where a sync costs nothing, if there is such a place.
    enum class Place { on_disk, in_memory };

    explicit TemporaryFolder(Place place = Place::on_disk) {
        const std::filesystem::path memory = "/dev/shm";
        const bool is_quick = place == Place::in_memory && access(memory.c_str(), W_OK) == 0;
        std::string name =
            ((is_quick ? memory : std::filesystem::temp_directory_path()) / "muster-store-XXXXXX")
                .string();
        VERIFY(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string data() const { return path_ + "/data"; }

private:
    std::string path_;
};

}  // namespace muster::store
