// base/symbol.h - a name that is written once and pointed at: keys of documents, kinds, namespaces.
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// An immutable text of the size of a pointer. The first names that a program meets are kept in one
/// table for its whole life, and copies of them cost nothing; one that is long or quotes
/// something, or comes when the table is full, is counted by those who have it. Order and equality
/// are those of the texts. Any thread may make, copy and drop them.
class Symbol {
public:
    Symbol() : Symbol(std::string_view()) {}
    // NOLINTBEGIN(google-explicit-constructor)
    Symbol(std::string_view text);
    Symbol(const std::string& text) : Symbol(std::string_view(text)) {}
    Symbol(const char* text) : Symbol(std::string_view(text)) {}
    // NOLINTEND(google-explicit-constructor)
    Symbol(const Symbol& other) : entry_(other.entry_) { keep(); }
    Symbol(Symbol&& other) noexcept : entry_(other.entry_) { keep(); }
    Symbol& operator=(const Symbol& other) {  // NOLINT(bugprone-unhandled-self-assignment)
        other.keep();
        drop();
        entry_ = other.entry_;
        return *this;
    }
    Symbol& operator=(Symbol&& other) noexcept { return *this = std::as_const(other); }
    ~Symbol() { drop(); }

    const std::string& text() const { return entry_->text; }
    std::string_view view() const { return entry_->text; }
    operator const std::string&() const {  // NOLINT(google-explicit-constructor)
        return entry_->text;
    }
    operator std::string_view() const {  // NOLINT(google-explicit-constructor)
        return entry_->text;
    }
    std::size_t size() const { return entry_->text.size(); }
    bool empty() const { return entry_->text.empty(); }
    bool starts_with(std::string_view start) const { return view().starts_with(start); }
    bool ends_with(std::string_view end) const { return view().ends_with(end); }

    /// The stable_hash of the text.
    std::uint64_t hash() const { return entry_->hash; }

    friend bool operator==(const Symbol& a, const Symbol& b) {
        if (a.entry_ == b.entry_) return true;
        return !(a.entry_->is_kept && b.entry_->is_kept) && a.view() == b.view();
    }
    friend std::strong_ordering operator<=>(const Symbol& a, const Symbol& b) {
        return a.entry_ == b.entry_ ? std::strong_ordering::equal : a.view() <=> b.view();
    }
    template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> &&
             !std::same_as<Text, Symbol>) friend bool
    operator==(const Symbol& a, const Text& b) {
        return a.view() == std::string_view(b);
    }
    template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> &&
             !std::same_as<Text, Symbol>) friend std::strong_ordering
    operator<=>(const Symbol& a, const Text& b) {
        return a.view() <=> std::string_view(b);
    }

    friend std::string operator+(std::string a, const Symbol& b) {
        return std::move(a) += b.text();
    }
    friend std::string operator+(const Symbol& a, std::string_view b) {
        return std::string(a.text()) += b;
    }

    /// How many names the table holds; it holds at most `most_kept`.
    static std::size_t kept();
    static constexpr std::size_t most_kept = 1 << 14;
    static constexpr std::size_t longest_kept = 128;

private:
    struct Entry {
        std::string text;
        std::uint64_t hash = 0;
        bool is_kept = false;
        std::atomic<std::uint32_t> others{0};  // Of one that is not kept.
    };
    friend struct SymbolTable;

    void keep() const {
        if (!entry_->is_kept) entry_->others.fetch_add(1, std::memory_order_relaxed);
    }
    void drop() const {
        if (!entry_->is_kept && entry_->others.fetch_sub(1, std::memory_order_acq_rel) == 0)
            delete entry_;
    }

    Entry* entry_;
};

inline std::string format_as(const Symbol& symbol) {
    return symbol.text();
}

}  // namespace muster

template <>
struct std::hash<muster::Symbol> {
    std::size_t operator()(const muster::Symbol& symbol) const noexcept { return symbol.hash(); }
};
