// base/persistent_vector.h - a vector whose copies share memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/persistent_node.h"
#include "base/verify.h"

namespace muster {

/// A growing sequence in chunks. A copy takes time in the number of chunks and shares them all; a
/// change after it copies one chunk. References end with the next change.
template <class T>
class PersistentVector {
public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    /// For reading, in order; ends with the next change.
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;

        Iterator() = default;
        Iterator(const PersistentVector& of, std::size_t at) : of_(&of), at_(at) {}
        const T& operator*() const { return (*of_)[at_]; }
        const T* operator->() const { return &**this; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++at_;
            return before;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

    private:
        const PersistentVector* of_ = nullptr;
        std::size_t at_ = 0;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size_}; }

    const T& operator[](std::size_t i) const {
        VERIFY(i < size_);
        return chunks_[i / chunk_size]->items[i % chunk_size];
    }
    /// For changing.
    T& edit(std::size_t i) {
        VERIFY(i < size_);
        return chunks_[i / chunk_size].own().items[i % chunk_size];
    }
    void push_back(T item) {
        if (size_ % chunk_size == 0) chunks_.emplace_back(new Chunk);
        chunks_.back().own().items.push_back(std::move(item));
        ++size_;
    }
    /// Makes it longer, with items as T() makes them. Requires: not shorter than it is.
    void grow(std::size_t size) {
        VERIFY(size >= size_);
        while (size_ < size)
            push_back(T());
    }

private:
    static constexpr std::size_t chunk_size = std::clamp<std::size_t>(2048 / sizeof(T), 1, 64);
    struct Chunk : CountedNode {
        std::vector<T> items;
    };

    std::vector<NodeRef<Chunk>> chunks_;
    std::size_t size_ = 0;
};

}  // namespace muster
