// store/log_groups.cpp - counts the writes of each record of a log.
#include "store/log_groups.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "store/disk_format.h"

namespace muster::store {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

/// Visits the writes of a batch.
class Counter : public rocksdb::WriteBatch::Handler {
public:
    Counter(LogGroup& group, Overlay& settings) : group_(group), settings_(settings) {}

    Status PutCF(std::uint32_t /*family*/, const Slice& key, const Slice& value) override {
        if (key.starts_with(Slice(&record_prefix, 1))) {
            ++group_.count;
        } else if (key == Slice(revision_key) && value.size() == revision_size) {
            group_.last = revision_of(value);
            group_.sound = true;
        } else {
            settings_[key.ToString()] = value.ToString();
        }
        return Status::OK();
    }
    Status DeleteCF(std::uint32_t /*family*/, const Slice& key) override {
        if (key.starts_with(Slice(&record_prefix, 1))) ++group_.count;
        return Status::OK();
    }

private:
    LogGroup& group_;
    Overlay& settings_;
};

class Layer : public rocksdb::WriteBatch::Handler {
public:
    explicit Layer(Overlay& overlay) : overlay_(overlay) {}

    Status PutCF(std::uint32_t /*family*/, const Slice& key, const Slice& value) override {
        overlay_[key.ToString()] = value.ToString();
        return Status::OK();
    }
    Status DeleteCF(std::uint32_t /*family*/, const Slice& key) override {
        overlay_[key.ToString()] = std::nullopt;
        return Status::OK();
    }

private:
    Overlay& overlay_;
};

/// The database's number of a record's first write: it begins the record, little endian.
std::optional<std::uint64_t> number_of(const rocksdb::WriteBatch& batch) {
    const std::string& bytes = batch.Data();
    if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
}

}  // namespace

rocksdb::WalFilter::WalProcessingOption LogGroups::LogRecordFound(
    unsigned long long /*log_number*/, const std::string& /*log*/, const rocksdb::WriteBatch& batch,
    rocksdb::WriteBatch* /*new_batch*/, bool* /*batch_changed*/) {
    const std::optional<std::uint64_t> number = number_of(batch);
    has_repeated_record_ = has_repeated_record_ || !number || *number < next_number_;
    if (number) next_number_ = std::max(next_number_, *number + batch.Count());
    LogGroup group;
    Counter counter(group, settings_);
    const bool can_be_read = batch.Iterate(&counter).ok();
    const bool has_settings_only = can_be_read && group.count == 0 && !group.sound;
    if (!has_settings_only) {
        group.sound = group.sound && can_be_read;
        if (keep_) group.batch = batch;
        groups_.push_back(std::move(group));
    }
    return WalProcessingOption::kIgnoreCurrentRecord;
}

void lay_over(Overlay& overlay, const LogGroup& group) {
    Layer layer(overlay);
    // It was counted before: it can be read.
    group.batch.Iterate(&layer).PermitUncheckedError();
}

}  // namespace muster::store
