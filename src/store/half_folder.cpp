// store/half_folder.cpp - a name that nothing has, one rename, and the syncs around it.
#include "store/half_folder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include "store/data_folder.h"

namespace muster::store {

namespace fs = std::filesystem;

HalfFolder::HalfFolder(std::string place) : place_(std::move(place)), path_(place_ + ".XXXXXX") {
    std::error_code failed;
    fs::create_directories(fs::path(place_).parent_path(), failed);
    if (mkdtemp(path_.data()) == nullptr) refuse_folder(place_, explain_disk_fault(place_, errno));
}

HalfFolder::~HalfFolder() {
    std::error_code failed;
    if (!path_.empty()) fs::remove_all(path_, failed);
}

void HalfFolder::put() {
    if (!sync_folder(path_) || rename(path_.c_str(), place_.c_str()) != 0)
        refuse_folder(place_, explain_disk_fault(place_, errno));
    path_.clear();
    if (!sync_folder(fs::path(place_).parent_path().string())) {
        const int error = errno;
        refuse_folder(place_, "it is whole, but its name may not be on the disk: " +
                                  explain_disk_fault(place_, error));
    }
}

}  // namespace muster::store
