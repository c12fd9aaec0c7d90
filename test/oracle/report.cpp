// test/oracle/report.cpp - tables, the floor, and the story of one case.
#include "test/oracle/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "api/json.h"

namespace muster::oracle {
namespace {

using api::Value;

std::string line_of(const std::string& name, const Agreement& a) {
    char text[160];
    const auto percent = [&](int part) { return a.cases == 0 ? 0.0 : 100.0 * part / a.cases; };
    std::snprintf(text, sizeof text, "%-16s %6d %6d %5.1f%% %6d %5.1f%% %10d\n", name.c_str(),
                  a.cases, a.core, percent(a.core), a.all, percent(a.all), a.unsettled);
    return text;
}

std::string difference_text(const Difference& d) {
    return "step " + std::to_string(d.step) + ": " + d.field + " " + d.object + ": expected " +
           api::to_json(d.expected) + ", got " + api::to_json(d.got);
}

const Difference& first_of(const Played& played) {
    const auto core = std::find_if(played.differences.begin(), played.differences.end(),
                                   [](const Difference& d) { return is_core(d.field); });
    return core == played.differences.end() ? played.differences.front() : *core;
}

void add_rows(std::string& text, const Value& expected, const Value& got, const char* part) {
    std::set<std::string> names;
    for (const Value* step : {&expected, &got}) {
        for (const auto& [name, row] : (*step)[part].members())
            names.insert(name);
    }
    for (const std::string& name : names) {
        const Value& want = expected[part][name];
        const Value& have = got[part][name];
        if (want == have) {
            text += "      " + name + " " + api::to_json(want) + "\n";
        } else {
            text += "    - " + name + " " + api::to_json(want) + "\n";
            text += "    + " + name + " " + api::to_json(have) + "\n";
        }
    }
}

}  // namespace

bool Played::is_core_equal() const {
    return outcome.unsettled.empty() &&
           std::none_of(differences.begin(), differences.end(),
                        [](const Difference& d) { return is_core(d.field); });
}

std::map<std::string, Agreement> agreement_of(const std::vector<Played>& played) {
    std::map<std::string, Agreement> families;
    for (const Played& one : played) {
        Agreement& family = families[one.recorded->family];
        ++family.cases;
        family.core += one.is_core_equal() ? 1 : 0;
        family.all += one.is_equal() ? 1 : 0;
        family.unsettled += one.outcome.unsettled.empty() ? 0 : 1;
    }
    return families;
}

std::string table(const std::map<std::string, Agreement>& families) {
    std::string text = "family            cases   core            all         unsettled\n";
    Agreement total;
    for (const auto& [name, family] : families) {
        text += line_of(name, family);
        total.cases += family.cases;
        total.core += family.core;
        total.all += family.all;
        total.unsettled += family.unsettled;
    }
    return text + line_of("total", total);
}

std::string field_table(const std::vector<Played>& played) {
    std::map<std::string, int> cases;
    for (const Played& one : played) {
        std::set<std::string> fields;
        for (const Difference& difference : one.differences)
            fields.insert(difference.field);
        for (const std::string& field : fields)
            ++cases[field];
    }
    std::string text = "field            cases that differ\n";
    for (const auto& [field, count] : cases) {
        char line[80];
        std::snprintf(line, sizeof line, "%-16s %6d\n", field.c_str(), count);
        text += line;
    }
    return text;
}

std::string summary(const Played& played) {
    const std::string& id = played.recorded->id;
    if (!played.outcome.unsettled.empty()) return id + ": " + played.outcome.unsettled;
    const auto core = std::count_if(played.differences.begin(), played.differences.end(),
                                    [](const Difference& d) { return is_core(d.field); });
    return id + ": " + std::to_string(played.differences.size()) + " differences (" +
           std::to_string(core) + " core); " + difference_text(first_of(played));
}

std::string whole(const Played& played) {
    const Case& recorded = *played.recorded;
    std::string text = recorded.id + " (" + recorded.variant + ")\n";
    for (const Value& object : recorded.scenario["objects"].items())
        text += api::to_json(object) + "\n";
    const Value& steps = recorded.scenario["steps"];
    for (std::size_t i = 0; i < steps.size(); ++i) {
        text += "step " + std::to_string(i) + " " + steps[i]["mode"].text() + "\n";
        for (const Value& action : steps[i]["actions"].items())
            text += "    do " + api::to_json(action) + "\n";
        const Value& expected = recorded.outcome[i];
        if (i >= played.outcome.steps.size()) continue;
        const Value& got = played.outcome.steps[i];
        for (const char* part : {"wl", "cq", "co"})
            add_rows(text, expected, got, part);
        for (const char* part : {"picks", "errors"}) {
            if (!(expected[part] == got[part]))
                text += "    " + std::string(part) + ": expected " + api::to_json(expected[part]) +
                        ", got " + api::to_json(got[part]) + "\n";
        }
    }
    if (!played.outcome.unsettled.empty()) text += "unsettled: " + played.outcome.unsettled + "\n";
    text +=
        "differences (noisy fields left out): " + std::to_string(played.differences.size()) + "\n";
    for (const Difference& difference : played.differences)
        text += "  " + difference_text(difference) + "\n";
    return text;
}

Floor::Floor(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line.front() == '#') continue;
        std::istringstream words(line);
        std::string family;
        Least least;
        words >> family >> least.core >> least.all;
        least_[family] = least;
    }
}

std::vector<std::string> Floor::missed(const std::map<std::string, Agreement>& families) const {
    std::vector<std::string> lines;
    for (const auto& [name, least] : least_) {
        const auto found = families.find(name);
        const Agreement have = found == families.end() ? Agreement{} : found->second;
        if (have.core >= least.core && have.all >= least.all) continue;
        lines.push_back(name + ": " + std::to_string(have.core) + " core equal and " +
                        std::to_string(have.all) + " all equal; at least " +
                        std::to_string(least.core) + " and " + std::to_string(least.all) +
                        " have been");
    }
    return lines;
}

void Floor::raise(const std::map<std::string, Agreement>& families) {
    for (const auto& [name, have] : families) {
        Least& least = least_[name];
        least.core = std::max(least.core, have.core);
        least.all = std::max(least.all, have.all);
    }
    std::ofstream file(path_);
    file << "# The least agreement with the recorded cases that passes: family, cases that are "
            "core equal, all equal.\n# Only ever raised, by oracle_test --raise.\n";
    for (const auto& [name, least] : least_)
        file << name << " " << least.core << " " << least.all << "\n";
}

}  // namespace muster::oracle
