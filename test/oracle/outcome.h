// test/oracle/outcome.h - what a run looks like after a step, and in which fields two runs differ.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/value.h"
#include "test/oracle/case.h"

namespace muster::oracle {

/// What the runner remembers of a Workload's evictions; its object shows only the last.
struct Evictions {
    std::int64_t completed = 0;
    std::string last_preemption;
};

/// One row of an outcome, in the words of the recorded ones.
api::Value workload_row(const api::Value& workload, const Evictions& evictions);
api::Value queue_row(const api::Value& cluster_queue);

/// A field of one object that is not as recorded.
struct Difference {
    std::size_t step = 0;
    std::string field;   // "state", "flavors", "cqUsage", ...
    std::string object;  // Workload, ClusterQueue or Cohort; empty: the step's own.
    api::Value expected;
    api::Value got;
};

/// State, queue, flavors, counts and topology: what was decided, without how it is told.
bool is_core(const std::string& field);

/// All differences in order of steps and fields; `noisy` fields are left out.
std::vector<Difference> differences(const std::vector<api::Value>& expected,
                                    const std::vector<api::Value>& got,
                                    const std::set<std::string>& noisy);

}  // namespace muster::oracle
