// api/definition.cpp - parses the tables of kinds into schemas, a definition at a time.
#include "api/definition.h"

#include <charconv>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/json.h"
#include "api/rules.h"
#include "api/schema.h"
#include "base/verify.h"

namespace muster::api {
namespace {

constexpr std::string_view builtin_definitions =
#include "api/builtin/schema.inc"
    ;

constexpr std::string_view extension_definitions =
#include "api/apiextensions/schema.inc"
    ;

constexpr std::string_view custom_definitions =
#include "api/custom_schema.inc"
    ;

constexpr std::string_view kueue_definitions =
#include "api/kueue/schema.inc"
    ;

constexpr std::string_view passive_kueue_definitions =
#include "api/kueue/passive_schema.inc"
    ;

constexpr std::string_view configuration_definitions =
#include "api/kueue/config_schema.inc"
    ;

constexpr std::string_view ray_definitions =
#include "api/ray/schema.inc"
    ;

constexpr std::string_view appwrapper_definitions =
#include "api/appwrapper/schema.inc"
    ;

/// A definition's text and what was made of it.
struct Entry {
    std::string_view body;   // The lines below its name.
    std::string_view alias;  // "string max_length=63" of a named type; empty: an object.
    bool atomic = false;
    bool custom = false;
    bool growing = false;  // Its schema is being made.
    std::shared_ptr<const Schema> schema;
};

/// Cuts the next piece off `rest`.
std::string_view cut(std::string_view& rest, char separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view piece = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return piece;
}

std::int64_t number_of(std::string_view text) {
    std::int64_t number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    VERIFY(result.ec == std::errc() && result.ptr == text.data() + text.size());
    return number;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> pieces;
    for (bool more = true; more;) {
        more = text.find(separator) != std::string_view::npos;
        pieces.emplace_back(cut(text, separator));
    }
    return pieces;
}

std::string open_api_name(std::string_view definition) {
    const std::string name(definition);
    if (name.starts_with("meta.")) return "io.k8s.apimachinery.pkg.apis." + name;
    if (name.starts_with("apiextensions."))
        return "io.k8s.apiextensions-apiserver.pkg.apis." + name;
    if (name.starts_with("kueue.")) return "io.x-k8s." + name;
    if (name.starts_with("ray.")) return "io." + name;
    if (name.starts_with("custom.")) return "dev.muster." + name.substr(7);
    if (name.starts_with("codeflare.")) return "dev.codeflare.workload." + name.substr(10);
    return "io.k8s.api." + name;
}

/// A line of a definition, taken apart.
struct Line {
    Schema::Field field;
    bool off_cluster = false;
};

/// The tables, indexed. The only state: a cache of constants, filled as it is asked for.
class Index {
public:
    Index() {
        for (const DefinitionTable& table : definition_tables())
            add(table);
    }

    bool has(std::string_view name) const { return entries_.contains(name); }

    std::shared_ptr<const Schema> schema(std::string_view name) {
        const auto found = entries_.find(name);
        VERIFY(found != entries_.end());
        Entry& entry = found->second;
        if (!entry.schema) parse(found->first, entry);
        // What holds itself (JSONSchemaProps) does not own itself: it lives as long as the index.
        if (entry.growing) return {std::shared_ptr<const Schema>(), entry.schema.get()};
        return entry.schema;
    }

    const std::vector<Rule>& rules(const Schema& schema) const {
        static const std::vector<Rule> none;
        const auto found = rules_.find(&schema);
        return found == rules_.end() ? none : found->second;
    }

    bool is_off_cluster(const Schema& schema, std::string_view field) const {
        return off_cluster_.contains({schema.name, field});
    }

    std::vector<std::string_view> names() const {
        std::vector<std::string_view> names;
        for (const auto& [name, entry] : entries_)
            names.push_back(name);
        return names;
    }

private:
    void add(const DefinitionTable& table);
    void parse(std::string_view name, Entry& entry);
    void add_fields(Schema& schema, const Entry& entry);
    Line field(std::string_view line, bool custom);
    std::shared_ptr<const Schema> typed(std::string_view word, std::string_view attributes,
                                        bool custom);
    Schema make(std::string_view word, bool custom);
    std::vector<Rule> rules_of_type(std::string_view word, std::string_view attributes);

    std::map<std::string_view, Entry> entries_;
    std::map<std::string, std::shared_ptr<const Schema>> shared_;  // "string enum=A|B" and so on.
    // Few schemas have these.
    std::unordered_map<const Schema*, std::vector<Rule>> rules_;
    std::set<std::pair<std::string, std::string_view>> off_cluster_;  // Schema's name, field.
};

void Index::add(const DefinitionTable& table) {
    std::string_view rest = table.text;
    while (!rest.empty()) {
        const std::size_t start = rest.find('@');
        if (start == std::string_view::npos) return;
        VERIFY(start == 0 || rest[start - 1] == '\n');
        rest.remove_prefix(start + 1);
        std::string_view head = cut(rest, '\n');
        Entry entry;
        const std::string_view name = cut(head, ' ');
        entry.atomic = head == "atomic";
        if (!entry.atomic) entry.alias = head;
        entry.custom = table.custom;
        const std::size_t next = rest.find("\n@");
        entry.body = rest.substr(0, next == std::string_view::npos ? next : next + 1);
        if (rest.starts_with("@")) entry.body = {};
        rest.remove_prefix(entry.body.size());
        VERIFY(entries_.emplace(name, std::move(entry)).second);
    }
}

void Index::parse(std::string_view name, Entry& entry) {
    if (!entry.alias.empty()) {
        std::string_view attributes = entry.alias;
        const std::string_view word = cut(attributes, ' ');
        entry.schema =
            typed(word, attributes.empty() ? "" : " " + std::string(attributes), entry.custom);
        return;
    }
    auto schema = std::make_shared<Schema>();
    schema->type = Schema::Type::object;
    schema->name = open_api_name(name);
    schema->atomic_map = entry.atomic;
    entry.schema = schema;
    entry.growing = true;
    add_fields(*schema, entry);
    entry.growing = false;
}

Rule rule(std::string_view text) {
    const std::size_t at = text.rfind(" -- ");
    VERIFY(at != std::string_view::npos);
    return {text.substr(0, at), text.substr(at + 4)};
}

void Index::add_fields(Schema& schema, const Entry& entry) {
    std::string_view rest = entry.body;
    while (!rest.empty()) {
        std::string_view line = cut(rest, '\n');
        if (line.empty()) continue;
        if (line.starts_with("rule: ")) {
            rules_[&schema].push_back(rule(line.substr(6)));
        } else if (line.starts_with("include ")) {
            const auto found = entries_.find(line.substr(8));
            VERIFY(found != entries_.end());
            add_fields(schema, found->second);
        } else {
            Line parsed = field(line, entry.custom);
            if (parsed.off_cluster) off_cluster_.emplace(schema.name, cut(line, ' '));
            schema.fields.push_back(std::move(parsed.field));
        }
    }
}

void set_numbers(Schema::Field& field, std::string_view word) {
    while (word.ends_with('*') || word.ends_with('!')) {
        (word.back() == '*' ? field.keep_zero : field.shown_required) = true;
        word.remove_suffix(1);
    }
    field.tag = static_cast<int>(number_of(cut(word, '/')));
    if (!word.empty()) field.via = static_cast<int>(number_of(word));
}

Line Index::field(std::string_view line, bool custom) {
    Line parsed_line;
    Schema::Field& result = parsed_line.field;
    if (const std::size_t at = line.find(" -- "); at != std::string_view::npos) {
        result.description = line.substr(at + 4);
        line = line.substr(0, at);
    }
    result.name = cut(line, ' ');
    std::string_view word = cut(line, ' ');
    if (word.front() >= '0' && word.front() <= '9') {
        set_numbers(result, word);
        word = cut(line, ' ');
    }
    std::string of_schema;  // The attributes that are the schema's, not the field's.
    while (!line.empty()) {
        const std::string_view attribute = cut(line, ' ');
        if (attribute == "required") {
            result.required = true;
        } else if (attribute == "shown_required") {
            result.shown_required = true;
        } else if (attribute == "off_cluster") {
            parsed_line.off_cluster = true;
        } else if (attribute.starts_with("default=")) {
            auto parsed = parse_json(attribute.substr(8));
            VERIFY(std::holds_alternative<Parsed>(parsed));
            result.default_value = std::move(std::get<Parsed>(parsed).value);
        } else {
            of_schema.append(" ").append(attribute);
        }
    }
    result.schema = typed(word, of_schema, custom);
    return parsed_line;
}

void set_attribute(Schema& schema, std::string_view attribute) {
    std::string_view value = attribute;
    const std::string_view key = cut(value, '=');
    if (key == "set")
        schema.list_kind = ListKind::set;
    else if (key == "map")
        schema.list_kind = ListKind::map, schema.list_keys = split(value, ',');
    else if (key == "merge")
        schema.patch_merge = true, schema.patch_merge_key = value;
    else if (key == "replace")
        schema.patch_replace = true;
    else if (key == "retain_keys")
        schema.patch_retain_keys = true;
    else if (key == "atomic")
        schema.atomic_map = true;
    else if (key == "nullable")
        schema.nullable = true;
    else if (key == "embedded")
        schema.embedded_object = true;
    else if (key == "enum")
        schema.enum_values = split(value, '|');
    else if (key == "pattern")
        schema.pattern = value;
    else if (key == "min")
        schema.minimum = number_of(value);
    else if (key == "max")
        schema.maximum = number_of(value);
    else if (key == "min_length")
        schema.min_length = number_of(value);
    else if (key == "max_length")
        schema.max_length = number_of(value);
    else if (key == "min_items")
        schema.min_items = number_of(value);
    else if (key == "max_items")
        schema.max_items = number_of(value);
    else if (key == "max_properties")
        schema.max_properties = number_of(value);
    else
        VERIFY(!"a known attribute");
}

std::shared_ptr<const Schema> Index::typed(std::string_view word, std::string_view attributes,
                                           bool custom) {
    if (attributes.empty() && has(word)) return schema(word);
    std::string key(word);
    key.append(attributes).append(custom ? " custom" : "");
    if (const auto found = shared_.find(key); found != shared_.end()) return found->second;
    Schema made = make(word, custom);
    std::string_view rest = attributes.empty() ? attributes : attributes.substr(1);
    while (!rest.empty()) {
        const std::string_view attribute = cut(rest, ' ');
        if (!attribute.starts_with("rules=")) set_attribute(made, attribute);
    }
    auto schema = std::make_shared<const Schema>(std::move(made));
    shared_.emplace(std::move(key), schema);
    std::vector<Rule> rules = rules_of_type(word, attributes);
    if (!rules.empty()) rules_.emplace(schema.get(), std::move(rules));
    return schema;
}

/// Those of the definition that a type refers to, and of each `rules=`.
std::vector<Rule> Index::rules_of_type(std::string_view word, std::string_view attributes) {
    std::vector<Rule> rules;
    const auto add = [&](std::string_view definition) {
        const std::vector<Rule>& more = this->rules(*schema(definition));
        rules.insert(rules.end(), more.begin(), more.end());
    };
    if (has(word)) add(word);
    while (!attributes.empty()) {
        const std::string_view attribute = cut(attributes, ' ');
        if (attribute.starts_with("rules=")) add(attribute.substr(6));
    }
    return rules;
}

Schema Index::make(std::string_view word, bool custom) {
    using Type = Schema::Type;
    static constexpr std::pair<std::string_view, Type> scalars[] = {
        {"string", Type::string},
        {"bool", Type::boolean},
        {"int32", Type::integer},
        {"int64", Type::integer},
        {"integer", Type::integer},
        {"number", Type::number},
        {"float64", Type::number},
        {"float32", Type::number},
        {"quantity", Type::quantity},
        {"time", Type::time},
        {"micro_time", Type::micro_time},
        {"bytes", Type::bytes},
        {"any", Type::any},
        {"int_or_string", Type::int_or_string}};
    Schema made;
    if (word.front() == '[' || word.front() == '(' || word.front() == '{') {
        made.type = word.front() == '{' ? Type::map : Type::list;
        if (word.front() == '(') made.format = "items";
        made.unique_keys = custom && made.type == Type::list;
        made.element = typed(word.substr(1, word.size() - 2), "", custom);
        return made;
    }
    for (const auto& [name, type] : scalars) {
        if (name != word) continue;
        made.type = type;
        if (type == Type::integer && word != "integer") made.format = word;
        if (word == "float32") made.format = "float";
        if (word == "float64") made.format = "double";
        return made;
    }
    return *schema(word);
}

/// Made on first use, for the program's life.
Index& index() {
    static Index made;
    return made;
}

}  // namespace

std::span<const DefinitionTable> definition_tables() {
    static const DefinitionTable tables[] = {
        {builtin_definitions, false},      {extension_definitions, false},
        {custom_definitions, true},        {kueue_definitions, true},
        {passive_kueue_definitions, true}, {configuration_definitions, true},
        {ray_definitions, true},           {appwrapper_definitions, true}};
    return tables;
}

bool is_defined(std::string_view definition) {
    return index().has(definition);
}

std::vector<std::string_view> all_definitions() {
    return index().names();
}

std::shared_ptr<const Schema> schema_of(std::string_view definition) {
    return index().schema(definition);
}

const std::vector<Rule>& rules_of(const Schema& schema) {
    return index().rules(schema);
}

bool is_off_cluster(const Schema& schema, const Schema::Field& field) {
    return index().is_off_cluster(schema, field.name);
}

const Schema& LazySchema::operator*() const {
    if (!schema_) schema_ = schema_of(definition_);
    return *schema_;
}

}  // namespace muster::api
