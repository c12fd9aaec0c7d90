// api/server_side_apply.cpp - server-side apply and the tracking of all other writes.
#include <algorithm>
#include <map>
#include <set>

#include "api/json.h"
#include "api/managed_fields.h"
#include "api/members_by_name.h"
#include "api/patch.h"
#include "api/typed_value.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Owners = std::vector<FieldOwner>;

constexpr const char* last_applied_annotation = "kubectl.kubernetes.io/last-applied-configuration";

/// Fields that nobody owns: they say what the object is, or are the server's.
const FieldSet& unowned_fields() {
    static const FieldSet fields = [] {
        FieldSet set;
        set.at("f:apiVersion").member = true;
        set.at("f:kind").member = true;
        FieldSet& metadata = set.at("f:metadata");
        metadata.member = true;
        for (const char* name :
             {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid",
              "f:clusterName", "f:generation", "f:managedFields", "f:resourceVersion"}) {
            metadata.at(name).member = true;
        }
        return set;
    }();
    return fields;
}

Value without_managed_fields(Value object) {
    if (object.is_null()) return Value::object();
    if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
    return object;
}

void set_managed_fields(Value& object, Owners owners) {
    Value entries = to_managed_fields(std::move(owners));
    if (!entries.is_null()) object.at("metadata").set("managedFields", std::move(entries));
}

Owners owners_of(const Value& object) {
    return parse_managed_fields(object["metadata"]["managedFields"]).value_or(Owners());
}

/// What the write took from others, or removed, is no longer theirs.
void take_from(Owners& owners, const Comparison& changes) {
    const FieldSet touched =
        field_union(field_union(changes.modified, changes.added), changes.removed);
    for (FieldOwner& owner : owners)
        owner.set = field_difference(owner.set, touched);
    std::erase_if(owners, [](const FieldOwner& owner) { return owner.set.empty(); });
}

/// What a write changed, as far as it can be owned.
FieldSet owned_part(const Comparison& changes) {
    return field_difference(field_union(changes.modified, changes.added), unowned_fields());
}

/// In the reference some parts of a built-in kind are there even when nothing is in them: no write
/// adds them, so nobody owns them, only what is inside.
Value with_parts_always_there(const Schema& schema, Value value) {
    static const std::set<std::string_view> names{
        "metadata",   "spec",           "status",         "template",        "jobTemplate",
        "strategy",   "updateStrategy", "roleRef",        "source",          "regarding",
        "nodeInfo",   "loadBalancer",   "involvedObject", "kubeletEndpoint", "daemonEndpoints",
        "podSelector"};
    for (const Schema::Field& field : schema.fields) {
        if (field.name == "containers" && value[field.name].is_null())
            value.set(field.name, Value::array());
        if (field.schema->type != Schema::Type::object || !names.contains(field.name)) continue;
        if (schema.name.ends_with(".ReplicationControllerSpec")) continue;
        Value part = std::move(value.at(field.name));
        if (!part.is_object()) part = Value::object();
        value.set(field.name, with_parts_always_there(*field.schema, std::move(part)));
    }
    return value;
}

Comparison changes_of(const Schema& schema, const Value& before, const Value& after) {
    static const Value nothing = Value::object();
    const Value& from = before.is_null() ? nothing : before;
    if (!schema.name.starts_with("io.k8s.")) return compare_typed(schema, from, after);
    return compare_typed(schema, with_parts_always_there(schema, from),
                         with_parts_always_there(schema, after));
}

/// Of the part that an endpoint does not write nothing is owned, nor changed, by who writes there.
void leave_out(const std::string& part, FieldSet& set) {
    if (part.empty()) return;
    std::erase_if(set.children,
                  [&](const FieldSet::Child& child) { return child.step == "f:" + part; });
}

void leave_out(const std::string& part, Comparison& changes) {
    leave_out(part, changes.modified);
    leave_out(part, changes.added);
    leave_out(part, changes.removed);
}

/// The user asks for a fresh start: [] or [{}].
bool is_reset(const Value& managed_fields) {
    return managed_fields.is_array() &&
           (managed_fields.empty() || (managed_fields.size() == 1 && managed_fields[0].empty()));
}

/// One apply, step by step.
class Apply {
public:
    Apply(const Schema& schema, const Value& live, const Value& applied,
          const ApplyRequest& request)
        : schema_(schema),
          existed_(!live.is_null()),
          live_(without_managed_fields(live)),
          applied_(applied),
          request_(request),
          owners_(owners_of(live)),
          me_{request.manager,     FieldOwner::Operation::apply,
              request.api_version, request.subresource,
              request.time,        {}} {
        if (existed_ && owners_.empty()) own_what_was_there();
        const auto found =
            std::find_if(owners_.begin(), owners_.end(),
                         [&](const FieldOwner& owner) { return same_owner(owner, me_); });
        if (found == owners_.end()) return;
        before_ = std::move(*found);
        owners_.erase(found);
    }

    /// The object as it would be; from here on `conflicts` is known.
    void merge() {
        me_.set = field_set_of(schema_, applied_);
        leave_out(request_.kept_part, me_.set);
        result_ = merge_typed(schema_, live_, applied_);
        if (before_ && !field_difference(before_->set, me_.set).empty())
            drop_what_is_no_longer_applied();
        changes_ = compare_typed(schema_, live_, result_);
        leave_out(request_.kept_part, changes_);
        const FieldSet claimed = field_union(changes_.modified, changes_.added);
        for (const FieldOwner& owner : owners_) {
            for (const std::string& field : path_texts(field_intersection(owner.set, claimed)))
                conflicts_.push_back(
                    {owner.manager,
                     owner.operation == FieldOwner::Operation::apply ? "" : owner.api_version,
                     field, owner.subresource});
        }
    }

    /// kubectl that goes over from client-side apply takes what its own annotation says it set.
    std::vector<ApplyConflict> conflicts() const {
        std::vector<ApplyConflict> left = conflicts_;
        if (request_.manager != "kubectl" || left.empty()) return left;
        const std::set<std::string> allowed = last_applied_fields();
        std::erase_if(
            left, [&](const ApplyConflict& conflict) { return allowed.contains(conflict.field); });
        return left;
    }

    Value finish() {
        take_from(owners_, changes_);
        me_.set = field_difference(me_.set, unowned_fields());
        // Only a change of the object has a time.
        if (existed_ && result_ == live_) me_.time = before_ ? before_->time : "";
        if (!me_.set.empty()) owners_.push_back(std::move(me_));
        if (request_.manager == "kubectl" &&
            live_["metadata"]["annotations"].has(last_applied_annotation))
            renew_last_applied();
        set_managed_fields(result_, std::move(owners_));
        return std::move(result_);
    }

private:
    /// An object from before anything was tracked belongs to one made-up updater.
    void own_what_was_there() {
        const Comparison all = changes_of(schema_, Value::object(), live_);
        FieldSet set = owned_part(all);
        leave_out(request_.kept_part, set);
        if (set.empty()) return;
        owners_.push_back({"before-first-apply", FieldOwner::Operation::update,
                           request_.api_version, request_.subresource, request_.time,
                           std::move(set)});
    }

    /// Drops what this manager applied last time, does not apply now, and nobody else owns.
    void drop_what_is_no_longer_applied() {
        const Value merged = std::move(result_);
        const FieldSet last = with_named_fields(schema_, before_->set);
        const FieldSet all = with_named_fields(schema_, field_set_of(schema_, merged));
        std::vector<FieldSet> sets{me_.set};
        for (const FieldOwner& owner : owners_)
            sets.push_back(owner.set);
        FieldSet owned = field_union(std::move(sets));

        // Containers that go take with them what others own inside: that comes back.
        const Value bare = without_fields(schema_, merged, last);
        FieldSet kept = with_named_fields(schema_, field_set_of(schema_, bare));
        kept = field_union(kept, with_named_fields(schema_, std::move(owned)));
        const Value with_owned = without_fields(schema_, merged, field_difference(all, kept));
        // And so does what nobody owns, and what this manager did not apply.
        kept = with_named_fields(schema_, field_set_of(schema_, with_owned));
        result_ =
            without_fields(schema_, merged, field_intersection(field_difference(all, kept), last));
        restore_emptied(result_, merged);
    }

    /// A container that somebody else owns stays, if empty.
    static void restore_emptied(Value& value, const Value& full) {
        if (value.is_null() && full.is_object()) value = Value::object();
        if (value.is_null() && full.is_array()) value = Value::array();
        if (!value.is_object()) return;
        static const Value none{};
        const MemberIndex was(full);
        for (Value::Member& member : value.mutable_members()) {
            const Value* before = was.find(member.key);
            restore_emptied(member.value, before != nullptr ? *before : none);
        }
    }

    /// What the annotation of client-side apply sets and the live object still has so.
    std::set<std::string> last_applied_fields() const {
        const std::string_view text =
            live_["metadata"]["annotations"][last_applied_annotation].text_or("");
        auto parsed = parse_json(text);
        const Parsed* last = std::get_if<Parsed>(&parsed);
        if (!last || last->value["apiVersion"] != applied_["apiVersion"]) return {};
        const Comparison drift = compare_typed(schema_, live_, last->value);
        const FieldSet fields = field_difference(
            field_difference(field_set_of(schema_, last->value), drift.modified), drift.added);
        const std::vector<std::string> texts = path_texts(fields);
        return {texts.begin(), texts.end()};
    }

    void renew_last_applied() {
        Value config = applied_;
        Value* metadata = config.find("metadata");
        Value* annotations = metadata ? metadata->find("annotations") : nullptr;
        if (annotations) annotations->erase(last_applied_annotation);
        result_.at("metadata")
            .at("annotations")
            .set(last_applied_annotation, to_json(config) + "\n");
    }

    const Schema& schema_;
    bool existed_;
    Value live_;
    const Value& applied_;
    const ApplyRequest& request_;
    Owners owners_;  // Without this manager.
    FieldOwner me_;
    std::optional<FieldOwner> before_;  // This manager's entry so far.
    Value result_;
    Comparison changes_;
    std::vector<ApplyConflict> conflicts_;
};

std::string described(const Value& object) {
    const Value& metadata = object["metadata"];
    std::string version = object["apiVersion"].text();
    if (version.find('/') == std::string::npos) version = "/" + version;
    return metadata["namespace"].text() + "/" + metadata["name"].text() + "; " + version +
           ", Kind=" + object["kind"].text();
}

std::string owner_text(const ApplyConflict& conflict) {
    std::string text = quoted(conflict.manager);
    if (!conflict.subresource.empty()) text += " with subresource " + quoted(conflict.subresource);
    if (!conflict.api_version.empty()) text += " using " + conflict.api_version;
    return text;
}

}  // namespace

std::string conflict_cause(const ApplyConflict& conflict) {
    return "conflict with " + owner_text(conflict);
}

std::string conflict_message(const std::vector<ApplyConflict>& conflicts) {
    if (conflicts.size() == 1)
        return "Apply failed with 1 conflict: " + conflict_cause(conflicts[0]) + ": " +
               conflicts[0].field;
    std::map<std::string, std::vector<std::string>> fields_of;
    for (const ApplyConflict& conflict : conflicts)
        fields_of[owner_text(conflict)].push_back(conflict.field);
    std::vector<std::string> lines;
    for (const auto& [owner, fields] : fields_of) {
        lines.push_back("conflicts with " + owner + ":");
        for (const std::string& field : fields)
            lines.push_back("- " + field);
    }
    return "Apply failed with " + std::to_string(conflicts.size()) +
           " conflicts: " + join(lines, "\n");
}

std::variant<Value, std::vector<ApplyConflict>, PatchError> server_side_apply(
    const Schema& schema, const Value& live, const Value& applied, const ApplyRequest& request) {
    if (!applied.is_object()) return PatchError{"an apply patch must be an object"};
    if (!applied["metadata"]["managedFields"].is_null())
        return PatchError{"metadata.managedFields must be nil"};
    const std::vector<std::string> faults = typed_faults(schema, applied);
    if (!faults.empty()) {
        return PatchError{.text = "failed to create typed patch object (" + described(applied) +
                                  "): " + (faults.size() == 1 ? "" : "errors:\n  ") +
                                  join(faults, "\n  "),
                          .untyped = true};
    }
    Apply apply(schema, live, applied, request);
    apply.merge();
    std::vector<ApplyConflict> conflicts = apply.conflicts();
    if (!conflicts.empty() && !request.force) return conflicts;
    return apply.finish();
}

Value track_update(const Schema& schema, const Value& before, Value after,
                   const ApplyRequest& request) {
    const Value& given = after["metadata"]["managedFields"];
    Owners owners;
    if (!request.subresource.empty() || given.is_null()) {
        owners = owners_of(before);
    } else if (!is_reset(given)) {
        owners = owners_of(after);
        if (owners.empty()) owners = owners_of(before);
    }
    after = without_managed_fields(std::move(after));
    // What nobody owns yet is tracked from its first apply on.
    if (owners.empty() && !before["metadata"]["uid"].text_or("").empty()) return after;
    // The managedFields of `before` are a difference too, in a field that nobody owns.
    const Comparison changes = changes_of(schema, before, after);
    take_from(owners, changes);

    FieldOwner me{request.manager,     FieldOwner::Operation::update,
                  request.api_version, request.subresource,
                  request.time,        owned_part(changes)};
    if (!me.set.empty()) {
        const auto found = std::find_if(owners.begin(), owners.end(), [&](const FieldOwner& owner) {
            return same_owner(owner, me);
        });
        if (found == owners.end()) {
            owners.push_back(std::move(me));
        } else {
            found->set = field_union(found->set, me.set);
            found->time = me.time;
        }
    }
    limit_updaters(owners);
    set_managed_fields(after, std::move(owners));
    return after;
}

}  // namespace muster::api
