// store/disk_format.h - what the bytes in the database mean, and how it is opened.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include <rocksdb/options.h>
#include <rocksdb/slice.h>

#include "store/journal.h"

namespace muster::store {

// Keys: "r" + the record's key; "meta/..." for the rest. Values of records: the revision, 8 bytes,
// little endian, then the bytes. Do not change without a new format.
constexpr char record_prefix = 'r';
constexpr const char* format_key = "meta/format";
constexpr const char* format_text = "muster store 1";
constexpr const char* revision_key = "meta/revision";
/// Its presence says that the folder has a file ANSWERED (store/answered_file.h).
constexpr const char* answered_key = "meta/answered";
constexpr std::size_t revision_size = sizeof(std::int64_t);

inline std::string revision_bytes(std::int64_t revision) {
    std::string bytes(revision_size, '\0');
    std::memcpy(bytes.data(), &revision, revision_size);
    return bytes;
}

/// Requires: at least eight bytes.
inline std::int64_t revision_of(const rocksdb::Slice& value) {
    std::int64_t revision = 0;
    std::memcpy(&revision, value.data(), revision_size);
    return revision;
}

/// The object in an entry of the database. Throws Error (refuse_folder) when it cannot be one.
Record record_of(const std::string& folder, const rocksdb::Slice& key, const rocksdb::Slice& value);

/// Small: the state is in memory, the database is only written, and read once.
rocksdb::Options database_options();

/// Without a log of the database's own, and without a folder made: for readers of a folder that
/// may be another process's.
rocksdb::Options read_only_options();

}  // namespace muster::store
