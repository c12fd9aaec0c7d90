// decide/id_set.h - sets of small ids that are changed and walked through all the time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "decide/ids.h"

namespace muster::decide {

/// Ids as bits, walked through in their order. It takes a bit for every id up to the largest one,
/// and walking through it the time to read them.
template <class Id>
class IdSet {
public:
    void insert(Id id) {
        const std::size_t word = index(id) / bits;
        if (word >= words_.size()) words_.resize(word + 1);
        size_ += contains(id) ? 0 : 1;
        words_[word] |= bit_of(id);
    }
    template <class Iterator>
    void insert(Iterator first, Iterator last) {
        for (; first != last; ++first)
            insert(*first);
    }
    void erase(Id id) {
        if (!contains(id)) return;
        words_[index(id) / bits] &= ~bit_of(id);
        --size_;
    }
    bool contains(Id id) const {
        const std::size_t word = index(id) / bits;
        return word < words_.size() && (words_[word] & bit_of(id)) != 0;
    }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

    /// Ids inserted or erased meanwhile are seen as they are when it comes to them.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Id;
        using difference_type = std::ptrdiff_t;
        using pointer = const Id*;
        using reference = Id;

        Iterator(const IdSet& of, std::size_t at) : of_(&of), at_(of.next(at)) {}
        Id operator*() const { return static_cast<Id>(at_); }
        Iterator& operator++() {
            at_ = of_->next(at_ + 1);
            return *this;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

    private:
        const IdSet* of_;
        std::size_t at_;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, end_of_ids}; }

    template <class Predicate>
    friend void erase_if(IdSet& ids, const Predicate& predicate) {
        for (const Id id : ids) {
            if (predicate(id)) ids.erase(id);
        }
    }

private:
    static constexpr std::size_t bits = 64;
    static constexpr std::size_t end_of_ids = SIZE_MAX;
    static std::uint64_t bit_of(Id id) { return std::uint64_t{1} << (index(id) % bits); }

    /// The first one that is not before `from`.
    std::size_t next(std::size_t from) const {
        std::size_t word = from / bits;
        if (word >= words_.size()) return end_of_ids;
        std::uint64_t rest = words_[word] & (~std::uint64_t{0} << (from % bits));
        while (rest == 0) {
            if (++word == words_.size()) return end_of_ids;
            rest = words_[word];
        }
        return word * bits + static_cast<std::size_t>(std::countr_zero(rest));
    }

    std::vector<std::uint64_t> words_;
    std::size_t size_ = 0;
};

/// Ids to be looked at later, as often as they were added; taken out once each and in their order.
template <class Id>
class ToDo {
public:
    void insert(Id id) {
        if (ids_.empty() || ids_.back() != id) ids_.push_back(id);
    }
    template <class Iterator>
    void insert(Iterator first, Iterator last) {
        for (; first != last; ++first)
            insert(*first);
    }
    bool empty() const { return ids_.empty(); }
    std::vector<Id> take() {
        std::vector<Id> ids = std::exchange(ids_, {});
        sort(ids);
        return ids;
    }
    std::vector<Id> once_each() const {
        std::vector<Id> ids = ids_;
        sort(ids);
        return ids;
    }

private:
    static void sort(std::vector<Id>& ids) {
        if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }

    std::vector<Id> ids_;
};

}  // namespace muster::decide
