// api/apply_test.cpp - server-side apply and the tracking of writes: who owns what, who may change
// it, what goes when nobody owns it any more.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "api/field_set.h"
#include "api/json.h"
#include "api/managed_fields.h"
#include "api/patch.h"
#include "api/typed_value.h"
#include "base/random.h"

namespace muster::api {
namespace {

Value value_of(std::string_view json) {
    auto result = parse_json(json);
    REQUIRE_MESSAGE(std::holds_alternative<Parsed>(result), json);
    return std::get<Parsed>(std::move(result)).value;
}

/// An object under the hands of several managers.
struct World {
    std::shared_ptr<const Schema> schema = schema_of("core.v1.Pod");
    Value live;
    std::string conflict;
    std::string error;
    int clock = 0;

    ApplyRequest request(const std::string& manager) {
        return {manager, "v1", "", "2024-01-01T00:00:" + std::to_string(10 + clock++) + "Z", false};
    }

    /// False: refused.
    bool apply(const std::string& manager, const Value& config, bool force = false) {
        ApplyRequest apply_request = request(manager);
        apply_request.force = force;
        auto result = server_side_apply(*schema, live, config, apply_request);
        conflict.clear();
        if (auto* conflicts = std::get_if<std::vector<ApplyConflict>>(&result)) {
            conflict = conflict_message(*conflicts);
            return false;
        }
        if (auto* fault = std::get_if<PatchError>(&result)) {
            error = fault->text;
            return false;
        }
        live = std::get<Value>(std::move(result));
        return true;
    }
    bool apply(const std::string& manager, const char* config, bool force = false) {
        return apply(manager, value_of(config), force);
    }

    void update(const std::string& manager, const Value& object) {
        live = track_update(*schema, live, object, request(manager));
    }

    std::string object() const {
        Value shown = live;
        if (shown.has("metadata")) shown.at("metadata").erase("managedFields");
        return to_json(shown);
    }

    std::string owned_by(const std::string& manager) const {
        for (const Value& entry : live["metadata"]["managedFields"].items()) {
            if (entry["manager"] == Value(manager)) return to_json(entry["fieldsV1"]);
        }
        return "-";
    }
    std::string time_of(const std::string& manager) const {
        for (const Value& entry : live["metadata"]["managedFields"].items()) {
            if (entry["manager"] == Value(manager)) return entry["time"].text();
        }
        return "-";
    }
};

TEST_CASE("sets of fields are read and written as FieldsV1, and shown as paths") {
    const char* text =
        R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}},"f:set":{"v:\"x\"":{}},"i:3":{}}})";
    const std::optional<FieldSet> set = parse_fields_v1(value_of(text));
    REQUIRE(set);
    CHECK(to_json(to_fields_v1(*set)) == text);
    CHECK(path_texts(*set) == std::vector<std::string>{".metadata.labels", ".metadata.labels.a",
                                                       ".spec[3]", ".spec.containers[name=\"c\"]",
                                                       ".spec.containers[name=\"c\"].image",
                                                       ".spec.set[=\"x\"]"});
    CHECK(field_difference(*set, *set).empty());
    CHECK(field_union(*set, FieldSet()) == *set);
    CHECK(field_intersection(*set, *set) == *set);
    CHECK(!parse_fields_v1(value_of(R"({"x":{}})")));
    CHECK(!parse_fields_v1(value_of(R"({"f:a":1})")));
}

TEST_CASE("an apply owns what it sets, and drops what it no longer sets") {
    World world;
    REQUIRE(world.apply("a", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
        "labels":{"x":"1","y":"2"}},"spec":{"containers":[{"name":"c","image":"i"}]}})"));
    CHECK(
        world.owned_by("a") ==
        R"({"f:metadata":{"f:labels":{"f:x":{},"f:y":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}})");
    REQUIRE(world.apply("b", R"({"metadata":{"labels":{"y":"2","z":"3"}}})"));
    REQUIRE(world.apply("a", R"({"metadata":{"labels":{"x":"1"}}})"));
    // y is still b's; the container was a's alone.
    CHECK(
        world.object() ==
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"x":"1","y":"2","z":"3"}}})");
}

TEST_CASE("a field of another manager is a conflict unless forced") {
    World world;
    REQUIRE(world.apply("a", R"({"spec":{"nodeName":"n","hostname":"h"}})"));
    CHECK(!world.apply("b", R"({"spec":{"nodeName":"m"}})"));
    CHECK(world.conflict == "Apply failed with 1 conflict: conflict with \"a\": .spec.nodeName");
    Value edited = world.live;
    edited.at("spec").set("subdomain", "s");
    world.update("kubectl-edit", edited);
    CHECK(!world.apply("b", R"({"spec":{"nodeName":"m","subdomain":"t"}})"));
    CHECK(world.conflict ==
          "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.nodeName\nconflicts with "
          "\"kubectl-edit\" using v1:\n- .spec.subdomain");
    REQUIRE(world.apply("b", R"({"spec":{"nodeName":"n"}})"));
    CHECK(world.owned_by("a") == R"({"f:spec":{"f:hostname":{},"f:nodeName":{}}})");
    REQUIRE(world.apply("b", R"({"spec":{"nodeName":"m"}})", true));
    CHECK(world.owned_by("a") == R"({"f:spec":{"f:hostname":{}}})");
}

TEST_CASE("an update takes what it changes, and nothing else") {
    World world;
    world.update("u", value_of(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
        "uid":"1","finalizers":["f"]},"spec":{"nodeName":"n"}})"));
    // The spec of a pod is always there: nobody has added it.
    CHECK(world.owned_by("u") ==
          R"({"f:metadata":{"f:finalizers":{".":{},"v:\"f\"":{}}},"f:spec":{"f:nodeName":{}}})");
    const std::string time = world.time_of("u");
    world.update("v", world.live);
    CHECK(world.owned_by("v") == "-");
    Value changed = world.live;
    changed.at("metadata").set("resourceVersion", "7");
    world.update("v", changed);
    CHECK(world.owned_by("v") == "-");
    CHECK(world.time_of("u") == time);
    changed.at("spec").set("nodeName", "m");
    world.update("v", changed);
    CHECK(world.owned_by("v") == R"({"f:spec":{"f:nodeName":{}}})");
    CHECK(world.owned_by("u") == R"({"f:metadata":{"f:finalizers":{".":{},"v:\"f\"":{}}}})");
}

TEST_CASE("an apply that changes nothing leaves everything, times too") {
    World world;
    const char* config = R"({"metadata":{"labels":{"x":"1"}},"spec":{"nodeName":"n"}})";
    REQUIRE(world.apply("a", config));
    const Value before = world.live;
    REQUIRE(world.apply("a", config));
    CHECK(world.live == before);
    REQUIRE(world.apply("a", R"({"metadata":{"labels":{"x":"2"}},"spec":{"nodeName":"n"}})"));
    CHECK(world.time_of("a") == "2024-01-01T00:00:12Z");
}

TEST_CASE("managedFields can be cleared, and survive clients that do not know them") {
    World world;
    REQUIRE(world.apply("a", R"({"spec":{"nodeName":"n"}})"));
    Value plain = world.live;
    plain.at("metadata").erase("managedFields");
    world.update("old", plain);
    CHECK(world.owned_by("a") == R"({"f:spec":{"f:nodeName":{}}})");
    for (const char* reset : {"[]", "[{}]"}) {
        World copy = world;
        Value cleared = world.live;
        cleared.at("metadata").set("managedFields", value_of(reset));
        copy.update("x", cleared);
        CHECK(copy.live["metadata"]["managedFields"].is_null());
    }
}

TEST_CASE("nobody owns what the endpoint does not write") {
    World world;
    world.live = value_of(R"({"spec":{"nodeName":"n"},"status":{"phase":"Pending"}})");
    ApplyRequest request = world.request("a");
    request.kept_part = "status";
    const Value config = value_of(R"({"spec":{"hostname":"h"},"status":{"phase":"Failed"}})");
    world.live = std::get<Value>(server_side_apply(*world.schema, world.live, config, request));
    CHECK(world.owned_by("a") == R"({"f:spec":{"f:hostname":{}}})");
    CHECK(world.owned_by("before-first-apply") == R"({"f:spec":{"f:nodeName":{}}})");
}

TEST_CASE("what nobody owns any more is owned again from its first apply on") {
    World world;
    REQUIRE(world.apply("a", R"({"spec":{"nodeName":"n"}})"));
    Value cleared = world.live;
    cleared.at("metadata").set("uid", "1");
    cleared.at("metadata").set("managedFields", value_of("[{}]"));
    world.update("x", cleared);
    CHECK(world.live["metadata"]["managedFields"].is_null());
    Value changed = world.live;
    changed.at("spec").set("nodeName", "m");
    world.update("x", changed);
    CHECK(world.live["metadata"]["managedFields"].is_null());
    REQUIRE(world.apply("b", R"({"spec":{"nodeName":"m"}})"));
    CHECK(world.owned_by("before-first-apply") == R"({"f:spec":{"f:nodeName":{}}})");
    // Only a change of the object has a time.
    CHECK(world.time_of("b").empty());
}

TEST_CASE("an object that was never tracked belongs to an updater of its own") {
    World world;
    world.live = value_of(R"({"metadata":{"name":"p"},"spec":{"nodeName":"n"}})");
    CHECK(!world.apply("a", R"({"spec":{"nodeName":"m"}})"));
    CHECK(world.conflict ==
          "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: "
          ".spec.nodeName");
}

TEST_CASE("kubectl goes over from client-side apply without conflicts") {
    World world;
    Value object =
        value_of(R"({"apiVersion":"v1","metadata":{"annotations":{}},"spec":{"nodeName":"n"}})");
    object.at("metadata")
        .at("annotations")
        .set("kubectl.kubernetes.io/last-applied-configuration",
             R"({"apiVersion":"v1","spec":{"nodeName":"n"}})");
    world.update("kubectl-client-side-apply", object);
    CHECK(world.apply("kubectl", R"({"apiVersion":"v1","spec":{"nodeName":"m"}})"));
    CHECK(world.live.path("spec.nodeName").text() == "m");
    CHECK(world.live["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
              .text() == "{\"apiVersion\":\"v1\",\"spec\":{\"nodeName\":\"m\"}}\n");
}

TEST_CASE("what cannot be applied says why") {
    World world;
    CHECK(!world.apply("a", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
        "namespace":"d"},"spec":{"foo":1}})"));
    CHECK(world.error ==
          "failed to create typed patch object (d/p; /v1, Kind=Pod): .spec.foo: field not declared "
          "in schema");
    CHECK(!world.apply("a", R"({"spec":{"priority":"a","containers":{"a":[1]},"hostNetwork":"yes",
        "nodeName":5,"tolerations":[{"keys":1}]}})"));
    CHECK(world.error.ends_with(
        "errors:\n  .spec.priority: expected numeric (int or float), got string\n"
        "  .spec.containers: expected list, got &{map[a:[1]]}\n"
        "  .spec.hostNetwork: expected boolean, got &{yes}\n"
        "  .spec.nodeName: expected string, got &value.valueUnstructured{Value:5}\n"
        "  .spec.tolerations[0].keys: field not declared in schema"));
    CHECK(!world.apply("a", R"({"spec":{"containers":[{"name":"a"},{"name":"a"}]}})"));
    CHECK(world.error.ends_with(".spec.containers: duplicate entries for key [name=\"a\"]"));
    CHECK(!world.apply("a", R"({"spec":{"containers":[{"image":"a"}]}})"));
    CHECK(world.error.find("element 0: associative list with keys") != std::string::npos);
    CHECK(!world.apply("a", R"({"metadata":{"managedFields":[]}})"));
    CHECK(world.error == "metadata.managedFields must be nil");
}

TEST_CASE("the oldest updaters beyond ten become one") {
    World world;
    for (int i = 0; i < 15; ++i) {
        Value object = world.live;
        object.at("metadata").at("labels").set("l" + std::to_string(i), "x");
        world.update("m" + std::to_string(i), object);
    }
    const Value& entries = world.live["metadata"]["managedFields"];
    CHECK(entries.size() == 10);
    CHECK(entries[0]["manager"].text() == "ancient-changes");
    CHECK(entries[0]["fieldsV1"]["f:metadata"]["f:labels"].size() == 7);
}

Value random_pod(Random& random) {
    const auto coin = [&] { return random.below(2) == 0; };
    const auto word = [&] { return std::string(1, "xyz"[random.below(3)]); };
    Value pod = Value::object();
    Value spec = Value::object();
    if (coin()) spec.set("nodeName", word());
    if (coin()) spec.set("hostname", word());
    for (const char* name : {"a", "b", "c"}) {
        if (coin()) continue;
        Value container = Value::object({{"name", name}});
        if (coin()) container.set("image", word());
        if (coin())
            container.at("ports").push(Value::object({{"containerPort", 1}, {"name", word()}}));
        if (coin()) container.at("args").push(word());
        spec.at("containers").push(std::move(container));
    }
    for (const char* key : {"k", "l"}) {
        if (coin()) pod.at("metadata").at("labels").set(key, word());
        if (coin()) spec.at("nodeSelector").set(key, word());
    }
    if (coin()) pod.at("metadata").at("finalizers").push(word());
    pod.set("spec", std::move(spec));
    return pod;
}

using Leaves = std::map<std::string, FieldSet>;

Leaves owners_in(const Value& object) {
    Leaves owners;
    for (FieldOwner& owner : parse_managed_fields(object["metadata"]["managedFields"])
                                 .value_or(std::vector<FieldOwner>()))
        owners[owner.manager] = std::move(owner.set);
    return owners;
}

TEST_CASE("random: what two objects share is compared as if they did not share it") {
    Random random(9);
    const auto schema = schema_of("core.v1.Pod");
    for (int round = 0; round < 300; ++round) {
        Value before = random_pod(random);
        before.seal();
        Value after = before;
        const Value other = random_pod(random);
        for (const Value::Member& member : other["spec"].members()) {
            if (random.below(2) == 0) after.at("spec").set(member.key, member.value);
        }
        if (random.below(2) == 0) after.set("metadata", other["metadata"]);
        const Value apart = value_of(to_json(after));
        const Comparison shared = compare_typed(*schema, before, after);
        const Comparison plain = compare_typed(*schema, before, apart);
        INFO(to_json(before) << " -> " << to_json(after));
        REQUIRE(shared.added == plain.added);
        REQUIRE(shared.modified == plain.modified);
        REQUIRE(shared.removed == plain.removed);
    }
}

TEST_CASE("random managers: an apply without force never touches a field of another manager") {
    Random random(8);
    for (int round = 0; round < 300; ++round) {
        World world;
        for (int step = 0; step < 10; ++step) {
            const std::string manager(1, "abc"[random.below(3)]);
            const bool force = random.below(3) == 0;
            const Value before = world.live;
            const Value config = random_pod(random);
            if (!world.apply(manager, config, force)) {
                REQUIRE(!force);
                REQUIRE(!world.conflict.empty());
                continue;
            }
            // What was applied is there.
            INFO(to_json(before) << " + " << to_json(config) << " = " << to_json(world.live));
            REQUIRE(merge_typed(*world.schema, world.live, config) == world.live);
            const Comparison changes = compare_typed(
                *world.schema, before.is_null() ? Value::object() : before, world.live);
            for (const auto& [owner, fields] : owners_in(before)) {
                if (owner == manager) continue;
                REQUIRE(field_intersection(fields, changes.removed).empty());
                if (force) continue;
                REQUIRE(field_intersection(fields, changes.modified).empty());
                REQUIRE(owners_in(world.live)[owner] == fields);
            }
            // Applied again, it changes nothing.
            const Value once = world.live;
            REQUIRE(world.apply(manager, config, force));
            REQUIRE(world.live == once);
        }
    }
}

}  // namespace
}  // namespace muster::api
