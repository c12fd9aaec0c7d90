// apps/store/store_commands.h - `muster store ...`: looks at a data folder, saves it, restores it.
#pragma once

#include <string>

namespace muster::storage {

/// The options of the command line.
struct StoreOptions {
    std::string data;  // The data folder; empty: the usual one.
    std::string file;  // export, import: a file, or "-"; backup: a folder.
    bool accept_loss = false;
};

// Each gives the exit code, and throws Error in words for the user. The first three also work while
// a Muster runs on the folder.

/// Reads everything; 1 when something is lost or damaged.
int run_check(const StoreOptions& options);
/// All objects as lines of JSON.
int run_export(const StoreOptions& options);
/// A new folder from which `muster up --data` starts: the store and the keys. On the disk when it
/// returns.
int run_backup(const StoreOptions& options);
/// Into a data folder without a store.
int run_import(const StoreOptions& options);
/// Keeps what can be read; without `accept_loss` it is run_check, and changes nothing.
int run_repair(const StoreOptions& options);

}  // namespace muster::storage
