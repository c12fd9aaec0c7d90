// test/oracle/case.h - recorded cases: a small queueing scenario and what Kueue was seen to do with
// it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"

namespace muster::oracle {

/// A scenario with its outcome. Names that a scenario owns ("@cq0") are kept without the "@".
struct Case {
    std::string id;                   // "reclaim-flat/k1-003"
    std::string family;               // "reclaim-flat"
    std::string variant;              // "base", "fair", "tas": the configuration that it needs.
    api::Value scenario;              // {namespaces?, objects, steps}
    std::vector<api::Value> outcome;  // After each step, whole: {wl, cq, co, picks?, errors?}.
    std::set<std::string> noisy;      // Fields that differed between runs of Kueue.
};

/// All cases of the recorded files at a path (a file or a folder), by file name.
std::vector<Case> load_cases(const std::string& path);

/// The whole Workload of the scenario's short form.
api::Value whole_workload(const api::Value& short_form);
/// The whole object of the short form of a queue, flavor, cohort, topology or node. A node's status
/// is in it too.
api::Value whole_object(const api::Value& short_form);

}  // namespace muster::oracle
