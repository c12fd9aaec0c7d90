// apps/store/store_commands.cpp - the verbs of a store folder.
#include "apps/store/store_commands.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/stored_problem.h"
#include "apps/store/export_file.h"
#include "apps/up/data_directory.h"
#include "base/error.h"
#include "base/shell_text.h"
#include "store/data_folder.h"
#include "store/half_folder.h"
#include "store/new_store.h"
#include "store/read_only_view.h"
#include "store/repair.h"

namespace muster::storage {
namespace {

namespace fs = std::filesystem;
using store::ReadOnlyView;
using Kind = store::Verdict::Kind;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::invalid, "error: " + text);
}

void say(FILE* where, const std::string& text) {
    std::fprintf(where, "%s\n", text.c_str());
}

std::string reason() {
    return std::strerror(errno);
}

std::string count_text(std::size_t objects) {
    return std::to_string(objects) + (objects == 1 ? " object" : " objects");
}

/// A data folder that is there. Without a lock: it may be in use.
std::string data_of(const StoreOptions& options) {
    std::string data = options.data.empty() ? up::usual_data_directory() : options.data;
    struct stat found {};
    if (stat(data.c_str(), &found) != 0)
        refuse("the data folder " + data + " cannot be read: " + reason() +
               "; name it with --data");
    if (!S_ISDIR(found.st_mode)) refuse(data + " is no folder; name the data folder with --data");
    return data;
}

/// The store of a data folder, which may be read. Throws Error when it is lost.
std::string store_of(const StoreOptions& options) {
    const std::string data = data_of(options);
    if (const std::string lost = up::explain_lost_store(data); !lost.empty())
        throw Error(Reason::invalid, lost);
    const std::string folder = fs::absolute(data).lexically_normal().string();
    std::string store = folder + (folder.ends_with('/') ? "store" : "/store");
    if (access(store.c_str(), R_OK | X_OK) != 0)
        refuse("the data folder " + data + " has no store that can be read: " + reason());
    return store;
}

/// Demands that nothing of the store is lost or damaged. Throws Error else.
std::unique_ptr<ReadOnlyView> whole_view(const std::string& folder) {
    auto view = std::make_unique<ReadOnlyView>(folder, ReadOnlyView::Contents::keep);
    if (view->verdict().kind == Kind::empty) refuse("there is no database in " + folder);
    if (view->verdict().kind != Kind::whole) throw Error(Reason::invalid, view->verdict().sentence);
    return view;
}

/// A file to read from or write to; "-": the standard ones.
class File {
public:
    enum class Way { read, write };

    File(const std::string& name, Way way) : name_(name) {
        if (name.empty()) refuse("name a file, or - for standard input or output");
        fd_ = name != "-" ? open_named(way) : way == Way::read ? STDIN_FILENO : STDOUT_FILENO;
        if (fd_ < 0 && errno == EEXIST) refuse(name + " is there already; name a new file");
        if (fd_ < 0) refuse(name + ": " + reason());
    }
    ~File() {
        if (name_ != "-") close(fd_);
        if (is_half_) unlink(name_.c_str());
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::string read_some() const {
        std::string text(1 << 16, '\0');
        ssize_t got = 0;
        do {
            got = ::read(fd_, text.data(), text.size());
        } while (got < 0 && errno == EINTR);
        if (got < 0) refuse("cannot read " + name_ + ": " + reason());
        text.resize(static_cast<std::size_t>(got));
        return text;
    }
    void put(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t put = ::write(fd_, text.data(), text.size());
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) refuse("cannot write " + name_ + ": " + reason());
            text.remove_prefix(static_cast<std::size_t>(put));
        }
    }
    void finish() {
        if (name_ != "-" && fsync(fd_) != 0) refuse("cannot write " + name_ + ": " + reason());
        is_half_ = false;
    }

private:
    /// The file has Secrets in it: only its owner may read it.
    int open_named(Way way) {
        if (way == Way::read) return open(name_.c_str(), O_RDONLY | O_CLOEXEC);
        const int fd = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        is_half_ = fd >= 0;
        return fd;
    }

    std::string name_;
    int fd_ = -1;
    bool is_half_ = false;
};

void copy_keys(const std::string& from, const std::string& to) {
    std::error_code failed;
    if (!fs::exists(from, failed)) return;
    if (mkdir(to.c_str(), 0700) != 0) refuse("cannot make " + to + ": " + reason());
    for (const auto& entry : fs::directory_iterator(from)) {
        if (entry.is_directory()) continue;
        const auto content = up::read_state_file(entry.path().string());
        if (!content) refuse("cannot read " + entry.path().string() + ": it is gone");
        up::write_secret_file(to + "/" + entry.path().filename().string(), *content);
    }
    if (!store::sync_folder(to)) refuse("cannot write " + to + ": " + reason());
}

/// A data folder that gets a store now. If it does not, and has nothing else in it, it goes again:
/// else `muster up` would start on it as on a new one.
class NewDataFolder {
public:
    explicit NewDataFolder(const std::string& path) : data_(path) {}
    ~NewDataFolder() {
        if (!filled_) data_.remove_if_empty();
    }
    NewDataFolder(const NewDataFolder&) = delete;
    NewDataFolder& operator=(const NewDataFolder&) = delete;

    const up::DataDirectory& data() const { return data_; }
    void keep() { filled_ = true; }

private:
    up::DataDirectory data_;
    bool filled_ = false;
};

/// Above all revisions that can have been given out: nobody writes a thousand times a second from
/// 1970 on.
std::int64_t revision_of_now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

int replace_lost(const std::string& folder) {
    const up::DataDirectory data(folder);
    const store::Repaired repaired =
        store::replace_lost_store(data.store_path(), revision_of_now());
    say(stdout,
        data.store_path() +
            ": it is empty, as nothing was there to be kept; the counting goes on at revision " +
            std::to_string(repaired.revision) +
            (repaired.damaged_copy.empty() ? ""
                                           : "; what was there is now " + repaired.damaged_copy));
    return 0;
}

}  // namespace

int run_check(const StoreOptions& options) {
    if (const std::string lost = up::explain_lost_store(data_of(options)); !lost.empty()) {
        say(stderr, lost);
        return 1;
    }
    const std::string folder = store_of(options);
    const ReadOnlyView view(folder, ReadOnlyView::Contents::keep);
    const store::Verdict& verdict = view.verdict();
    if (verdict.kind == Kind::empty) refuse("there is no database in " + folder);
    if (verdict.kind == Kind::unreadable) throw Error(Reason::invalid, verdict.sentence);
    if (!verdict.sentence.empty()) {
        say(stderr, verdict.sentence);
        return 1;
    }
    std::size_t objects = 0;
    view.each([&objects](const store::Record&) { ++objects; });
    say(stdout, folder + ": " + count_text(objects) + ", all that was answered up to revision " +
                    std::to_string(verdict.readable) + " is there");
    return 0;
}

int run_export(const StoreOptions& options) {
    const auto view = whole_view(store_of(options));
    File file(options.file, File::Way::write);
    ExportWriter writer([&file](std::string_view text) { file.put(text); },
                        view->verdict().readable);
    view->each([&writer](const store::Record& record) { writer.put(record); });
    writer.finish();
    file.finish();
    say(stderr, "exported " + count_text(writer.objects()) + " as of revision " +
                    std::to_string(view->verdict().readable));
    return 0;
}

int run_backup(const StoreOptions& options) {
    const std::string from = store_of(options);
    const auto view = whole_view(from);
    std::error_code failed;
    std::string place = fs::absolute(options.file, failed).lexically_normal().string();
    while (place.size() > 1 && place.ends_with('/'))
        place.pop_back();
    if (options.file.empty() || failed) refuse("name a new folder for the backup");
    if (fs::exists(place, failed) && !(fs::is_directory(place, failed) && fs::is_empty(place)))
        refuse(place + " is not empty; name a new or empty folder");
    store::HalfFolder half(place);
    std::size_t objects = 0;
    {
        const up::DataDirectory data(half.path());
        copy_keys(fs::path(from).parent_path().string() + "/pki", data.path() + "/pki");
        store::NewStore target(data.store_path());
        view->each([&](const store::Record& record) {
            target.put(record);
            ++objects;
        });
        target.finish(view->verdict().readable);
    }
    half.put();
    say(stdout, "backed up " + count_text(objects) + " as of revision " +
                    std::to_string(view->verdict().readable) + "; start from it with `muster up " +
                    "--data " + shell_quoted(place) + "`");
    return 0;
}

int run_import(const StoreOptions& options) {
    File file(options.file, File::Way::read);
    NewDataFolder folder(options.data.empty() ? up::usual_data_directory() : options.data);
    store::NewStore target(folder.data().store_path());
    const ExportTotals totals = read_export(
        [&file] { return file.read_some(); }, options.file == "-" ? "standard input" : options.file,
        [&target](const store::Record& record) { target.put(record); },
        [](const store::Record& record) {
            return apiserver::stored_problem(record.key, *record.value);
        });
    target.finish(totals.revision);
    folder.keep();
    say(stdout, "imported " + count_text(totals.objects) + " as of revision " +
                    std::to_string(totals.revision) + " into " + folder.data().path());
    return 0;
}

int run_repair(const StoreOptions& options) {
    const std::string data_folder = data_of(options);
    const bool is_lost = !up::explain_lost_store(data_folder).empty();
    if (!options.accept_loss) {
        const int found = run_check(options);
        if (found != 0)
            say(stderr,
                "nothing was changed: with --accept-loss what can be read is kept, and "
                "the rest is given up");
        return found;
    }
    if (is_lost) return replace_lost(data_folder);
    const std::string folder = store_of(options);
    const up::DataDirectory data(fs::path(folder).parent_path().string());
    const store::Repaired repaired = store::repair_store(folder);
    if (repaired.was_whole) {
        say(stdout, folder + ": nothing is lost or damaged; nothing was changed");
        return 0;
    }
    say(stdout, "kept " + count_text(repaired.objects) +
                    (repaired.lost_tables
                         ? "; parts of the state from any time may be gone, and what was deleted "
                           "may be there again"
                         : ", the state as of revision " + std::to_string(repaired.readable)) +
                    "; the counting goes on at revision " + std::to_string(repaired.revision) +
                    "; the damaged folder is now " + repaired.damaged_copy);
    return 0;
}

}  // namespace muster::storage
