// agent/environment_closure.cpp - see environment_closure.h.
#include "agent/environment_closure.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include <sys/stat.h>

#include "agent/files.h"
#include "base/text.h"

namespace muster::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPaths = 256;
constexpr std::size_t kMostEntries = 10'000;  // Looked at in one folder.

bool is_below(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
}

bool every_pod_sees(const std::string& path) {
    for (const char* folder : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"})
        if (is_below(path, folder)) return true;
    return path == "/";
}

std::string real_path(const std::string& path) {
    std::error_code none;
    return fs::canonical(path, none).string();
}

/// Collects paths, each once, none below another.
class Closure {
public:
    void add(const std::string& path) {
        const std::string clean = fs::path(path).lexically_normal().string();
        if (clean.empty() || clean[0] != '/' || every_pod_sees(clean) || has(clean)) return;
        if (seen_.size() >= kMostPaths) return;
        struct stat status {};
        if (::stat(clean.c_str(), &status) != 0) return note_missing(clean + " is missing");
        const mode_t wanted = S_ISDIR(status.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
        if ((status.st_mode & wanted) != wanted)
            return note_missing("pods cannot read " + clean +
                                " (their users are not yours): run "
                                "`chmod -R o+rX " +
                                clean + "`");
        seen_.insert(clean);
        waiting_.push_back(clean);
        // Programs may know it by its real name.
        if (const std::string real = real_path(clean); !real.empty() && real != clean) add(real);
    }

    /// The next folder whose own pointers are to be followed; empty when there is none.
    std::string next() {
        if (waiting_.empty()) return "";
        const std::string path = waiting_.back();
        waiting_.pop_back();
        return path;
    }

    bool has(const std::string& path) const {
        return std::any_of(seen_.begin(), seen_.end(),
                           [&path](const std::string& each) { return is_below(path, each); });
    }
    EnvironmentClosure take() {
        closure_.paths.assign(seen_.begin(), seen_.end());
        std::stable_sort(closure_.paths.begin(), closure_.paths.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
        return std::move(closure_);
    }

private:
    void note_missing(const std::string& text) {
        if (closure_.missing.empty()) closure_.missing = text;
    }

    std::set<std::string> seen_;
    std::vector<std::string> waiting_;
    EnvironmentClosure closure_;
};

/// The Python that a virtual environment was made with: `home` in pyvenv.cfg is its bin/.
void follow_configuration(Closure& closure, const std::string& environment) {
    const std::string text = read_file(environment + "/pyvenv.cfg").value_or("");
    for (const std::string_view line : split(text, '\n')) {
        const auto pair = split_first(line, '=');
        if (pair && trim(pair->before) == "home")
            closure.add(fs::path(std::string(trim(pair->after))).parent_path().string());
    }
}

/// A link of bin/ that leads elsewhere leads to a program of an installation, PREFIX/bin/NAME.
void follow_programs(Closure& closure, const std::string& environment) {
    std::error_code none;
    std::size_t count = 0;
    for (fs::directory_iterator entry(environment + "/bin", none), end; !none && entry != end;
         entry.increment(none)) {
        if (++count > kMostEntries) return;
        if (!entry->is_symlink(none)) continue;
        const std::string target = real_path(entry->path().string());
        if (target.empty() || every_pod_sees(target) || closure.has(target)) continue;
        const fs::path above = fs::path(target).parent_path();
        closure.add(above.filename() == "bin" ? above.parent_path().string() : target);
    }
}

/// Lines of .pth files add folders to Python's path; those that begin with "import" are code.
void follow_pth_file(Closure& closure, const fs::path& file) {
    const std::string text = read_file(file.string()).value_or("");
    for (const std::string_view each : split(text, '\n')) {
        const std::string line(trim(each));
        if (line.empty() || line[0] == '#' || line.starts_with("import")) continue;
        const fs::path path = line[0] == '/' ? fs::path(line) : file.parent_path() / line;
        std::error_code none;
        // Python skips what is not there.
        if (fs::exists(path, none)) closure.add(path.lexically_normal().string());
    }
}

void follow_packages(Closure& closure, const std::string& environment) {
    std::error_code none;
    for (const char* library : {"/lib", "/lib64"}) {
        for (fs::directory_iterator python(environment + library, none), end;
             !none && python != end; python.increment(none)) {
            if (!python->path().filename().string().starts_with("python")) continue;
            std::error_code inner;
            std::size_t count = 0;
            for (fs::directory_iterator entry(python->path() / "site-packages", inner), last;
                 !inner && entry != last; entry.increment(inner)) {
                if (++count > kMostEntries) break;
                if (entry->path().extension() == ".pth") follow_pth_file(closure, entry->path());
                if (entry->is_symlink(inner)) closure.add(real_path(entry->path().string()));
            }
        }
    }
}

}  // namespace

EnvironmentClosure environment_closure(const std::string& environment) {
    Closure closure;
    closure.add(environment);
    for (std::string path = closure.next(); !path.empty(); path = closure.next()) {
        follow_configuration(closure, path);
        follow_programs(closure, path);
        follow_packages(closure, path);
    }
    return closure.take();
}

}  // namespace muster::agent
