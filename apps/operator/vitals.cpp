// apps/operator/vitals.cpp - judges what the operator knows of itself.
#include "apps/operator/vitals.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"

namespace muster::on_cluster {
namespace {

using Role = Vitals::Role;

std::string span_text(Duration span) {
    return std::to_string(span.nanoseconds / 1'000'000'000) + " s";
}

Check loop_check(const Vitals& vitals, Duration now) {
    const Duration still = now - vitals.beat;
    if (still < stuck_after) return {"loop", ""};
    return {"loop", "the controllers have not moved for " + span_text(still)};
}

Check server_check(const Vitals& vitals, Duration now) {
    if (!vitals.refusal.empty()) return {"server", "the API server refuses: " + vitals.refusal};
    if (!vitals.answered) {
        const std::string said = vitals.complaint.empty() ? "" : ": " + vitals.complaint;
        return {"server", "the API server has not answered yet" + said};
    }
    const Duration silence = now - *vitals.answered;
    if (silence < unheard_after) return {"server", ""};
    const std::string said = vitals.complaint.empty() ? "" : ": " + vitals.complaint;
    return {"server", "the API server has not answered for " + span_text(silence) + said};
}

Check cache_check(const Vitals& vitals) {
    if (vitals.role == Role::following || vitals.sight == Vitals::Sight::whole)
        return {"caches", ""};
    if (!vitals.missing.empty()) return {"caches", "waiting: " + vitals.missing};
    return {"caches", vitals.role == Role::starting ? "nothing is watched yet"
                                                    : "not everything has been seen yet"};
}

/// Which checks of a request do not count.
std::set<std::string> excluded_by(const net::Request& request) {
    std::set<std::string> names;
    for (const auto& [key, value] : request.query) {
        if (key == "exclude") names.insert(value);
    }
    return names;
}

/// Lines of all checks; the problems too, so that whoever looks need not search the log.
std::string lines_of(const std::vector<Check>& checks, const std::set<std::string>& excluded) {
    std::string lines;
    for (const Check& check : checks) {
        if (excluded.contains(check.name)) {
            lines += "[+]" + check.name + " excluded: ok\n";
            continue;
        }
        lines += check.problem.empty() ? "[+]" + check.name + " ok\n"
                                       : "[-]" + check.name + " failed: " + check.problem + "\n";
    }
    return lines;
}

net::Response answer_of(const std::vector<Check>& checks, const std::string& name, bool verbose,
                        const std::set<std::string>& excluded) {
    const bool good = std::all_of(checks.begin(), checks.end(), [&](const Check& check) {
        return check.problem.empty() || excluded.contains(check.name);
    });
    if (good && !verbose) return text_answer(200, "ok");
    return text_answer(good ? 200 : 500, lines_of(checks, excluded) + name + " check " +
                                             (good ? "passed" : "failed") + "\n");
}

}  // namespace

std::vector<Check> liveness(const Vitals& vitals, Duration now) {
    return {loop_check(vitals, now)};
}

std::vector<Check> readiness(const Vitals& vitals, Duration now) {
    const Check going{"going-on", vitals.role == Role::ending ? "it is ending" : ""};
    std::vector<Check> checks = {going,
                                 loop_check(vitals, now),
                                 server_check(vitals, now),
                                 cache_check(vitals),
                                 {"watches", vitals.outages}};
    checks.insert(checks.end(), vitals.parts.begin(), vitals.parts.end());
    return checks;
}

net::Response probe_answer(const net::Request& request, const ProbeNames& names,
                           const Vitals& vitals, Duration now) {
    if (request.method != "GET" && request.method != "HEAD")
        return text_answer(405, "only GET is answered here\n");
    const auto asked = [&](const std::string& name,
                           const std::vector<Check>& checks) -> std::optional<net::Response> {
        const std::string root = "/" + name;
        if (request.path == root || request.path == root + "/")
            return answer_of(checks, name, request.has_query("verbose"), excluded_by(request));
        for (const Check& check : checks) {
            if (request.path == root + "/" + check.name) return answer_of({check}, name, false, {});
        }
        return std::nullopt;
    };
    for (const std::string& name : {names.liveness, std::string("livez")}) {
        if (auto answer = asked(name, liveness(vitals, now))) return *answer;
    }
    if (auto answer = asked(names.readiness, readiness(vitals, now))) return *answer;
    return text_answer(404, "there is no " + request.path + "; ask for /" + names.liveness +
                                " or /" + names.readiness + "\n");
}

std::string complaint_of(const net::Response& response) {
    constexpr std::size_t words_max = 300;
    std::vector<std::string_view> failed;
    const std::string_view text = response.body ? std::string_view(*response.body) : "";
    for (const std::string_view line : split(text, '\n')) {
        if (line.starts_with("[-]")) failed.push_back(trim(line));
    }
    const std::string said = failed.empty() ? std::string(trim(text)) : join(failed, ", ");
    const std::string words = replace_all(said.substr(0, words_max), "\n", " ");
    return std::to_string(response.status) + (words.empty() ? "" : " " + words);
}

net::Response text_answer(int status, std::string text) {
    net::Response response;
    response.status = status;
    response.headers.set("Content-Type", "text/plain; charset=utf-8");
    response.headers.set("X-Content-Type-Options", "nosniff");
    response.body = make_bytes(std::move(text));
    return response;
}

}  // namespace muster::on_cluster
