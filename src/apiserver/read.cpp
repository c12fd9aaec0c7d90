// apiserver/read.cpp - get and list: stored bytes, selected, in pages, in the form asked for.
#include "apiserver/read.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "api/json.h"
#include "apiserver/answer.h"
#include "apiserver/commit.h"
#include "apiserver/conversions.h"
#include "apiserver/request_options.h"
#include "apiserver/snapshot.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "apiserver/table.h"
#include "apiserver/turns.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr std::size_t chunk = 500;
constexpr std::size_t page_bytes = 16 << 20;   // Where a page with a limit ends.
constexpr std::size_t chunk_bytes = 4 << 20;   // Of stored text, made trees at a time.
constexpr std::size_t whole_bytes = 64 << 20;  // Of stored text, in a form that needs it as a tree.
constexpr std::size_t shared_from = 64 << 10;  // Shorter lists are made for each who asks.
constexpr std::int64_t second = 1'000'000'000;
constexpr int fresh_tries = 30;  // Of 100 ms each.

/// A number that is not negative.
std::optional<std::int64_t> to_number(std::string_view text) {
    const auto number = parse_integer(text);
    return number && *number >= 0 ? number : std::nullopt;
}

/// Where a paged list goes on: opaque to clients, checked when it comes back.
struct Continue {
    store::Revision revision = 0;
    std::size_t returned = 0;
    std::string after;  // Relative to the prefix.

    std::string encode() const {
        const std::string plain =
            "1:" + std::to_string(revision) + ":" + std::to_string(returned) + ":" + after;
        return to_base64url(plain);
    }
};

Continue decode_continue(std::string_view token) {
    const auto refuse = [] { return bad_request("continue key is not valid"); };
    const auto plain = from_base64url(token);
    if (!plain) throw refuse();
    std::string_view rest = *plain;
    const auto field = [&] {
        const auto halves = split_first(rest, ':');
        if (!halves) throw refuse();
        rest = halves->after;
        return halves->before;
    };
    if (field() != "1") throw refuse();
    const auto revision = to_number(field());
    const auto returned = to_number(field());
    if (!revision || !returned) throw refuse();
    return {*revision, static_cast<std::size_t>(*returned), std::string(rest)};
}

bool selected(const Selection& selection, const store::Entry& entry) {
    if (!selection.needs_object()) return selection.matches(entry.key, {});
    return selection.may_match(*entry.value) &&
           selection.matches(entry.key, read_stored(*entry.value));
}

Page read_page(Context& context, const Selection& selection, const Continue& from,
               std::size_t limit) {
    Page page;
    page.revision = from.revision;
    std::string after = from.after.empty() ? std::string() : selection.prefix + from.after;
    std::size_t bytes = 0;
    const std::size_t wanted = limit == 0 ? std::numeric_limits<std::size_t>::max() / 4 : limit;
    while (true) {
        const std::size_t step =
            selection.needs_object() && limit != 0 ? std::max(chunk, limit) : wanted;
        auto part = snapshot_at(context.store, selection.prefix, from.revision, after, step);
        bool full = false;
        if (!part) {
            throw expired(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter.");
        }
        for (store::Entry& entry : part->entries) {
            after = entry.key;
            if (!selected(selection, entry)) continue;
            bytes += entry.value->size();
            page.entries.push_back(std::move(entry));
            full = page.entries.size() == wanted || (limit != 0 && bytes >= page_bytes);
            if (full) break;
        }
        const bool exhausted = part->entries.size() < step;
        if (!exhausted && !full) continue;
        const std::size_t returned = from.returned + page.entries.size();
        const bool more = full && (selection.needs_object() || !selection.fields.empty()
                                       ? !exhausted || after != part->entries.back().key
                                       : returned < part->total);
        if (!more) return page;
        page.next =
            Continue{from.revision, returned, after.substr(selection.prefix.size())}.encode();
        if (!selection.needs_object() && selection.fields.empty()) {
            page.remaining = static_cast<std::int64_t>(part->total - returned);
        }
        return page;
    }
}

Value plain_list_meta(const Page& page) {
    Value meta = Value::object({{"resourceVersion", std::to_string(page.revision)}});
    if (!page.next.empty()) meta.set("continue", page.next);
    if (page.remaining) meta.set("remainingItemCount", *page.remaining);
    return meta;
}

/// The items of a page in the version of the exchange, as text; stored text is shared where no tree
/// is needed.
std::shared_ptr<net::Rope> list_text(Context& context, Exchange& exchange, const Page& page) {
    const Form& form = exchange.form;
    const bool metadata = form.shape == Form::Shape::metadata;
    const bool as_stored = is_stored_form(*exchange.kind, exchange.version->name) && !metadata;
    auto text = std::make_shared<net::Rope>();
    text->add(metadata
                  ? "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/" +
                        form.meta_version + "\""
                  : "{\"kind\":\"" + exchange.kind->list_name() + "\",\"apiVersion\":\"" +
                        api::to_api_version({exchange.kind->group, exchange.version->name}) + "\"");
    const Value meta = metadata ? plain_list_meta(page) : list_meta(*exchange.kind, page);
    text->add(",\"metadata\":" + api::to_json(meta) + ",\"items\":[");
    std::string_view between;
    const auto next = [&] {
        text->add(between);
        between = ",";
    };
    if (as_stored) {
        for (const store::Entry& entry : page.entries) {
            next();
            text->add(entry.value, entry.value->size());
        }
    } else {
        for_shown_items(context, exchange, page, [&](const Value& item) {
            next();
            text->add(api::to_json(metadata ? to_metadata(item, form.meta_version) : item));
        });
    }
    text->add("]}\n");
    text->seal();
    return text;
}

Value list_table(Context& context, Exchange& exchange, const Page& page) {
    const Time now = context.loop.now();
    Value table = empty_table(*exchange.kind, *exchange.version, exchange.form);
    table.set("metadata", plain_list_meta(page));
    Value& rows = table.at("rows");
    for_shown_items(context, exchange, page, [&](const Value& item) {
        rows.push(table_row(*exchange.kind, *exchange.version, exchange.form, item, now));
    });
    return table;
}

std::size_t text_size(const Page& page) {
    std::size_t size = 0;
    for (const store::Entry& entry : page.entries)
        size += entry.value->size();
    return size;
}

/// The whole answer, in the form asked for. Throws StatusError (413).
std::shared_ptr<net::Rope> list_answer(Context& context, Exchange& exchange, const Page& page) {
    const Form& form = exchange.form;
    const bool table = form.shape == Form::Shape::table;
    if (!table && !form.yaml && !form.pretty) return list_text(context, exchange, page);
    if (!table && text_size(page) > whole_bytes)
        throw StatusError(Reason::request_entity_too_large,
                          "the list has more than 64 MiB: ask for it in pages (limit), or without "
                          "pretty and as JSON");
    const Value list = table ? list_table(context, exchange, page)
                             : read_stored(list_text(context, exchange, page)->text());
    auto text = std::make_shared<net::Rope>();
    text->add(encoded(form, list));
    text->seal();
    return text;
}

void answer_list(Context& context, const ExchangePtr& exchange, const Selection& selection) {
    const Page page = page_of(context, *exchange, selection);
    const std::string type = content_type(exchange->form);
    if (text_size(page) < shared_from || !exchange->request.charge)
        return send_rope(*exchange, 200, list_answer(context, *exchange, page), type);
    send_rope(*exchange, 200,
              shared_text(context, *exchange, text_key(context, *exchange, page.revision),
                          [&] { return list_answer(context, *exchange, page); }),
              type);
}

}  // namespace

std::string text_key(const Context& context, const Exchange& exchange, store::Revision revision) {
    const Form& form = exchange.form;
    std::string key = exchange.request.path;
    for (const auto& [name, value] : exchange.request.query)
        key += "&" + net::percent_encode(name) + "=" + net::percent_encode(value);
    key += " " + std::to_string(static_cast<int>(form.shape)) +
           std::to_string(static_cast<int>(form.include)) + form.meta_version +
           (form.yaml     ? "y"
            : form.pretty ? "p"
                          : "j");
    key += " " + std::to_string(revision);
    // Tables tell how old things are.
    if (form.shape == Form::Shape::table)
        key += " " + std::to_string(context.loop.now().since_epoch / second);
    return key;
}

Page page_of(Context& context, const Exchange& exchange, const Selection& selection) {
    const net::Request& request = exchange.request;
    Continue from;
    const std::string_view token = request.query_value("continue");
    const auto version = requested_version(request);
    if (!token.empty() && version.value_or(0) != 0)
        throw bad_request("specifying resource version is not allowed when using continue");
    const std::string_view match = request.query_value("resourceVersionMatch");
    from.revision = context.store.revision();
    if (!token.empty()) {
        from = decode_continue(token);
    } else if (match == "Exact" && version && *version != 0) {
        from.revision = *version;
    }
    std::size_t limit = 0;
    if (const auto number = query_number(request, "limit"); number && !selection.fields.name())
        limit = static_cast<std::size_t>(std::max<std::int64_t>(*number, 0));
    return read_page(context, selection, from, limit);
}

Value list_meta(const api::Kind& kind, const Page& page) {
    Value meta = plain_list_meta(page);
    if (kind.custom && page.next.empty()) meta.set("continue", "");
    return meta;
}

void for_shown_items(Context& context, Exchange& exchange, const Page& page,
                     const std::function<void(Value item)>& each) {
    const std::string& version = exchange.version->name;
    for (auto entry = page.entries.begin(); entry != page.entries.end();) {
        std::vector<Value> trees;
        for (std::size_t bytes = 0; entry != page.entries.end() && trees.size() < chunk &&
                                    (trees.empty() || bytes < chunk_bytes);
             ++entry) {
            bytes += entry->value->size();
            trees.push_back(read_stored(*entry->value));
        }
        std::vector<const Value*> all;
        for (const Value& tree : trees)
            all.push_back(&tree);
        know_all(context, exchange, *exchange.kind, all, version);
        for (Value& tree : trees)
            each(shown_in(context, exchange, *exchange.kind, std::move(tree), version));
    }
}

std::optional<std::int64_t> requested_version(const net::Request& request) {
    const std::string_view text = request.query_value("resourceVersion");
    if (text.empty()) return std::nullopt;
    const auto number = to_number(text);
    if (!number) {
        throw bad_request("resourceVersion: Invalid value: \"" + std::string(text) +
                          "\": strconv.ParseUint: parsing \"" + std::string(text) +
                          "\": invalid syntax");
    }
    return number;
}

Selection Selection::of(const Exchange& exchange) {
    Selection selection;
    const net::Request& request = exchange.request;
    selection.labels = LabelSelector::parse(request.query_value("labelSelector"));
    std::string fields(request.query_value("fieldSelector"));
    if (!exchange.route.name.empty()) {
        if (!fields.empty()) fields += ',';
        fields += "metadata.name=" + exchange.route.name;
    }
    selection.fields = FieldSelector::parse(*exchange.kind, fields);
    std::string ns = exchange.route.ns;
    if (ns.empty() && exchange.kind->namespaced) ns = selection.fields.ns().value_or("");
    selection.prefix = key_prefix(*exchange.kind, ns);
    // One named object: its key is prefix enough (longer names are sorted out by `matches`).
    const auto name = selection.fields.name();
    if (name && (!ns.empty() || !exchange.kind->namespaced)) {
        selection.prefix = key_of(*exchange.kind, ns, *name);
    }
    return selection;
}

bool Selection::fields_match(std::string_view key, const Value& object) const {
    if (fields.empty()) return true;
    const auto [ns, name] = place_of(key);
    return fields.matches_place(ns, name) && (!fields.needs_object() || fields.matches(object));
}

bool Selection::matches(std::string_view key, const Value& object) const {
    return fields_match(key, object) &&
           (labels.empty() || labels.matches(object["metadata"]["labels"]));
}

bool Selection::matches(std::string_view key, const Value& object, const LabelIndex& index) const {
    return fields_match(key, object) && labels.matches(index);
}

std::vector<store::Entry> selected_entries(Context& context, const Selection& selection) {
    std::vector<store::Entry> found =
        context.store.range(selection.prefix, "", std::numeric_limits<std::size_t>::max() / 4);
    std::erase_if(found, [&](const store::Entry& entry) { return !selected(selection, entry); });
    return found;
}

void when_fresh(Context& context, const ExchangePtr& exchange, std::int64_t version,
                std::function<void()> then) {
    struct Wait {
        static void step(Context& context, const ExchangePtr& exchange, std::int64_t version,
                         const std::function<void()>& then, int tries) {
            if (context.store.revision() >= version) {
                guarded(exchange, then);
                return;
            }
            if (tries == 0) {
                const std::string text = "Too large resource version: " + std::to_string(version) +
                                         ", current: " + std::to_string(context.store.revision());
                Value cause = Value::object({{"reason", "ResourceVersionTooLarge"},
                                             {"message", "Too large resource version"}});
                send_error(*exchange, StatusError(Reason::timeout, "Timeout: " + text,
                                                  Value::object({{"causes", Value::array({cause})},
                                                                 {"retryAfterSeconds", 1}})));
                return;
            }
            context.loop.after(milliseconds(100),
                               [&context, alive = std::weak_ptr<int>(context.alive), exchange,
                                version, then, tries] {
                                   if (alive.expired()) return;
                                   step(context, exchange, version, then, tries - 1);
                               });
        }
    };
    Wait::step(context, exchange, version, then, fresh_tries);
}

void when_current(Context& context, const ExchangePtr& exchange, store::Revision staged,
                  std::function<void()> then) {
    const auto version = requested_version(exchange->request);
    when_durable(context, version ? 0 : staged,
                 [&context, exchange, version, then = std::move(then)] {
                     when_fresh(context, exchange, version.value_or(0), then);
                 });
}

void serve_get(Context& context, const ExchangePtr& exchange) {
    const std::string key = key_of(*exchange->kind, exchange->route.ns, exchange->route.name);
    when_current(context, exchange, context.store.newest(key).revision, [&context, exchange, key] {
        const store::Entry* entry = context.store.find(key);
        if (entry == nullptr) throw not_found(exchange->kind->resource(), exchange->route.name);
        send_object(context, *exchange, 200, {}, entry->value);
    });
}

void serve_list(Context& context, const ExchangePtr& exchange) {
    Selection selection = Selection::of(*exchange);
    check_list_options(exchange->request);
    const store::Revision staged = context.store.staged_under(selection.prefix);
    auto answer = [&context, exchange, selection = std::move(selection)] {
        answer_list(context, exchange, selection);
    };
    if (exchange->request.query_value("continue").empty()) {
        when_current(context, exchange, staged, std::move(answer));
    } else {
        when_fresh(context, exchange, 0, std::move(answer));
    }
}

}  // namespace muster::apiserver
