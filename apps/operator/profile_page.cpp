// apps/operator/profile_page.cpp - the list of profiles, and the one of CPU time.
#include "apps/operator/profile_page.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include <dlfcn.h>

#include "apps/operator/cpu_profile.h"
#include "apps/operator/vitals.h"
#include "base/text.h"

namespace muster::on_cluster {
namespace {

constexpr std::int64_t usual_seconds = 30;
constexpr std::int64_t most_seconds = 300;

std::string own_maps() {
    std::ifstream maps("/proc/self/maps");
    return {std::istreambuf_iterator<char>(maps), {}};
}

void sample(Loop& loop, std::int64_t span, const std::shared_ptr<net::Responder>& responder) {
    if (!start_sampling(seconds(span)))
        return responder->respond(text_answer(409, "another profile is being taken\n"));
    loop.after(seconds(span), [responder] {
        net::Response response =
            text_answer(200, profile_text(stop_sampling(), sampling_period, own_maps()));
        response.headers.set("Content-Type", "application/octet-stream");
        response.headers.set("Content-Disposition", "attachment; filename=\"profile\"");
        responder->respond(std::move(response));
    });
}

/// "0x1f"; zero when it is none.
std::uintptr_t place_of(std::string_view text) {
    if (!text.starts_with("0x")) return 0;
    std::uintptr_t place = 0;
    const char* end = text.data() + text.size();
    const auto [last, failed] = std::from_chars(text.data() + 2, end, place, 16);
    return failed == std::errc() && last == end ? place : 0;
}

}  // namespace

std::string symbol_text(std::string_view places) {
    std::string text = "num_symbols: 1\n";  // Not none: that is all that is looked at.
    while (!places.empty()) {
        const std::string_view one = places.substr(0, places.find('+'));
        places.remove_prefix(std::min(places.size(), one.size() + 1));
        const std::uintptr_t place = place_of(one);
        Dl_info found{};
        // It only looks the number up; nothing is read there.
        if (place == 0 || dladdr(std::bit_cast<const void*>(place), &found) == 0) continue;
        if (found.dli_sname != nullptr) text += std::string(one) + " " + found.dli_sname + "\n";
    }
    return text;
}

void answer_profile(Loop& loop, const net::Request& request,
                    const std::shared_ptr<net::Responder>& responder) {
    if (request.path == "/debug/pprof/profile") {
        const auto text = request.query_value("seconds");
        const auto span = text.empty() ? usual_seconds : parse_integer(text).value_or(0);
        if (span >= 1 && span <= most_seconds) return sample(loop, span, responder);
        return responder->respond(text_answer(400, "seconds is a number from 1 to 300\n"));
    }
    // pprof asks what it does not find in the files that it has, and gives up without an answer.
    if (request.path == "/debug/pprof/symbol")
        return responder->respond(
            text_answer(200, symbol_text(request.method == "POST" && request.body
                                             ? std::string_view(*request.body)
                                             : std::string_view(request.query_text))));
    if (request.path == "/debug/pprof" || request.path == "/debug/pprof/") {
        return responder->respond(
            text_answer(200,
                        "profile?seconds=N  where CPU time is spent (default 30 s): go tool pprof "
                        "MUSTER http://THIS/debug/pprof/profile\n"));
    }
    responder->respond(text_answer(
        404, "there is only /debug/pprof/profile: the other profiles are those of Go's runtime\n"));
}

}  // namespace muster::on_cluster
