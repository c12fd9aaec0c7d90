// sim/scenario_files.cpp - reading the folder scenarios/.
#include "sim/scenario_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::sim {

std::vector<ScenarioFile> scenario_files() {
    namespace fs = std::filesystem;
    fs::path folder;
    for (fs::path at = fs::current_path(); folder.empty() && at != at.root_path();
         at = at.parent_path()) {
        if (fs::exists(at / "CMakePresets.json")) folder = at / "scenarios";
    }
    std::vector<ScenarioFile> files;
    if (folder.empty() || !fs::exists(folder)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".scenario") continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        fs::path name = fs::relative(entry.path(), folder);
        files.push_back({name.replace_extension().string(), text.str()});
    }
    std::sort(files.begin(), files.end(),
              [](const ScenarioFile& a, const ScenarioFile& b) { return a.name < b.name; });
    return files;
}

}  // namespace muster::sim
