// api/value.cpp - the value tree: construction, reading that never fails on shape, changing.
#include "api/value.h"

#include <algorithm>
#include <charconv>

#include "base/verify.h"

namespace muster::api {
namespace {

const Value null_value{};
const Value::Array no_items;
const Value::Object no_members;

}  // namespace

Value::Value(bool value) : type_(Type::boolean), boolean_(value) {}
Value::Value(int value) : type_(Type::integer), integer_(value) {}
Value::Value(std::int64_t value) : type_(Type::integer), integer_(value) {}
Value::Value(double value) : type_(Type::real), real_(value) {}
Value::Value(std::string value) : type_(Type::string), string_(new std::string(std::move(value))) {}
Value::Value(std::string_view value) : type_(Type::string), string_(new std::string(value)) {}
Value::Value(const char* value) : Value(std::string_view(value)) {}

Value::Value(const Value& other) : type_(other.type_) {
    switch (type_) {
        case Type::string:
            string_ = new std::string(*other.string_);
            break;
        case Type::array:
            array_ = new Array(*other.array_);
            break;
        case Type::object:
            object_ = new Object(*other.object_);
            break;
        default:
            bits_ = other.bits_;
    }
}

Value::Value(Value&& other) noexcept {
    swap(other);
}

Value& Value::operator=(const Value& other) {
    // A copy first: `other` may be a part of this value.
    Value copy(other);
    swap(copy);
    return *this;
}

Value& Value::operator=(Value&& other) noexcept {
    // Out of `other` before this is destroyed: `other` may be a part of this value.
    Value taken(std::move(other));
    swap(taken);
    return *this;
}

Value::~Value() {
    if (type_ >= Type::string) destroy();
}

void Value::swap(Value& other) noexcept {
    static_assert(sizeof(std::int64_t) == sizeof(Object*) && sizeof(double) == sizeof(Object*));
    std::swap(type_, other.type_);
    std::swap(bits_, other.bits_);
}

void Value::destroy() {
    if (type_ == Type::string) delete string_;
    if (type_ == Type::array) delete array_;
    if (type_ == Type::object) delete object_;
}

Value Value::object(std::initializer_list<std::pair<std::string_view, Value>> members) {
    Value value;
    value.mutable_members().reserve(members.size());
    for (const auto& [key, member] : members)
        value.set(key, member);
    return value;
}

Value Value::array(std::initializer_list<Value> items) {
    Value value;
    value.mutable_items().assign(items.begin(), items.end());
    return value;
}

bool Value::as_boolean() const {
    VERIFY(type_ == Type::boolean);
    return boolean_;
}

std::int64_t Value::as_integer() const {
    VERIFY(type_ == Type::integer);
    return integer_;
}

double Value::as_real() const {
    VERIFY(is_number());
    return type_ == Type::real ? real_ : static_cast<double>(integer_);
}

const std::string& Value::as_string() const {
    VERIFY(type_ == Type::string);
    return *string_;
}

bool Value::boolean_or(bool otherwise) const {
    return type_ == Type::boolean ? boolean_ : otherwise;
}

std::int64_t Value::integer_or(std::int64_t otherwise) const {
    return type_ == Type::integer ? integer_ : otherwise;
}

std::string_view Value::text_or(std::string_view otherwise) const {
    return type_ == Type::string ? std::string_view(*string_) : otherwise;
}

const Value::Array& Value::items() const {
    return type_ == Type::array ? *array_ : no_items;
}

const Value::Object& Value::members() const {
    return type_ == Type::object ? *object_ : no_members;
}

Value::Array& Value::mutable_items() {
    if (type_ == Type::null) {
        array_ = new Array();
        type_ = Type::array;
    }
    VERIFY(type_ == Type::array);
    return *array_;
}

Value::Object& Value::mutable_members() {
    if (type_ == Type::null) {
        object_ = new Object();
        type_ = Type::object;
    }
    VERIFY(type_ == Type::object);
    return *object_;
}

std::size_t Value::size() const {
    if (type_ == Type::array) return array_->size();
    if (type_ == Type::object) return object_->size();
    return 0;
}

const Value& Value::operator[](std::string_view key) const {
    const Value* found = find(key);
    return found ? *found : null_value;
}

const Value& Value::operator[](std::size_t index) const {
    return type_ == Type::array && index < array_->size() ? (*array_)[index] : null_value;
}

const Value* Value::find(std::string_view key) const {
    if (type_ != Type::object) return nullptr;
    for (const Member& member : *object_) {
        if (member.key == key) return &member.value;
    }
    return nullptr;
}

Value* Value::find(std::string_view key) {
    return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::at(std::string_view key) {
    if (Value* found = find(key)) return *found;
    return mutable_members().emplace_back(Member{std::string(key), Value()}).value;
}

Value& Value::set(std::string_view key, Value value) {
    Value& place = at(key);
    place = std::move(value);
    return place;
}

bool Value::erase(std::string_view key) {
    if (type_ != Type::object) return false;
    const auto found = std::find_if(object_->begin(), object_->end(),
                                    [&](const Member& member) { return member.key == key; });
    if (found == object_->end()) return false;
    object_->erase(found);
    return true;
}

Value& Value::push(Value value) {
    return mutable_items().emplace_back(std::move(value));
}

const Value& Value::path(std::string_view dotted) const {
    const Value* here = this;
    while (!dotted.empty()) {
        const std::size_t dot = std::min(dotted.find('.'), dotted.size());
        const std::string_view step = dotted.substr(0, dot);
        dotted.remove_prefix(std::min(dot + 1, dotted.size()));
        std::size_t index = 0;
        const char* end = step.data() + step.size();
        if (!here->is_array()) {
            here = &(*here)[step];
        } else if (const auto read = std::from_chars(step.data(), end, index);
                   read.ec == std::errc() && read.ptr == end) {
            here = &(*here)[index];
        } else {
            return null_value;
        }
    }
    return *here;
}

bool operator==(const Value& a, const Value& b) {
    if (a.type_ != b.type_) {
        return a.is_number() && b.is_number() && a.as_real() == b.as_real();
    }
    switch (a.type_) {
        case Value::Type::null:
            return true;
        case Value::Type::boolean:
            return a.boolean_ == b.boolean_;
        case Value::Type::integer:
            return a.integer_ == b.integer_;
        case Value::Type::real:
            return a.real_ == b.real_;
        case Value::Type::string:
            return *a.string_ == *b.string_;
        case Value::Type::array:
            return *a.array_ == *b.array_;
        case Value::Type::object:
            break;
    }
    if (a.object_->size() != b.object_->size()) return false;
    for (std::size_t i = 0; i < a.object_->size(); ++i) {
        const Value::Member& mine = (*a.object_)[i];
        // The same order is the usual case.
        const Value::Member& twin = (*b.object_)[i];
        const Value* other = mine.key == twin.key ? &twin.value : b.find(mine.key);
        if (!other || !(mine.value == *other)) return false;
    }
    return true;
}

}  // namespace muster::api
