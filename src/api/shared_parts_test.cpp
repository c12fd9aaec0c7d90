// api/shared_parts_test.cpp - equal parts are one, and nobody who changes a copy is noticed.
#include "api/shared_parts.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

const std::string pod_template =
    R"({"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 30, "containers":
        [{"name": "main", "image": "registry.example/train:1", "args": ["--epochs", "3"],
          "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}})";

Value job(const std::string& name) {
    Value value =
        parsed(R"({"metadata": {"name": ")" + name + R"("}, "template": )" + pod_template + "}");
    share_parts(value);
    return value;
}

TEST_CASE("equal parts of different objects are the same one") {
    const Value first = job("first");
    const Value second = job("second");
    CHECK(&first["template"]["spec"].members() == &second["template"]["spec"].members());
    CHECK(first["metadata"]["name"].text() == "first");
    CHECK(second["metadata"]["name"].text() == "second");
    CHECK(first["template"] == parsed(pod_template));
}

TEST_CASE("small texts that come again are the same one") {
    const auto condition = [](const std::string& message) {
        Value value = parsed(R"({"type": "Admitted", "message": ")" + message + R"("})");
        share_parts(value);
        return value;
    };
    const Value first = condition("one");
    for (int i = 0; i < 20000; ++i)
        condition("only once " + std::to_string(i));
    const Value second = condition("two");
    const Value third = condition(std::string(2000, 'x'));
    CHECK(third["message"].as_string().size() == 2000);
    // The 20,000 have driven the first one's text away at most once.
    const Value fourth = condition("three");
    CHECK(second["type"].as_string().data() == fourth["type"].as_string().data());
    CHECK(first == condition("one"));
}

TEST_CASE("who changes one changes no other, whatever way it takes") {
    const Value kept = job("kept");
    const std::string before = to_json(kept);
    Value changed = kept;
    changed.at("template").at("spec").at("containers").mutable_items()[0].set("image", "other");
    CHECK(to_json(kept) == before);
    CHECK(changed["template"]["spec"]["containers"][0]["image"].text() == "other");
    changed = kept;
    changed.find("template")->find("spec")->erase("restartPolicy");
    CHECK(to_json(kept) == before);
    CHECK_FALSE(changed["template"]["spec"].has("restartPolicy"));
    changed = kept;
    changed.at("template").at("spec").at("containers").push(Value("more"));
    changed.mutable_members().clear();
    CHECK(to_json(kept) == before);
    Value mine = job("mine");  // Also of one that has no copies.
    mine.at("template").at("spec").at("containers").mutable_items()[0].set("image", "other");
    CHECK(to_json(job("kept")) == before);
    CHECK(to_json(kept) == before);
}

TEST_CASE("a copy lives on when what it came from is gone") {
    Value copy;
    {
        const Value first = job("first");
        copy = first["template"];
    }
    CHECK(copy == parsed(pod_template));
}

TEST_CASE("what differs only in order or in the kind of a number stays as it is") {
    Value whole = parsed(R"({"a": 1, "b": ")" + std::string(400, 'x') + R"("})");
    Value turned = parsed(R"({"b": ")" + std::string(400, 'x') + R"(", "a": 1})");
    Value real = parsed(R"({"a": 1.0, "b": ")" + std::string(400, 'x') + R"("})");
    for (Value* each : {&whole, &turned, &real})
        share_parts(*each);
    CHECK(to_json(whole).starts_with(R"({"a":1,)"));
    CHECK(to_json(turned).starts_with(R"({"b":)"));
    CHECK(real["a"].type() == Value::Type::real);
}

TEST_CASE("what nobody has any more is not kept for ever, however deep it is") {
    for (int i = 0; i < 5000; ++i) {
        const std::string unique = std::string(400, 'x') + std::to_string(i);
        std::string text = "\"" + unique + "\"";
        for (int depth = 0; depth < 12; ++depth) {
            text.insert(0, R"({"inner": )");
            text += "}";
        }
        Value one = parsed(text);
        share_parts(one);
        CHECK(known_parts() <= 1024);
    }
}

}  // namespace
}  // namespace muster::api
