// api/value.cpp - the value tree: construction, reading that never fails on shape, changing.
#include "api/value.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>

#include "api/members_by_name.h"
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
Value::Value(std::string_view value) : type_(Type::string), string_(new_text(value)) {}

Value::Text* Value::new_text(std::string_view text) {
    VERIFY(text.size() <= UINT32_MAX);
    void* room = ::operator new(sizeof(Text) + text.size());
    auto* made = new (room) Text{0, static_cast<std::uint32_t>(text.size())};
    if (!text.empty()) std::memcpy(reinterpret_cast<char*>(made + 1), text.data(), text.size());
    return made;
}

void Value::release(Text* text) {
    const bool alone = text->others.load(std::memory_order_acquire) == 0;
    if (!alone && text->others.fetch_sub(1, std::memory_order_acq_rel) != 0) return;
    ::operator delete(text, sizeof(Text) + text->size);
}

template <class Content>
Value::Cell<Content>* Value::copy_of(Cell<Content>* cell) {
    if (!cell->sealed) return new Cell<Content>{cell->content};
    cell->others.fetch_add(1, std::memory_order_relaxed);
    return cell;
}

template <class Content>
void Value::release(Cell<Content>* cell) {
    const bool alone = cell->others.load(std::memory_order_acquire) == 0;
    if (alone || cell->others.fetch_sub(1, std::memory_order_acq_rel) == 0) delete cell;
}

template <class Content>
Content& Value::own(Cell<Content>*& cell) {
    if (!cell->sealed) return cell->content;
    if (cell->others.load(std::memory_order_acquire) == 0) {
        cell->sealed = false;
    } else {
        auto* mine = new Cell<Content>{cell->content};
        release(cell);
        cell = mine;
    }
    return cell->content;
}

Value::Value(const Value& other) : type_(other.type_) {
    switch (type_) {
        case Type::string:
            string_ = other.string_;
            string_->others.fetch_add(1, std::memory_order_relaxed);
            break;
        case Type::array:
            array_ = copy_of(other.array_);
            break;
        case Type::object:
            object_ = copy_of(other.object_);
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
    static_assert(sizeof(std::int64_t) == sizeof(void*) && sizeof(double) == sizeof(void*));
    std::swap(type_, other.type_);
    std::swap(bits_, other.bits_);
}

void Value::destroy() {
    if (type_ == Type::string) release(string_);
    if (type_ == Type::array) release(array_);
    if (type_ == Type::object) release(object_);
}

void Value::seal() {
    if (type_ == Type::array && !array_->sealed) {
        array_->content.shrink_to_fit();
        for (Value& item : array_->content)
            item.seal();
        array_->sealed = true;
    } else if (type_ == Type::object && !object_->sealed) {
        object_->content.shrink_to_fit();
        for (Member& member : object_->content)
            member.value.seal();
        object_->sealed = true;
    }
}

bool Value::is_shared() const {
    const auto has_others = [](const auto* cell) {
        return cell->others.load(std::memory_order_relaxed) > 0;
    };
    if (type_ == Type::string) return has_others(string_);
    if (type_ == Type::array) return has_others(array_);
    return type_ == Type::object && has_others(object_);
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

std::string_view Value::as_string() const {
    VERIFY(type_ == Type::string);
    return string_->view();
}

bool Value::boolean_or(bool otherwise) const {
    return type_ == Type::boolean ? boolean_ : otherwise;
}

std::int64_t Value::integer_or(std::int64_t otherwise) const {
    return type_ == Type::integer ? integer_ : otherwise;
}

std::string_view Value::text_or(std::string_view otherwise) const {
    return type_ == Type::string ? string_->view() : otherwise;
}

const Value::Array& Value::items() const {
    return type_ == Type::array ? array_->content : no_items;
}

const Value::Object& Value::members() const {
    return type_ == Type::object ? object_->content : no_members;
}

Value::Array& Value::mutable_items() {
    if (type_ == Type::null) {
        array_ = new Cell<Array>();
        type_ = Type::array;
    }
    VERIFY(type_ == Type::array);
    return own(array_);
}

Value::Object& Value::mutable_members() {
    if (type_ == Type::null) {
        object_ = new Cell<Object>();
        type_ = Type::object;
    }
    VERIFY(type_ == Type::object);
    return own(object_);
}

std::size_t Value::size() const {
    if (type_ == Type::array) return array_->content.size();
    if (type_ == Type::object) return object_->content.size();
    return 0;
}

const Value& Value::operator[](std::string_view key) const {
    const Value* found = find(key);
    return found ? *found : null_value;
}

const Value& Value::operator[](std::size_t index) const {
    return type_ == Type::array && index < array_->content.size() ? array_->content[index]
                                                                  : null_value;
}

const Value* Value::find(std::string_view key) const {
    if (type_ != Type::object) return nullptr;
    for (const Member& member : object_->content) {
        if (member.key == key) return &member.value;
    }
    return nullptr;
}

Value* Value::find(std::string_view key) {
    const Value* found = std::as_const(*this).find(key);
    if (found == nullptr || !object_->sealed) return const_cast<Value*>(found);
    Object& members = own(object_);
    return &std::find_if(members.begin(), members.end(), [&](const Member& member) {
                return member.key == key;
            })->value;
}

Value& Value::at(std::string_view key) {
    if (Value* found = find(key)) return *found;
    return mutable_members().emplace_back(Member{key, Value()}).value;
}

Value& Value::set(std::string_view key, Value value) {
    Value& place = at(key);
    place = std::move(value);
    return place;
}

bool Value::erase(std::string_view key) {
    if (!has(key)) return false;
    Object& members = own(object_);
    members.erase(std::find_if(members.begin(), members.end(),
                               [&](const Member& member) { return member.key == key; }));
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
            return a.string_ == b.string_ || a.string_->view() == b.string_->view();
        case Value::Type::array:
            return a.array_ == b.array_ || a.array_->content == b.array_->content;
        case Value::Type::object:
            break;
    }
    if (a.object_ == b.object_) return true;
    const Value::Object& ours = a.object_->content;
    const Value::Object& theirs = b.object_->content;
    if (ours.size() != theirs.size()) return false;
    std::optional<MemberIndex> by_name;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const Value::Member& mine = ours[i];
        // The same order is the usual case.
        const Value::Member& twin = theirs[i];
        const bool in_order = mine.key == twin.key;
        if (!in_order && !by_name) by_name.emplace(b);
        const Value* other = in_order ? &twin.value : by_name->find(mine.key);
        if (!other || !(mine.value == *other)) return false;
    }
    return true;
}

}  // namespace muster::api
