// api/json_patch.cpp - JSON patch, RFC 6902, with the ways and words of the API server's library.
#include <algorithm>
#include <optional>

#include "api/json.h"
#include "api/patch.h"
#include "api/value_size.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::size_t operations_max = 10'000;
constexpr std::size_t copied_max = 3
                                   << 20;  // Bytes of JSON, all copies of a patch; the reference's.
constexpr std::size_t depth_max = 1000;    // As of any document.
/// Members and items that all operations together may look at, move or compare: a third of a
/// second. Ten thousand operations each on a thousand are within it, on ten thousand not.
constexpr std::size_t work_max = 20'000'000;

/// Levels of a value, but not more than `limit` are looked at.
std::size_t depth_of(const Value& value, std::size_t limit) {
    if (limit == 0) return 0;
    std::size_t deepest = 0;
    for (const Value& item : value.items())
        deepest = std::max(deepest, depth_of(item, limit - 1));
    for (const Value::Member& member : value.members())
        deepest = std::max(deepest, depth_of(member.value, limit - 1));
    return deepest + 1;
}

std::string unescaped(std::string_view token) {
    return replace_all(replace_all(token, "~1", "/"), "~0", "~");
}

/// Applies operations to one document, up to the first that fails.
class Patcher {
public:
    explicit Patcher(Value document) : document_(std::move(document)) {}

    void apply(const Value& operation) {
        const std::string_view kind = operation["op"].text_or("");
        if (kind == "add") return add(operation);
        if (kind == "remove") return remove(operation);
        if (kind == "replace") return replace(operation);
        if (kind == "move") return move(operation);
        if (kind == "copy") return copy(operation);
        if (kind == "test") return test(operation);
        fail("Unexpected kind: " + std::string(kind.empty() ? "unknown" : kind));
    }

    std::optional<std::string> fault;

    Value take() { return std::move(document_); }

private:
    /// The object or array that a pointer ends in, and the last token.
    struct Place {
        Value* container = nullptr;  // Null: not there.
        std::string key;
    };

    void fail(const std::string& text) {
        if (!fault) fault = text;
    }

    /// So much is about to be done.
    void work(std::size_t values) {
        work_ += values;
        if (work_ > work_max)
            fail(
                "the operations take too much work on an object this large; send fewer of them in "
                "one patch");
    }
    void work_on(const Value& value) { work(values_in(value, work_max)); }

    /// A value may not be put where the document would become too deep for whoever reads it.
    void check_depth(std::string_view path, const Value& value) {
        const auto above = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
        if (above > depth_max || depth_of(value, depth_max + 1 - above) > depth_max - above)
            fail("exceeded max depth");
    }

    /// The text of "path" or "from"; fails when it is missing.
    std::string_view pointer(const Value& operation, const char* member) {
        const Value& text = operation[member];
        if (!text.is_string()) {
            fail(operation["op"].text() + " operation failed to decode " + member +
                 ": operation missing " + member + " field: missing value");
        }
        return text.text_or("");
    }

    Place find(std::string_view pointer) {
        std::vector<std::string_view> tokens = split(pointer, '/');
        if (tokens.size() < 2) return {};
        Value* here = &document_;
        for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
            const std::string token = unescaped(tokens[i]);
            work(here->is_object() ? here->size() : 1);
            Value* next = nullptr;
            if (here->is_object()) {
                next = here->find(token);
            } else if (const auto index = index_in(here->size(), token)) {
                next = &here->mutable_items()[*index];
            }
            if (!next || !(next->is_object() || next->is_array())) return {};
            here = next;
        }
        if (!here->is_object() && !here->is_array()) return {};
        work(here->size());  // Looked through, or moved.
        if (fault) return {};
        return {here, unescaped(tokens.back())};
    }

    /// The index of an existing item; negative ones count from the end.
    static std::optional<std::size_t> index_in(std::size_t size, std::string_view token) {
        std::optional<std::int64_t> index = parse_integer(token);
        const auto count = static_cast<std::int64_t>(size);
        if (index && *index < 0) *index += count;
        if (!index || *index < 0 || *index >= count) return std::nullopt;
        return static_cast<std::size_t>(*index);
    }

    static std::string index_fault(std::string_view token) {
        if (!parse_integer(token))
            return "strconv.Atoi: parsing " + quoted(token) + ": invalid syntax";
        return "Unable to access invalid index: " + std::string(token) +
               ": invalid index referenced";
    }

    /// What stands at a place. Null pointer: an object without that member (no fault), or a fault.
    Value* item_at(const Place& place, const std::string& fault_prefix) {
        if (place.container->is_object()) return place.container->find(place.key);
        const auto index = index_in(place.container->size(), place.key);
        if (index) return &place.container->mutable_items()[*index];
        fail(fault_prefix + index_fault(place.key));
        return nullptr;
    }

    void add_at(const Place& place, Value value, const std::string& fault_prefix) {
        if (place.container->is_object()) {
            place.container->set(place.key, std::move(value));
            return;
        }
        Value::Array& items = place.container->mutable_items();
        if (place.key == "-") {
            items.push_back(std::move(value));
        } else if (const auto index = index_in(items.size() + 1, place.key)) {
            items.insert(items.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
        } else if (!parse_integer(place.key)) {
            fail(fault_prefix + "value was not a proper array index: '" + place.key +
                 "': " + index_fault(place.key));
        } else {
            fail(fault_prefix + index_fault(place.key));
        }
    }

    void remove_at(const Place& place, const std::string& fault_prefix) {
        if (place.container->is_object()) {
            if (!place.container->erase(place.key))
                fail(fault_prefix + "Unable to remove nonexistent key: " + place.key +
                     ": missing value");
            return;
        }
        Value::Array& items = place.container->mutable_items();
        if (const auto index = index_in(items.size(), place.key)) {
            items.erase(items.begin() + static_cast<std::ptrdiff_t>(*index));
        } else {
            fail(fault_prefix + index_fault(place.key));
        }
    }

    void add(const Value& operation) {
        const std::string path(pointer(operation, "path"));
        const Place place = find(path);
        if (fault) return;
        if (!place.container)
            return fail("add operation does not apply: doc is missing path: \"" + path +
                        "\": missing value");
        check_depth(path, operation["value"]);
        if (fault) return;
        add_at(place, operation["value"], "error in add for path: '" + path + "': ");
    }

    void remove(const Value& operation) {
        const std::string path(pointer(operation, "path"));
        const Place place = find(path);
        if (fault) return;
        if (!place.container)
            return fail("remove operation does not apply: doc is missing path: \"" + path +
                        "\": missing value");
        remove_at(place, "error in remove for path: '" + path + "': ");
    }

    void replace(const Value& operation) {
        const std::string path(pointer(operation, "path"));
        if (fault) return;
        const Value& value = operation["value"];
        check_depth(path, value);
        if (fault) return;
        if (path.empty()) {
            if (!value.is_object() && !value.is_array())
                return fail("replace operation value must be object or array");
            document_ = value;
            return;
        }
        const Place place = find(path);
        if (!place.container)
            return fail("replace operation does not apply: doc is missing path: " + path +
                        ": missing value");
        if (place.container->is_object()) {
            // As the reference: a member that is absent is added.
            place.container->set(place.key, value);
        } else if (const auto index = index_in(place.container->size(), place.key)) {
            place.container->mutable_items()[*index] = value;
        } else {
            fail("replace operation does not apply: doc is missing key: " + path +
                 ": missing value");
        }
    }

    void move(const Value& operation) {
        const std::string from(pointer(operation, "from"));
        const std::string path(pointer(operation, "path"));
        Place place = find(from);
        if (fault) return;
        if (!place.container)
            return fail("move operation does not apply: doc is missing from path: " + from +
                        ": missing value");
        const std::string prefix = "error in move for path: '" + place.key + "': ";
        Value* item = item_at(place, prefix);
        if (item) work_on(*item);
        if (fault) return;
        Value moved = item ? *item : Value();
        if (!fault) remove_at(place, prefix);
        if (fault) return;
        place = find(path);
        if (!place.container)
            return fail("move operation does not apply: doc is missing destination path: " + path +
                        ": missing value");
        check_depth(path, moved);
        if (fault) return;
        add_at(place, std::move(moved), "error in move for path: '" + path + "': ");
    }

    void copy(const Value& operation) {
        const std::string from(pointer(operation, "from"));
        const std::string path(pointer(operation, "path"));
        Place place = find(from);
        if (fault) return;
        if (!place.container)
            return fail("copy operation does not apply: doc is missing from path: " + from +
                        ": missing value");
        Value* item = item_at(place, "error in copy for from: '" + from + "': ");
        if (item) work_on(*item);
        if (fault) return;
        Value copied = item ? *item : Value();
        place = find(path);
        if (!place.container)
            return fail("copy operation does not apply: doc is missing destination path: " + path +
                        ": missing value");
        check_depth(path, copied);
        if (fault) return;
        copied_ += to_json(copied).size();
        if (copied_ > copied_max) {
            return fail("Unable to complete the copy, the accumulated size increase of copy is " +
                        std::to_string(copied_) + ", exceeding the limit " +
                        std::to_string(copied_max));
        }
        add_at(place, std::move(copied), "error while adding value during copy: ");
    }

    void test(const Value& operation) {
        const std::string path(pointer(operation, "path"));
        if (fault) return;
        const Value& expected = operation["value"];
        work_on(expected);
        if (fault) return;
        const std::string failed = "testing value " + path + " failed: test failed";
        if (path.empty()) {
            if (!(document_ == expected)) fail(failed);
            return;
        }
        const Place place = find(path);
        if (!place.container)
            return fail("test operation does not apply: is missing path: " + path +
                        ": missing value");
        const Value* item = item_at(place, "error in test for path: '" + path + "': ");
        static const Value none{};
        if (!fault && !((item ? *item : none) == expected)) fail(failed);
    }

    Value document_;
    std::size_t copied_ = 0;  // Bytes.
    std::size_t work_ = 0;    // Values.
};

}  // namespace

Patched json_patch(Value target, const Value& operations) {
    if (!operations.is_array())
        return PatchError{"a JSON patch must be a JSON array of operations"};
    if (operations.size() > operations_max) {
        return PatchError{"The allowed maximum operations in a JSON patch is 10000, got " +
                          std::to_string(operations.size())};
    }
    Patcher patcher(std::move(target));
    for (const Value& operation : operations.items()) {
        patcher.apply(operation);
        if (patcher.fault) return PatchError{*std::move(patcher.fault), true};
    }
    return patcher.take();
}

}  // namespace muster::api
