// api/value.h - the value tree: any JSON or YAML document, members in the order they were written.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/symbol.h"

namespace muster::api {

/// A JSON value. Integers that fit int64 stay integers. Objects keep their members' order and have
/// no key twice.
///
/// Reading never fails on shape: a missing member, or a member of something that is not an object,
/// is the null value, so `pod["spec"]["nodeName"].text_or("")` is safe on any input. The as_x
/// functions require the type.
///
/// Copies copy, except of what is sealed: that is shared, by as many threads as want it, and who
/// changes a copy gets what it changes for its own.
class Value {
public:
    enum class Type : std::uint8_t { null, boolean, integer, real, string, array, object };
    struct Member;
    using Array = std::vector<Value>;
    using Object = std::vector<Member>;

    Value() = default;
    Value(std::nullptr_t) {}         // NOLINT(google-explicit-constructor)
    Value(bool value);               // NOLINT(google-explicit-constructor)
    Value(int value);                // NOLINT(google-explicit-constructor)
    Value(std::int64_t value);       // NOLINT(google-explicit-constructor)
    Value(double value);             // NOLINT(google-explicit-constructor)
    Value(std::string_view value);   // NOLINT(google-explicit-constructor)
    Value(const std::string& value)  // NOLINT(google-explicit-constructor)
        : Value(std::string_view(value)) {}
    Value(const char* value)  // NOLINT(google-explicit-constructor)
        : Value(std::string_view(value)) {}
    Value(const Symbol& value) : Value(value.view()) {}  // NOLINT(google-explicit-constructor)
    Value(const Value& other);
    Value(Value&& other) noexcept;
    Value& operator=(const Value& other);
    Value& operator=(Value&& other) noexcept;
    ~Value();

    /// `Value::object({{"kind", "Pod"}, {"spec", spec}})`, `Value::array({1, 2})`.
    static Value object(std::initializer_list<std::pair<std::string_view, Value>> members = {});
    static Value array(std::initializer_list<Value> items = {});

    Type type() const { return type_; }
    bool is_null() const { return type_ == Type::null; }
    bool is_boolean() const { return type_ == Type::boolean; }
    bool is_integer() const { return type_ == Type::integer; }
    bool is_number() const { return type_ == Type::integer || type_ == Type::real; }
    bool is_string() const { return type_ == Type::string; }
    bool is_array() const { return type_ == Type::array; }
    bool is_object() const { return type_ == Type::object; }

    bool as_boolean() const;
    std::int64_t as_integer() const;
    double as_real() const;              // Also of an integer.
    std::string_view as_string() const;  // As long as a value has it.

    /// The value when it has that type, else what is given.
    bool boolean_or(bool otherwise) const;
    std::int64_t integer_or(std::int64_t otherwise) const;
    std::string_view text_or(std::string_view otherwise) const;
    std::string text() const { return std::string(text_or("")); }

    /// Arrays: their items; anything else: none. Objects: their members; anything else: none.
    const Array& items() const;
    const Object& members() const;
    Array& mutable_items();     // Makes a null an empty array. Requires: null or array.
    Object& mutable_members();  // Makes a null an empty object. Requires: null or object.
    std::size_t size() const;   // Items or members; 0 for scalars.
    bool empty() const { return size() == 0; }

    /// Member by key, item by index; a shared null value when absent.
    const Value& operator[](std::string_view key) const;
    const Value& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
    const Value& operator[](std::size_t index) const;
    const Value& operator[](int index) const { return (*this)[static_cast<std::size_t>(index)]; }

    /// Null pointer when absent.
    const Value* find(std::string_view key) const;
    Value* find(std::string_view key);
    bool has(std::string_view key) const { return find(key) != nullptr; }

    /// The member, made null when absent. A null value becomes an object. Requires: null or object.
    Value& at(std::string_view key);
    /// Sets a member, at its old place or at the end.
    Value& set(std::string_view key, Value value);
    /// True when it was there.
    bool erase(std::string_view key);
    /// Appends. A null value becomes an array. Requires: null or array.
    Value& push(Value value);

    /// Walks "spec.template.spec" by members and numbers; the shared null value when anything is
    /// absent. Keys with dots cannot be reached this way.
    const Value& path(std::string_view dotted) const;

    /// Objects are equal when they have equal members in any order; 1 and 1.0 are equal.
    friend bool operator==(const Value& a, const Value& b);

    /// From now on copies share the whole tree, and it takes no more room than it needs. Requires:
    /// nothing refers into it to change it.
    void seal();
    /// Others have the same content, not only an equal one.
    bool is_shared() const;
    /// The very same content, so certainly equal; what is only equal is not.
    bool is_same(const Value& other) const { return type_ == other.type_ && bits_ == other.bits_; }

private:
    /// A string's text, which lies behind it: never changed, so always shared by copies.
    struct Text {
        std::atomic<std::uint32_t> others;
        std::uint32_t size;
        std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), size}; }
    };
    static Text* new_text(std::string_view text);
    static void release(Text* text);

    /// What an array or an object is; the others who have it are counted.
    template <class Content>
    struct Cell {
        Content content;
        std::atomic<std::uint32_t> others{0};
        bool sealed = false;
    };
    template <class Content>
    static Cell<Content>* copy_of(Cell<Content>* cell);
    template <class Content>
    static void release(Cell<Content>* cell);
    /// The content, for changes: nobody else sees them.
    template <class Content>
    static Content& own(Cell<Content>*& cell);

    void swap(Value& other) noexcept;
    void destroy();
    Type type_ = Type::null;
    union {
        std::uint64_t bits_ = 0;  // All of the union, for moving it.
        bool boolean_;
        std::int64_t integer_;
        double real_;
        Text* string_;
        Cell<Array>* array_;
        Cell<Object>* object_;
    };
};

struct Value::Member {
    Symbol key;
    Value value;
};

}  // namespace muster::api
