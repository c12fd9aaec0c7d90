// api/protobuf.cpp - reads Kubernetes' protobuf bodies by schema, into what their JSON would be.
//
// Bytes come from anyone: every length is checked against what is left, depth is bounded by the
// schema (no schema contains itself), and the first thing that is wrong ends the reading.
#include "api/protobuf.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "api/kind.h"
#include "api/members_by_name.h"
#include "api/schema.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::api {
namespace {

constexpr std::string_view magic("k8s\0", 4);

/// The first thing that is wrong with the bytes. From then on every reader is at its end and reads
/// give zeros.
class Trouble {
public:
    void say(std::string text) {
        if (text_.empty()) text_ = std::move(text);
    }
    bool any() const { return !text_.empty(); }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// One field as it stands on the wire.
struct WireField {
    int tag = 0;
    Wire wire = Wire::varint;
    std::uint64_t number = 0;  // Unless bytes.
    std::string_view bytes;
};

/// The fields of a message, one after the other.
class Reader {
public:
    Reader(std::string_view bytes, Trouble& trouble) : rest_(bytes), trouble_(trouble) {}

    bool at_end() const { return rest_.empty() || trouble_.any(); }

    std::uint64_t varint() {
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) {
                trouble_.say("unexpected end of protobuf message");
                return 0;
            }
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return number;
        }
        trouble_.say("protobuf number is longer than 64 bits");
        return 0;
    }

    WireField next() {
        const std::uint64_t key = varint();
        WireField field;
        if (key >> 3 == 0 || key >> 3 > tag_max) {
            trouble_.say("protobuf field number is out of range");
            return field;
        }
        field.tag = static_cast<int>(key >> 3);
        switch (key & 7) {
            case 0:
                field.wire = Wire::varint, field.number = varint();
                break;
            case 1:
                field.wire = Wire::fixed64, field.number = fixed(8);
                break;
            case 2:
                field.wire = Wire::bytes, field.bytes = take(varint());
                break;
            case 5:
                field.wire = Wire::fixed32, field.number = fixed(4);
                break;
            default:
                trouble_.say("protobuf wire type is not one that Kubernetes uses");
        }
        return field;
    }

    std::uint64_t fixed(std::size_t size) {
        const std::string_view bytes = take(size);
        std::uint64_t number = 0;
        for (std::size_t i = bytes.size(); i > 0; --i) {
            number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
        }
        return number;
    }

private:
    std::string_view take(std::uint64_t size) {
        if (size > rest_.size()) {
            trouble_.say("unexpected end of protobuf message");
            return {};
        }
        const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(static_cast<std::size_t>(size));
        return bytes;
    }

    static constexpr std::uint64_t tag_max = (1U << 29) - 1;

    std::string_view rest_;
    Trouble& trouble_;
};

Value value_of(const Schema& schema, const WireField& field, const std::string& name,
               Trouble& trouble);

bool is(const WireField& field, Wire wire, const std::string& name, Trouble& trouble) {
    if (field.wire == wire) return true;
    trouble.say("protobuf field \"" + name + "\" has the wrong type");
    return false;
}

std::string text_of(const WireField& field, const std::string& name, Trouble& trouble) {
    if (!is(field, Wire::bytes, name, trouble)) return {};
    if (!is_utf8(field.bytes)) {
        trouble.say("protobuf field \"" + name + "\" is not UTF-8 text");
        return {};
    }
    return std::string(field.bytes);
}

/// The field with a tag of a small message that stands for a JSON scalar; the last one wins.
std::optional<WireField> member(std::string_view message, int tag, Trouble& trouble) {
    std::optional<WireField> found;
    for (Reader reader(message, trouble); !reader.at_end();) {
        const WireField field = reader.next();
        if (field.tag == tag) found = field;
    }
    return found;
}

std::int64_t number_in(std::string_view message, int tag, const std::string& name,
                       Trouble& trouble) {
    const std::optional<WireField> found = member(message, tag, trouble);
    if (!found || !is(*found, Wire::varint, name, trouble)) return 0;
    return static_cast<std::int64_t>(found->number);
}

std::string text_in(std::string_view message, int tag, const std::string& name, Trouble& trouble) {
    const std::optional<WireField> found = member(message, tag, trouble);
    return found ? text_of(*found, name, trouble) : std::string();
}

Value time_of(const Schema& schema, std::string_view message, const std::string& name,
              Trouble& trouble) {
    const std::int64_t whole = number_in(message, 1, name, trouble);
    const std::int64_t fraction = number_in(message, 2, name, trouble);
    if (whole == 0 && fraction == 0) return Value();  // How Go writes a time that is not set.
    constexpr std::int64_t seconds_max = 9'223'372'035;
    if (whole > seconds_max || whole < -seconds_max || fraction < 0 || fraction >= 1'000'000'000) {
        trouble.say("protobuf field \"" + name + "\" is a time that is out of range");
        return Value();
    }
    const Time time{whole * 1'000'000'000 + fraction};
    return schema.type == Schema::Type::time ? to_rfc3339(time) : to_rfc3339_micro(time);
}

Value int_or_string_of(std::string_view message, const std::string& name, Trouble& trouble) {
    if (number_in(message, 1, name, trouble) == 1) return text_in(message, 3, name, trouble);
    return static_cast<std::int64_t>(
        static_cast<std::int32_t>(number_in(message, 2, name, trouble)));
}

/// RawExtension and FieldsV1: JSON in a message.
Value raw_of(std::string_view message, const std::string& name, Trouble& trouble) {
    const std::optional<WireField> raw = member(message, 1, trouble);
    if (!raw || !is(*raw, Wire::bytes, name, trouble) || raw->bytes.empty()) return Value();
    auto parsed =
        raw->bytes.starts_with(magic)
            ? std::variant<Parsed, ParseError>(ParseError{"protobuf inside protobuf is not read"})
            : parse_json(raw->bytes);
    if (auto* error = std::get_if<ParseError>(&parsed)) {
        trouble.say("protobuf field \"" + name + "\": " + error->text);
        return Value();
    }
    return std::get<Parsed>(std::move(parsed)).value;
}

bool is_zero(const Value& value) {
    switch (value.type()) {
        case Value::Type::null:
            return true;
        case Value::Type::boolean:
            return !value.as_boolean();
        case Value::Type::integer:
            return value.as_integer() == 0;
        case Value::Type::real:
            return value.as_real() == 0.0;
        case Value::Type::string:
            return value.as_string().empty();
        default:
            return value.empty();
    }
}

void append_items(const Schema& schema, const WireField& field, const std::string& name,
                  Value& list, Trouble& trouble) {
    using Type = Schema::Type;
    const Type type = schema.element->type;
    const bool packed =
        field.wire == Wire::bytes && (type == Type::integer || type == Type::boolean);
    if (!packed) {
        list.push(value_of(*schema.element, field, name, trouble));
        return;
    }
    for (Reader reader(field.bytes, trouble); !reader.at_end();) {
        WireField item;
        item.number = reader.varint();
        list.push(value_of(*schema.element, item, name, trouble));
    }
}

void add_entry(const Schema& schema, const WireField& field, const std::string& name, Value& map,
               Trouble& trouble) {
    if (!is(field, Wire::bytes, name, trouble)) return;
    const std::optional<WireField> given = member(field.bytes, 2, trouble);
    WireField value = given.value_or(WireField());
    if (!given && schema.element->type != Schema::Type::boolean &&
        schema.element->type != Schema::Type::integer) {
        value.wire = Wire::bytes;
    }
    map.mutable_members().push_back(
        {text_in(field.bytes, 1, name, trouble), value_of(*schema.element, value, name, trouble)});
}

/// Of entries with one key the last counts, at the place of the first.
void unite_entries(Value& map) {
    if (map.size() < 2) return;
    Value united = Value::object();
    MemberTable members(united);
    for (Value::Member& entry : map.mutable_members())
        members.set(entry.key, std::move(entry.value));
    map = std::move(united);
}

/// Reads a message into an object. `via` picks the fields of one inlined struct; 0: the message's
/// own.
void read_message(const Schema& schema, int via, std::string_view message, Value& object,
                  Trouble& trouble) {
    for (Reader reader(message, trouble); !reader.at_end();) {
        const WireField wire = reader.next();
        const Schema::Field* found = nullptr;
        bool inlined = false;
        for (const Schema::Field& field : schema.fields) {
            if (field.via == via && field.tag == wire.tag) found = &field;
            if (via == 0 && field.via == wire.tag) inlined = true;
        }
        if (found == nullptr) {
            if (inlined && wire.wire == Wire::bytes) {
                read_message(schema, wire.tag, wire.bytes, object, trouble);
            }
            continue;  // A field of a newer client.
        }
        if (found->schema->type == Schema::Type::list && found->schema->format != "items") {
            Value& list = object.at(found->name);
            if (list.is_null()) list = Value::array();
            append_items(*found->schema, wire, found->name, list, trouble);
        } else if (found->schema->type == Schema::Type::map) {
            Value& map = object.at(found->name);
            if (map.is_null()) map = Value::object();
            add_entry(*found->schema, wire, found->name, map, trouble);
        } else {
            Value value = value_of(*found->schema, wire, found->name, trouble);
            if (value.is_null() || (is_zero(value) && !found->keep_zero)) continue;
            object.set(found->name, std::move(value));
        }
    }
    if (via != 0) return;
    for (const Schema::Field& field : schema.fields) {
        if (field.schema->type != Schema::Type::map) continue;
        if (Value* map = object.find(field.name)) unite_entries(*map);
    }
}

/// Booleans and numbers.
Value scalar_of(const Schema& schema, const WireField& field, const std::string& name,
                Trouble& trouble) {
    if (schema.type == Schema::Type::number) {
        if (!is(field, Wire::fixed64, name, trouble)) return Value();
        const double number = std::bit_cast<double>(field.number);
        if (std::isfinite(number)) return number;
        trouble.say("protobuf field \"" + name + "\" is not a number");
        return Value();
    }
    if (!is(field, Wire::varint, name, trouble)) return Value();
    if (schema.type == Schema::Type::boolean) return field.number != 0;
    if (schema.format == "int32") {
        return static_cast<std::int64_t>(static_cast<std::int32_t>(field.number));
    }
    return static_cast<std::int64_t>(field.number);
}

Value wrapped_list_of(const Schema& schema, std::string_view message, const std::string& name,
                      Trouble& trouble) {
    Value list = Value::array();
    for (Reader reader(message, trouble); !reader.at_end();) {
        const WireField item = reader.next();
        if (item.tag == 1) append_items(schema, item, name, list, trouble);
    }
    return list;
}

Value value_of(const Schema& schema, const WireField& field, const std::string& name,
               Trouble& trouble) {
    using Type = Schema::Type;
    const Type type = schema.type;
    if (type == Type::boolean || type == Type::integer || type == Type::number) {
        return scalar_of(schema, field, name, trouble);
    }
    if (!is(field, Wire::bytes, name, trouble)) return Value();
    switch (type) {
        case Type::string:
            return text_of(field, name, trouble);
        case Type::bytes:
            return to_base64(field.bytes);
        case Type::any:
            return raw_of(field.bytes, name, trouble);
        case Type::time:
        case Type::micro_time:
            return time_of(schema, field.bytes, name, trouble);
        case Type::int_or_string:
            return int_or_string_of(field.bytes, name, trouble);
        case Type::quantity: {
            std::string text = text_in(field.bytes, 1, name, trouble);
            return text.empty() ? Value("0") : Value(std::move(text));
        }
        case Type::list:
            return wrapped_list_of(schema, field.bytes, name, trouble);
        default:
            break;
    }
    Value object = Value::object();
    read_message(schema, 0, field.bytes, object, trouble);
    return object;
}

/// The envelope: runtime.Unknown.
Value read_body(std::string_view envelope, Trouble& trouble) {
    const std::optional<WireField> type = member(envelope, 1, trouble);
    const std::optional<WireField> raw = member(envelope, 2, trouble);
    if (!type || type->wire != Wire::bytes || (raw && raw->wire != Wire::bytes)) {
        trouble.say("the protobuf body does not say its kind");
        return Value();
    }
    const std::string api_version = text_in(type->bytes, 1, "apiVersion", trouble);
    const std::string kind = text_in(type->bytes, 2, "kind", trouble);
    const Schema* schema = find_schema(api_version, kind);
    const Kind* known = find_kind_named(parse_group_version(api_version).group, kind);
    if (schema == nullptr || (known != nullptr && known->custom)) {
        trouble.say("no kind \"" + kind + "\" is registered for version \"" + api_version +
                    "\" in protobuf; send it as JSON");
        return Value();
    }
    Value object = Value::object({{"apiVersion", api_version}, {"kind", kind}});
    if (raw) read_message(*schema, 0, raw->bytes, object, trouble);
    return object;
}

}  // namespace

std::variant<Value, ParseError> parse_protobuf(std::string_view body) {
    Trouble trouble;
    if (!body.starts_with(magic))
        return ParseError{"the body does not start as Kubernetes protobuf does"};
    Value object = read_body(body.substr(magic.size()), trouble);
    if (trouble.any()) return ParseError{trouble.text()};
    return object;
}

}  // namespace muster::api
