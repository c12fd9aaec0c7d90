// kube/cache_test.cpp - what is kept of an object that was seen.
#include "kube/cache.h"

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::kube {
namespace {

using api::Value;

TEST_CASE("an object is kept without who wrote which field") {
    const Value fields = Value::array({Value::object({{"manager", "kubectl"}})});
    const Value metadata = Value::object({{"name", "a"},
                                          {"namespace", "team"},
                                          {"uid", "u"},
                                          {"resourceVersion", "7"},
                                          {"managedFields", fields}});
    const ObjectPtr object = make_object(
        {"", "configmaps"}, Value::object({{"kind", "ConfigMap"}, {"metadata", metadata}}));
    CHECK(object->key == api::Key{{"", "configmaps"}, "team", "a"});
    CHECK(object->uid == "u");
    CHECK(object->version == 7);
    CHECK_FALSE(object->value["metadata"].has("managedFields"));
    CHECK(make_object({"", "configmaps"}, Value::object())->value == Value::object());
}

ObjectPtr made(const api::GroupResource& resource, const std::string& ns, const std::string& name,
               const std::string& owner, std::int64_t version) {
    Value metadata = Value::object(
        {{"name", name}, {"namespace", ns}, {"resourceVersion", std::to_string(version)}});
    if (!owner.empty()) {
        const Value reference = Value::object({{"uid", owner}, {"controller", true}});
        metadata.set("ownerReferences", Value::array({reference}));
    }
    return make_object(resource, Value::object({{"metadata", metadata}}));
}

std::string_view color_of(const Object& object) {
    return object.label("color");
}

TEST_CASE("an index finds what a look at all of them finds") {
    const std::vector<api::GroupResource> kinds{{"", "pods"}, {"batch", "jobs"}};
    Random random(12);
    Cache plain;
    Cache indexed;
    indexed.add_index({kinds[0], color_of});
    indexed.add_index({kinds[0], color_of});
    for (std::int64_t version = 1; version <= 3000; ++version) {
        const std::string ns = random.below(2) == 0 ? "a" : "b";
        const std::string name = "n" + std::to_string(random.below(12));
        const api::GroupResource& kind = kinds[random.below(2)];
        if (random.below(3) == 0) {
            plain.remove({kind, ns, name});
            indexed.remove({kind, ns, name});
        } else {
            Value value = made(kind, ns, name, "", version)->value;
            const std::string color = random.below(4) == 0   ? ""
                                      : random.below(2) == 0 ? "red"
                                                             : "blue";
            value.at("metadata").at("labels").set("color", color);
            const ObjectPtr object = make_object(kind, std::move(value));
            plain.put(object);
            indexed.put(object);
        }
        for (const std::string color : {"red", "blue", "green"})
            CHECK(indexed.by_index(kind, ns, color_of, color) ==
                  plain.by_index(kind, ns, color_of, color));
    }
    std::vector<ObjectPtr> red = plain.list(kinds[0], "a");
    std::erase_if(red, [](const ObjectPtr& object) { return color_of(*object) != "red"; });
    CHECK_FALSE(red.empty());
    CHECK(indexed.by_index(kinds[0], "a", color_of, "red") == red);
}

TEST_CASE("what was put last is found by key, in lists and by owner, until it is removed") {
    const std::vector<api::GroupResource> kinds{{"", "pods"}, {"batch", "jobs"}};
    Random random(11);
    Cache cache;
    std::map<api::Key, ObjectPtr> expected;
    for (std::int64_t version = 1; version <= 3000; ++version) {
        const std::string ns = random.below(2) == 0 ? "a" : "b";
        const std::string name = "n" + std::to_string(random.below(12));
        const api::GroupResource& kind = kinds[random.below(2)];
        const api::Key key{kind, ns, name};
        if (random.below(3) == 0) {
            const auto known = expected.find(key);
            // Also by the key of the object itself, which goes with it.
            cache.remove(known == expected.end() ? key : cache.find(key)->key);
            expected.erase(key);
        } else {
            const std::string owner =
                random.below(2) == 0 ? "" : "o" + std::to_string(random.below(3));
            expected[key] = made(kind, ns, name, owner, version);
            cache.put(expected[key]);
        }
        CHECK(cache.find(key) == (expected.contains(key) ? expected[key] : nullptr));
        std::vector<ObjectPtr> listed;
        std::vector<ObjectPtr> owned;
        for (const auto& [each, object] : expected) {
            if (each.resource == kind && each.ns == ns) listed.push_back(object);
            const bool is_owned =
                object->value["metadata"]["ownerReferences"].items().size() == 1 &&
                object->value["metadata"]["ownerReferences"].items()[0]["uid"].text() == "o1";
            if (each.resource == kind && is_owned) owned.push_back(object);
        }
        CHECK(cache.list(kind, ns) == listed);
        CHECK(cache.owned_by(kind, "o1") == owned);
    }
    CHECK(cache.list(kinds[0]).size() + cache.list(kinds[1]).size() == expected.size());
}

}  // namespace
}  // namespace muster::kube
