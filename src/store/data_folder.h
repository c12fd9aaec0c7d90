// store/data_folder.h - the folder that holds the database: made, checked, and its faults
// explained.
#pragma once

#include <string>
#include <string_view>

namespace muster::store {

/// Makes the folder when it is absent. Throws Error when it cannot be used: not a folder, not
/// writable, holds something else, or is in use by another process, which is named.
void prepare_data_folder(const std::string& folder);

/// What a failure of the database means for the one who runs Muster, and what to do.
std::string explain_disk_fault(const std::string& folder, std::string_view fault);

}  // namespace muster::store
