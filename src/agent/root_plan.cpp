// agent/root_plan.cpp - see root_plan.h.
#include "agent/root_plan.h"

namespace muster::agent {

namespace {

api::Value texts(const std::vector<std::string>& list) {
    api::Value value = api::Value::array();
    for (const std::string& text : list)
        value.push(text);
    return value;
}

std::vector<std::string> texts_of(const api::Value& value) {
    std::vector<std::string> list;
    for (const api::Value& item : value.items())
        list.push_back(item.text());
    return list;
}

}  // namespace

api::Value to_value(const RootPlan& plan) {
    api::Value mounts = api::Value::array();
    for (const BindMount& mount : plan.mounts)
        mounts.push(api::Value::object({{"source", mount.source},
                                        {"target", mount.target},
                                        {"readOnly", mount.read_only},
                                        {"inside", texts(mount.inside)}}));
    return api::Value::object({{"mountPoint", plan.mount_point},
                               {"scratch", plan.scratch},
                               {"sharedMemory", plan.shared_memory},
                               {"home", plan.home},
                               {"workingDirectory", plan.working_directory},
                               {"readOnly", plan.read_only},
                               {"accelerators", plan.accelerators},
                               {"ids", to_value(plan.ids)},
                               {"user", plan.user},
                               {"group", plan.group},
                               {"hidden", texts(plan.hidden)},
                               {"environments", texts(plan.environments)},
                               {"mounts", mounts}});
}

RootPlan root_plan_of(const api::Value& value) {
    RootPlan plan;
    plan.mount_point = value["mountPoint"].text();
    plan.scratch = value["scratch"].text();
    plan.shared_memory = value["sharedMemory"].text();
    plan.home = value["home"].text();
    plan.working_directory = value["workingDirectory"].text();
    plan.read_only = value["readOnly"].boolean_or(false);
    plan.accelerators = value["accelerators"].boolean_or(false);
    plan.ids = id_map_of(value["ids"]);
    plan.user = value["user"].integer_or(0);
    plan.group = value["group"].integer_or(0);
    plan.hidden = texts_of(value["hidden"]);
    plan.environments = texts_of(value["environments"]);
    for (const api::Value& mount : value["mounts"].items())
        plan.mounts.push_back({mount["source"].text(), mount["target"].text(),
                               mount["readOnly"].boolean_or(false), texts_of(mount["inside"])});
    return plan;
}

}  // namespace muster::agent
