// api/yaml_writer.cpp - value tree to YAML text, with libyaml's emitter, as kubectl -o yaml prints.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <yaml.h>

#include "api/yaml.h"
#include "api/yaml_scalar.h"
#include "base/text.h"
#include "base/verify.h"

namespace muster::api {
namespace {

bool is_digit(char32_t c) {
    return c >= '0' && c <= '9';
}

/// Beyond ASCII roughly: punctuation, symbols and emoji are none.
bool is_letter(char32_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c >= 0xc0 && !(c >= 0x2000 && c <= 0x2bff) && !(c >= 0x3000 && c <= 0x3004) &&
           !(c >= 0x1f000 && c <= 0x1ffff);
}

std::u32string code_points(std::string_view text) {
    std::u32string points;
    while (!text.empty()) {
        const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
        char32_t point = static_cast<unsigned char>(text[0]);
        if (length > 1) point &= 0xffu >> (length + 1);
        for (std::size_t i = 1; i < length; ++i)
            point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
        points += point;
        text.remove_prefix(length);
    }
    return points;
}

/// The number that starts at `at`, and where it ends.
struct Number {
    std::uint64_t value = 0;
    std::size_t end = 0;
};

Number number_at(const std::u32string& text, std::size_t at, std::uint64_t start) {
    Number number{start, at};
    for (; number.end < text.size() && is_digit(text[number.end]); ++number.end)
        number.value = number.value * 10 + (text[number.end] - '0');
    return number;
}

/// go-yaml's order of keys: numbers inside by value, signs before digits before letters.
bool key_less(const std::u32string& a, const std::u32string& b) {
    const std::size_t shorter = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < shorter; ++i) {
        if (a[i] == b[i]) continue;
        const bool a_letter = is_letter(a[i]);
        const bool b_letter = is_letter(b[i]);
        if (a_letter && b_letter) return a[i] < b[i];
        if (a_letter || b_letter) return b_letter;
        // A zero inside a longer number is not a leading zero.
        std::uint64_t start = 0;
        if (a[i] == '0' || b[i] == '0') {
            for (std::size_t j = i; j > 0 && is_digit(a[j - 1]); --j) {
                if (a[j - 1] != '0') start = 1;
            }
        }
        const Number a_number = number_at(a, i, start);
        const Number b_number = number_at(b, i, start);
        if (a_number.value != b_number.value) return a_number.value < b_number.value;
        if (a_number.end != b_number.end) return a_number.end < b_number.end;
        return a[i] < b[i];
    }
    return a.size() < b.size();
}

std::vector<const Value::Member*> sorted_members(const Value& value) {
    std::vector<std::pair<std::u32string, const Value::Member*>> keyed;
    for (const Value::Member& member : value.members())
        keyed.emplace_back(code_points(member.key), &member);
    std::sort(keyed.begin(), keyed.end(),
              [](const auto& a, const auto& b) { return key_less(a.first, b.first); });
    std::vector<const Value::Member*> members;
    for (const auto& [key, member] : keyed)
        members.push_back(member);
    return members;
}

/// Go's 'g' format with the fewest digits: an exponent below 1e-4 and from 1e6 on.
std::string real_text(double value) {
    char text[64];
    const auto written =
        std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
    const std::string_view scientific(text, static_cast<std::size_t>(written.ptr - text));
    const std::size_t e = scientific.find('e');
    const int exponent = std::atoi(std::string(scientific.substr(e + 1)).c_str());
    if (value == 0 || (exponent >= -4 && exponent < 6)) {
        const auto fixed = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
        return std::string(text, fixed.ptr);
    }
    return std::string(scientific);
}

class Emitter {
public:
    Emitter() {
        yaml_emitter_initialize(&emitter_);
        yaml_emitter_set_unicode(&emitter_, 1);
        yaml_emitter_set_output(&emitter_, &append, &out_);
        yaml_event_t event;
        yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
        emit(event);
        yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
        emit(event);
    }
    Emitter(const Emitter&) = delete;
    Emitter& operator=(const Emitter&) = delete;
    ~Emitter() { yaml_emitter_delete(&emitter_); }

    void value(const Value& value) {
        yaml_event_t event;
        if (value.is_object()) {
            yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1,
                                                YAML_BLOCK_MAPPING_STYLE);
            emit(event);
            for (const Value::Member* member : sorted_members(value)) {
                string(member->key);
                this->value(member->value);
            }
            yaml_mapping_end_event_initialize(&event);
            emit(event);
        } else if (value.is_array()) {
            yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1,
                                                 YAML_BLOCK_SEQUENCE_STYLE);
            emit(event);
            for (const Value& item : value.items())
                this->value(item);
            yaml_sequence_end_event_initialize(&event);
            emit(event);
        } else if (value.is_string()) {
            string(value.as_string());
        } else if (value.type() == Value::Type::real) {
            scalar(real_text(value.as_real()), YAML_PLAIN_SCALAR_STYLE);
        } else {
            scalar(to_json(value), YAML_PLAIN_SCALAR_STYLE);
        }
    }

    std::string finish() {
        yaml_event_t event;
        yaml_document_end_event_initialize(&event, 1);
        emit(event);
        // Otherwise the emitter ends a text whose last line is open with "...".
        emitter_.open_ended = 0;
        yaml_stream_end_event_initialize(&event);
        emit(event);
        return std::move(out_);
    }

private:
    static int append(void* out, unsigned char* bytes, std::size_t size) {
        static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), size);
        return 1;
    }

    void string(std::string_view text) {
        const bool plain =
            std::holds_alternative<YamlText>(resolve_plain_scalar(text)) && !is_base60(text);
        const bool lines = text.find('\n') != std::string::npos;
        scalar(text, lines   ? YAML_LITERAL_SCALAR_STYLE
                     : plain ? YAML_PLAIN_SCALAR_STYLE
                             : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    }

    void scalar(std::string_view text, yaml_scalar_style_t style) {
        yaml_event_t event;
        const int made = yaml_scalar_event_initialize(
            &event, nullptr, nullptr, reinterpret_cast<const unsigned char*>(text.data()),
            static_cast<int>(text.size()), 1, 1, style);
        VERIFY(made == 1);  // Fails on text that is not UTF-8: no value holds such.
        emit(event);
    }

    void emit(yaml_event_t& event) { VERIFY(yaml_emitter_emit(&emitter_, &event) == 1); }

    yaml_emitter_t emitter_{};
    std::string out_;
};

}  // namespace

std::string to_yaml(const Value& value) {
    Emitter emitter;
    emitter.value(value);
    return emitter.finish();
}

}  // namespace muster::api
