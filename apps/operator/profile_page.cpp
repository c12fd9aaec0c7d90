// apps/operator/profile_page.cpp - the list of profiles, and the one of CPU time.
#include "apps/operator/profile_page.h"

#include <fstream>
#include <iterator>
#include <string>

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

}  // namespace

void answer_profile(Loop& loop, const net::Request& request,
                    const std::shared_ptr<net::Responder>& responder) {
    if (request.path == "/debug/pprof/profile") {
        const auto text = request.query_value("seconds");
        const auto span = text.empty() ? usual_seconds : parse_integer(text).value_or(0);
        if (span >= 1 && span <= most_seconds) return sample(loop, span, responder);
        return responder->respond(text_answer(400, "seconds is a number from 1 to 300\n"));
    }
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
