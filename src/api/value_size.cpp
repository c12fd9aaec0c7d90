// api/value_size.cpp - walks through a value and stops when it has counted enough.
#include "api/value_size.h"

namespace muster::api {

std::size_t copy_size(const Value& value, std::size_t limit) {
    constexpr std::size_t of_value = sizeof(Value);
    constexpr std::size_t of_cell = 48;
    std::size_t size = of_value;
    if (value.is_array() || value.is_object()) size += of_cell;
    for (const Value& item : value.items()) {
        if (size >= limit) return size;
        size += copy_size(item, limit - size);
    }
    for (const Value::Member& member : value.members()) {
        if (size >= limit) return size;
        size += sizeof(Value::Member) - of_value + copy_size(member.value, limit - size);
    }
    return size;
}

std::size_t written_size(const Value& value, std::size_t limit) {
    constexpr std::size_t of_number = 24;
    std::size_t size = value.is_string() ? value.as_string().size() + 2 : of_number;
    for (const Value& item : value.items()) {
        if (size >= limit) return size;
        size += written_size(item, limit - size);
    }
    for (const Value::Member& member : value.members()) {
        if (size >= limit) return size;
        size += member.key.view().size() + 4 + written_size(member.value, limit - size);
    }
    return size;
}

std::size_t values_in(const Value& value, std::size_t limit) {
    constexpr std::size_t characters_a_value = 64;
    std::size_t count = 1 + value.text_or("").size() / characters_a_value;
    for (const Value& item : value.items()) {
        if (count >= limit) return count;
        count += values_in(item, limit - count);
    }
    for (const Value::Member& member : value.members()) {
        if (count >= limit) return count;
        count += values_in(member.value, limit - count);
    }
    return count;
}

}  // namespace muster::api
