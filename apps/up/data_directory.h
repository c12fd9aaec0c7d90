// apps/up/data_directory.h - the folder that holds all state of one `muster up`: its lock, its keys
// and where the parts keep theirs.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "net/pki.h"

namespace muster::up {

/// Where state is kept when nobody says: $XDG_STATE_HOME/muster, else ~/.local/state/muster.
std::string usual_data_directory();

/// Writes a file that only its owner can read, whole or not at all. Throws Error.
void write_secret_file(const std::string& path, const std::string& text);

/// The content of a file. Throws Error that names the file.
std::string read_file(const std::string& path);
bool file_exists(const std::string& path);

/// The content of a file of a data folder; absent when there is none. Throws Error that names it
/// when it cannot be read, or is no file of a reasonable size: no named pipe is waited for.
std::optional<std::string> read_state_file(const std::string& path);

/// A data folder that a Muster has used and whose store is gone: in one sentence what is lost and
/// what to do. Empty of every other folder: also of one that is new, or none.
std::string explain_lost_store(const std::string& data);

/// A folder of state, made when it is not there, locked as long as this lives. Only one process can
/// have it.
class DataDirectory {
public:
    /// Throws Error in one sentence when the folder is another program's, in use, or cannot be
    /// written.
    explicit DataDirectory(const std::string& path);
    ~DataDirectory();
    DataDirectory(const DataDirectory&) = delete;
    DataDirectory& operator=(const DataDirectory&) = delete;

    const std::string& path() const { return path_; }  // Absolute.
    std::string store_path() const { return path_ + "/store"; }
    std::string kubeconfig_path() const { return path_ + "/kubeconfig"; }

    /// Takes back what was made here, also the folder if this has made it, when nothing else is in
    /// it. For one that could not do what it made the folder for.
    void remove_if_empty() const;

private:
    std::string path_;
    bool was_there_ = true;
    int lock_fd_ = -1;
};

/// The keys of one Muster.
struct Keys {
    net::KeyPair authority;
    net::KeyPair server;
    net::KeyPair admin;             // kubernetes-admin in system:masters.
    std::string token_signing_key;  // Private, PEM.
};

/// Reads the keys below pki/, making what is missing, is about to expire, or no longer names
/// everything in `server`. Throws Error when a part of the authority is missing or damaged, or the
/// signing key is no key: new ones would shut out everybody who has something of the old ones.
Keys load_keys(const DataDirectory& data, const net::Subject& server, Time now);

}  // namespace muster::up
