// apps/store/export_file.h - the records of a store as lines of JSON, and back.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/journal.h"

namespace muster::storage {

/// Writes an export: a first line with the revision, a line for each record, a last line with their
/// number and the SHA-256 of all lines before it.
///
///     {"format":"muster export 1","revision":9}
///     {"key":"/core/configmaps/default/a","revision":7,"value":{...the bytes as they are
///     stored...}}
///     {"objects":1,"sha256":"..."}
///
/// A value that is not one line of JSON, or too deep for one more level, stands as
/// `"bytes":"...base64..."`.
class ExportWriter {
public:
    using Sink = std::function<void(std::string_view text)>;

    ExportWriter(Sink sink, std::int64_t revision);
    ~ExportWriter();
    ExportWriter(const ExportWriter&) = delete;
    ExportWriter& operator=(const ExportWriter&) = delete;

    /// Keys in order, each once.
    void put(const store::Record& record);
    void finish();
    std::size_t objects() const { return objects_; }

private:
    struct Hash;
    void line(const std::string& text);

    Sink sink_;
    std::unique_ptr<Hash> hash_;
    std::size_t objects_ = 0;
};

/// The revision and the number of objects that an export names.
struct ExportTotals {
    std::int64_t revision = 0;
    std::size_t objects = 0;
};

/// Gives the next piece of a text; empty at its end.
using Source = std::function<std::string()>;

/// Why a record is none to be taken; empty: it is taken.
using Check = std::function<std::string(const store::Record&)>;

/// Reads an export to its end; `load` gets each record. Throws Error that names the line and what
/// is wrong: cut off, changed, of another format, of revisions that nobody counts to, or what
/// `check` says.
ExportTotals read_export(const Source& source, const std::string& name,
                         const std::function<void(store::Record)>& load, const Check& check = {});

}  // namespace muster::storage
