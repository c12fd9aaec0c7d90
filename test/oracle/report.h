// test/oracle/report.h - agreement per family, what is expected of it, and one case in full.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/oracle/case.h"
#include "test/oracle/outcome.h"
#include "test/oracle/runner.h"

namespace muster::oracle {

/// How many cases of a family agree.
struct Agreement {
    int cases = 0;
    int core = 0;
    int all = 0;
    int unsettled = 0;
};

/// One played case.
struct Played {
    const Case* recorded = nullptr;
    Outcome outcome;
    std::vector<Difference> differences;
    bool is_core_equal() const;
    bool is_equal() const { return outcome.unsettled.empty() && differences.empty(); }
};

std::map<std::string, Agreement> agreement_of(const std::vector<Played>& played);

std::string table(const std::map<std::string, Agreement>& families);
/// In how many cases each field differs.
std::string field_table(const std::vector<Played>& played);
/// One line: how many differences, and the first.
std::string summary(const Played& played);
/// The scenario with, after each step, what was expected against what was got.
std::string whole(const Played& played);

/// The least agreement that passes, of each family: a file of lines "family core all".
class Floor {
public:
    explicit Floor(std::string path);
    /// A line for each family that falls below.
    std::vector<std::string> missed(const std::map<std::string, Agreement>& families) const;
    /// Writes the file anew with whatever is higher.
    void raise(const std::map<std::string, Agreement>& families);

private:
    struct Least {
        int core = 0;
        int all = 0;
    };
    std::string path_;
    std::map<std::string, Least> least_;
};

}  // namespace muster::oracle
