// kube/cache_test.cpp - what is kept of an object that was seen.
#include "kube/cache.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace muster::kube
