// apps/cli/get.cpp - `muster get`: tables from the server, or objects in another form; and watching
// them.
#include <algorithm>
#include <variant>

#include "api/json.h"
#include "apps/cli/json_path.h"
#include "apps/cli/lines.h"
#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

constexpr std::string_view as_table =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Consecutive things of one kind: one table.
struct Group {
    const Resource* resource = nullptr;
    std::vector<std::string> names;  // Empty: all.
};

std::vector<Group> group_by_kind(const std::vector<Named>& named) {
    std::vector<Group> groups;
    for (const Named& one : named) {
        if (groups.empty() || groups.back().resource != one.resource || one.name.empty())
            groups.push_back({one.resource, {}});
        if (!one.name.empty()) groups.back().names.push_back(one.name);
    }
    return groups;
}

std::string no_resources_text(const std::string& ns) {
    return ns.empty() ? "No resources found\n" : "No resources found in " + ns + " namespace.\n";
}

class Getter {
public:
    Getter(Command& command, const GetOptions& options)
        : command_(command), options_(options), output_(parse_output(options.output)) {}

    int run();

private:
    std::vector<Value> answers(const Group& group, std::string_view accept);
    int print_tables(const std::vector<Group>& groups);
    int print_objects(const std::vector<Group>& groups);
    int watch(const Group& group);
    TableStyle style_of(const Resource& resource, bool several) const;
    void sort_rows(std::vector<Value>& rows) const;
    std::string ns_of(const Resource& resource);
    std::string query() const;

    Command& command_;
    const GetOptions& options_;
    Output output_;
};

int Getter::run() {
    std::vector<Named> named;
    if (!options_.selection.files.empty()) {
        for (const Value& object :
             read_objects(options_.selection.files, options_.selection.recursive)) {
            const Placed placed = place(command_, object, "");
            named.push_back({placed.resource, placed.name});
        }
    } else {
        named = parse_named(command_.resources(), options_.selection.words);
    }
    const std::vector<Group> groups = group_by_kind(named);
    if (options_.watch || options_.watch_only) {
        if (groups.size() != 1 || groups.front().names.size() > 1)
            throw Error(Reason::bad_request,
                        "error: you may only specify a single resource type with --watch");
        return watch(groups.front());
    }
    return output_.is_table() ? print_tables(groups) : print_objects(groups);
}

std::string Getter::ns_of(const Resource& resource) {
    return options_.selection.all_namespaces || !resource.namespaced ? "" : command_.ns();
}

std::string Getter::query() const {
    return selector_query(options_.selection.selector, options_.selection.field_selector);
}

/// One answer for a list, one for each name otherwise; those that fail are told.
std::vector<Value> Getter::answers(const Group& group, std::string_view accept) {
    const std::string ns = ns_of(*group.resource);
    std::string more = query();
    if (!options_.sort_by.empty())
        more += (more.empty() ? "?" : "&") + std::string("includeObject=Object");
    std::vector<Value> found;
    if (group.names.empty()) {
        found.push_back(command_.session().get(group.resource->path(ns) + more, accept));
        return found;
    }
    for (const std::string& name : group.names) {
        try {
            found.push_back(command_.session().get(group.resource->path(ns, name), accept));
        } catch (const ServerError& error) {
            if (error.code() == 404 && options_.ignore_not_found) continue;
            command_.failed(error);
        }
    }
    return found;
}

TableStyle Getter::style_of(const Resource& resource, bool several) const {
    TableStyle style;
    style.wide = output_.form == Output::Form::wide;
    style.headers = !options_.no_headers;
    style.namespaces = options_.selection.all_namespaces && resource.namespaced;
    style.labels = options_.show_labels;
    style.label_columns = options_.label_columns;
    if (several || options_.show_kind) style.kind_prefix = resource.full_singular();
    return style;
}

void Getter::sort_rows(std::vector<Value>& rows) const {
    if (options_.sort_by.empty()) return;
    const auto key = [&](const Value& row) {
        const auto found = find_path(options_.sort_by, row["object"]);
        return found.empty() ? Value() : *found.front();
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const Value& a, const Value& b) {
        const Value x = key(a);
        const Value y = key(b);
        if (x.is_number() && y.is_number()) return x.as_real() < y.as_real();
        return plain_text(x) < plain_text(y);
    });
}

int Getter::print_tables(const std::vector<Group>& groups) {
    const bool several = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
        return group.resource != groups.front().resource;
    });
    bool any = false;
    for (const Group& group : groups) {
        Value columns;
        std::vector<Value> rows;
        for (const Value& table : answers(group, as_table)) {
            if (columns.is_null()) columns = table["columnDefinitions"];
            for (const Value& row : table["rows"].items())
                rows.push_back(row);
        }
        if (rows.empty()) continue;
        sort_rows(rows);
        if (any) print("\n");
        any = true;
        print(table_text(columns, rows, style_of(*group.resource, several)));
    }
    const bool by_name = !groups.front().names.empty();
    if (!any && !by_name && !options_.ignore_not_found) {
        const bool scoped = groups.front().resource->namespaced;
        print_error(no_resources_text(scoped ? ns_of(*groups.front().resource) : ""));
    }
    return command_.exit_code();
}

int Getter::print_objects(const std::vector<Group>& groups) {
    std::vector<Value> objects;
    bool as_list = groups.size() > 1;
    for (const Group& group : groups) {
        as_list = as_list || group.names.size() != 1;
        for (Value& answer : answers(group, "application/json")) {
            if (!group.names.empty()) {
                objects.push_back(std::move(answer));
                continue;
            }
            for (const Value& item : answer["items"].items()) {
                Value object = Value::object({{"apiVersion", group.resource->api_version()},
                                              {"kind", group.resource->kind}});
                for (const auto& member : item.members())
                    object.set(member.key, member.value);
                objects.push_back(std::move(object));
            }
        }
    }
    if (!objects.empty() || as_list)
        print(objects_text(output_, objects, as_list, options_.show_managed_fields));
    return command_.exit_code();
}

/// What is there first, then each change as a row.
int Getter::watch(const Group& group) {
    const Resource& resource = *group.resource;
    const std::string ns = ns_of(resource);
    std::string fields = options_.selection.field_selector;
    if (!group.names.empty())
        fields += (fields.empty() ? "" : ",") + std::string("metadata.name=") + group.names.front();
    const std::string base = selector_query(options_.selection.selector, fields);
    const std::string path = resource.path(ns);
    const std::string_view accept = output_.is_table() ? as_table : "application/json";
    const Value list = command_.session().get(path + base, accept);
    TableStyle style = style_of(resource, false);
    Value columns = list["columnDefinitions"];
    if (!options_.watch_only && output_.is_table()) {
        const std::string text = table_text(columns, list["rows"].items(), style);
        print(text);
        if (!text.empty()) style.headers = false;
    } else if (!options_.watch_only) {
        for (const Value& item : list["items"].items())
            print(objects_text(output_, {item}, false, options_.show_managed_fields));
    }
    net::Request request =
        get_request(path + base + (base.empty() ? "?" : "&") +
                    "watch=true&resourceVersion=" + list["metadata"]["resourceVersion"].text());
    request.headers.set("Accept", std::string(accept));
    Lines lines;
    command_.session().stream(std::move(request), [&](std::string_view piece) {
        lines.add(piece);
        while (const auto line = lines.next()) {
            auto parsed = api::parse_json(*line);
            const auto* event = std::get_if<api::Parsed>(&parsed);
            if (!event) continue;
            const Value& object = event->value["object"];
            if (event->value["type"].text_or("") == "ERROR")
                throw Error(Reason::expired, "error: " + object["message"].text());
            if (event->value["type"].text_or("") == "BOOKMARK") continue;
            if (!output_.is_table()) {
                print(objects_text(output_, {object}, false, options_.show_managed_fields));
                continue;
            }
            if (object["columnDefinitions"].size() > 0) columns = object["columnDefinitions"];
            print(table_text(columns, object["rows"].items(), style));
            style.headers = false;
        }
        return Session::Go::on;
    });
    return command_.exit_code();
}

}  // namespace

int get(Command& command, const GetOptions& options) {
    return Getter(command, options).run();
}

}  // namespace muster::cli
