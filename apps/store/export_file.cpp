// apps/store/export_file.cpp - one line a record, a hash over all of them.
#include "apps/store/export_file.h"

#include <array>
#include <optional>
#include <utility>
#include <variant>

#include <openssl/evp.h>

#include "api/json.h"
#include "base/error.h"
#include "base/text.h"
#include "base/verify.h"

namespace muster::storage {
namespace {

constexpr std::string_view format = "muster export 1";
// The API server takes no object of a tenth of that.
constexpr std::size_t line_bytes_max = 64 << 20;

/// SHA-256 of what is added.
class Sha256 {
public:
    Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        VERIFY(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
    }
    void add(std::string_view text) {
        VERIFY(EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1);
    }
    std::string hex() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
        unsigned size = 0;
        VERIFY(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
        std::string text;
        for (unsigned i = 0; i < size; ++i) {
            text += "0123456789abcdef"[bytes[i] >> 4];
            text += "0123456789abcdef"[bytes[i] & 15];
        }
        return text;
    }

private:
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string quoted(std::string_view text) {
    return api::to_json(api::Value(std::string(text)));
}

bool is_json(const std::string& text) {
    return std::holds_alternative<api::Parsed>(api::parse_json(text));
}

bool is_json_line(const std::string& text) {
    return text.starts_with('{') && text.find('\n') == std::string::npos && is_json(text);
}

/// The lines of a text, one at a time.
class Lines {
public:
    Lines(const Source& source, std::string name) : source_(source), name_(std::move(name)) {}

    /// Absent at the end. A last line without its end is one that was cut off.
    std::optional<std::string> next() {
        std::size_t end = rest_.find('\n', begin_);
        while (end == std::string::npos) {
            rest_.erase(0, std::exchange(begin_, 0));
            if (rest_.size() > line_bytes_max) fail("the line is too long");
            const std::size_t looked_at = rest_.size();
            const std::string more = source_();
            if (more.empty()) {
                if (rest_.empty()) return std::nullopt;
                ++number_;
                fail("the line is cut off");
            }
            rest_ += more;
            end = rest_.find('\n', looked_at);
        }
        ++number_;
        std::string line = rest_.substr(begin_, end - begin_);
        begin_ = end + 1;
        return line;
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(Reason::invalid,
                    "error: " + name_ + ", line " + std::to_string(number_) + ": " + what);
    }

private:
    const Source& source_;
    std::string name_;
    std::string rest_;
    std::size_t begin_ = 0;
    std::size_t number_ = 0;
};

api::Value object_of(const Lines& lines, std::string_view text) {
    auto parsed = api::parse_json(text);
    if (const auto* fault = std::get_if<api::ParseError>(&parsed)) lines.fail(fault->text);
    api::Value value = std::move(std::get<api::Parsed>(parsed).value);
    if (!value.is_object()) lines.fail("it is not an object of an export");
    return value;
}

void check_revision(const Lines& lines, std::int64_t revision) {
    if (revision > store::revision_max)
        lines.fail("the revision " + std::to_string(revision) + " is above " +
                   std::to_string(store::revision_max) + ", where no Muster counts to");
}

/// The value's bytes are all that follows `"value":`, up to the line's last brace.
store::Record record_of(const Lines& lines, const std::string& line) {
    const api::Value object = object_of(lines, line);
    const api::Value& key = object["key"];
    const api::Value& revision = object["revision"];
    if (!key.is_string() || key.text().empty() || !revision.is_integer() ||
        revision.as_integer() < 1)
        lines.fail("it has no key, or no revision above 0");
    check_revision(lines, revision.as_integer());
    store::Record record{key.text(), nullptr, revision.as_integer()};
    const std::string head =
        "{\"key\":" + quoted(record.key) + ",\"revision\":" + std::to_string(record.revision) + ",";
    const std::string_view rest = std::string_view(line).substr(std::min(head.size(), line.size()));
    constexpr std::string_view value_name = "\"value\":";
    if (line.starts_with(head) && rest.starts_with(value_name)) {
        const std::string_view value = rest.substr(value_name.size());
        record.value = make_bytes(std::string(value.substr(0, value.size() - 1)));
        if (is_json_line(*record.value)) return record;
    }
    if (line.starts_with(head) && object["bytes"].is_string()) {
        const auto bytes = from_base64(object["bytes"].text());
        if (bytes) {
            record.value = make_bytes(*bytes);
            return record;
        }
    }
    lines.fail("it is not written as an export writes it: key, revision, then value or bytes");
}

}  // namespace

struct ExportWriter::Hash {
    Sha256 sha;
};

ExportWriter::ExportWriter(Sink sink, std::int64_t revision)
    : sink_(std::move(sink)), hash_(std::make_unique<Hash>()) {
    line("{\"format\":" + quoted(format) + ",\"revision\":" + std::to_string(revision) + "}\n");
}

ExportWriter::~ExportWriter() = default;

void ExportWriter::line(const std::string& text) {
    hash_->sha.add(text);
    sink_(text);
}

void ExportWriter::put(const store::Record& record) {
    const std::string& value = *record.value;
    const std::string head =
        "{\"key\":" + quoted(record.key) + ",\"revision\":" + std::to_string(record.revision);
    std::string text = head + ",\"value\":" + value + "}";
    // The line is a level deeper than the value, which may be as deep as is read.
    if (!is_json_line(value) || !is_json(text))
        text = head + ",\"bytes\":\"" + to_base64(value) + "\"}";
    line(text + "\n");
    ++objects_;
}

void ExportWriter::finish() {
    sink_("{\"objects\":" + std::to_string(objects_) + ",\"sha256\":\"" + hash_->sha.hex() +
          "\"}\n");
}

ExportTotals read_export(const Source& source, const std::string& name,
                         const std::function<void(store::Record)>& load, const Check& check) {
    Lines lines(source, name);
    Sha256 hash;
    ExportTotals totals;
    std::optional<std::string> line = lines.next();
    if (!line) lines.fail("it is empty; an export begins with its format");
    const api::Value first = object_of(lines, *line);
    if (first["format"].text_or("") != format)
        lines.fail("it is no export in the format \"" + std::string(format) + "\"");
    if (!first["revision"].is_integer() || first["revision"].as_integer() < 0)
        lines.fail("the revision of the export is missing");
    totals.revision = first["revision"].as_integer();
    check_revision(lines, totals.revision);
    std::string last_key;
    for (;;) {
        hash.add(*line);
        hash.add("\n");
        line = lines.next();
        if (!line) lines.fail("the export is cut off: its last line, with its hash, is missing");
        if (line->starts_with("{\"objects\":")) break;
        store::Record record = record_of(lines, *line);
        if (record.key <= last_key) lines.fail("the keys are not in order");
        if (record.revision > totals.revision)
            lines.fail("the revision is above that of the export");
        const std::string problem = check ? check(record) : "";
        if (!problem.empty()) lines.fail("key " + quoted(record.key) + ": " + problem);
        last_key = record.key;
        ++totals.objects;
        load(std::move(record));
    }
    const api::Value last = object_of(lines, *line);
    if (!last["objects"].is_integer() ||
        last["objects"].as_integer() != static_cast<std::int64_t>(totals.objects)) {
        lines.fail("there are " + std::to_string(totals.objects) +
                   " objects, the export had another number; it was changed");
    }
    if (last["sha256"].text_or("") != hash.hex())
        lines.fail("the hash is another one; the export was changed or damaged");
    if (lines.next()) lines.fail("something stands behind the export's end");
    return totals;
}

}  // namespace muster::storage
