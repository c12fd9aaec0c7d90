// store/history.cpp - keeping the newest changes within bounds.
#include "store/history.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include <zstd.h>

#include "base/verify.h"

namespace muster::store {
namespace {

constexpr int quickest = 1;  // Of zstd's levels.

/// What a change costs: itself and the value that nobody else holds any more. The value that it
/// made is the state's, until a later change has it as the value before.
std::size_t cost_of(const Change& change) {
    return sizeof(Change) + change.key.size() + (change.before ? change.before->size() : 0);
}

void put_number(std::string& plain, std::uint64_t number) {
    plain.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put_value(std::string& plain, const Bytes& value) {
    put_number(plain, value ? value->size() + 1 : 0);
    if (value) plain += *value;
}

void put_change(std::string& plain, const Change& change) {
    put_number(plain, change.key.size());
    plain += change.key;
    put_number(plain, static_cast<std::uint64_t>(change.before_revision));
    put_value(plain, change.before);
    put_value(plain, change.after);
}

/// Takes from the front what the functions above put there.
class Taker {
public:
    explicit Taker(std::string_view rest) : rest_(rest) {}

    std::uint64_t number() {
        std::uint64_t number = 0;
        std::memcpy(&number, text(sizeof number).data(), sizeof number);
        return number;
    }
    std::string_view text(std::size_t size) {
        VERIFY(size <= rest_.size());
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    /// Of a value; without data when it was null.
    std::string_view value_text() {
        const std::uint64_t size = number();
        return size == 0 ? std::string_view() : text(size - 1);
    }

private:
    std::string_view rest_;
};

Bytes value_of(std::string_view text) {
    return text.data() == nullptr ? nullptr : make_bytes(std::string(text));
}

/// A key up to its last slash.
std::string_view folder_of(std::string_view key) {
    return key.substr(0, key.rfind('/') + 1);
}

}  // namespace

std::size_t History::Block::bytes() const {
    std::size_t bytes = sizeof(Block) + packed.size();
    for (const std::string& folder : folders)
        bytes += sizeof folder + folder.size();
    return bytes;
}

bool History::Block::may_have(std::string_view prefix) const {
    return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) {
        return folder.starts_with(prefix) || prefix.starts_with(folder);
    });
}

void History::add(Change change) {
    const auto kept = static_cast<Revision>(packed_changes_ + recent_.size());
    VERIFY(change.revision == forgotten_ + kept + 1);
    recent_bytes_ += cost_of(change);
    recent_.push_back(std::move(change));
    if (recent_.size() >= 2 * changes_of_block || recent_bytes_ > limits_.bytes / 2) pack_oldest();
    while (packed_changes_ + recent_.size() > limits_.changes || bytes() > limits_.bytes) {
        forget_oldest();
        if (blocks_.empty() && recent_.empty()) break;
    }
}

Change History::take_oldest_recent() {
    Change oldest = std::move(recent_.front());
    recent_.pop_front();
    recent_bytes_ -= cost_of(oldest);
    return oldest;
}

void History::pack_oldest() {
    Block block;
    block.changes = std::min(changes_of_block, recent_.size());
    block.newest = recent_[block.changes - 1].revision;
    std::set<std::string, std::less<>> folders;
    std::string plain;
    for (std::size_t i = 0; i < block.changes; ++i) {
        const Change change = take_oldest_recent();
        const std::string_view folder = folder_of(change.key);
        if (!folders.contains(folder)) folders.emplace(folder);
        put_change(plain, change);
    }
    block.folders.assign(folders.begin(), folders.end());
    block.plain_size = plain.size();
    std::string packed(ZSTD_compressBound(plain.size()), '\0');
    const std::size_t size =
        ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), quickest);
    VERIFY(ZSTD_isError(size) == 0);
    block.packed.assign(packed, 0, size);
    packed_bytes_ += block.bytes();
    packed_changes_ += block.changes;
    blocks_.push_back(std::move(block));
}

void History::forget_oldest() {
    if (blocks_.empty()) {
        forgotten_ = take_oldest_recent().revision;
        return;
    }
    const Block& oldest = blocks_.front();
    packed_bytes_ -= oldest.bytes();
    packed_changes_ -= oldest.changes;
    forgotten_ = oldest.newest;
    blocks_.pop_front();
}

void History::each_after(Revision since, std::string_view prefix,
                         const std::function<void(const Change&)>& visit) const {
    std::string plain;
    for (const Block& block : blocks_) {
        if (block.newest <= since || !block.may_have(prefix)) continue;
        plain.resize(block.plain_size);
        const std::size_t size =
            ZSTD_decompress(plain.data(), plain.size(), block.packed.data(), block.packed.size());
        VERIFY(size == plain.size());
        Taker taker(plain);
        Revision revision = block.newest - static_cast<Revision>(block.changes);
        for (std::size_t i = 0; i < block.changes; ++i) {
            const std::string_view key = taker.text(taker.number());
            const auto before_revision = static_cast<Revision>(taker.number());
            const std::string_view before = taker.value_text();
            const std::string_view after = taker.value_text();
            ++revision;
            if (revision <= since || !key.starts_with(prefix)) continue;
            visit({std::string(key), value_of(before), value_of(after), revision, before_revision});
        }
    }
    for (const Change& change : recent_) {
        if (change.revision > since && change.key.starts_with(prefix)) visit(change);
    }
}

}  // namespace muster::store
