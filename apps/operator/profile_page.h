// apps/operator/profile_page.h - /debug/pprof/: profiles on request, at the paths of Go's programs.
#pragma once

#include <memory>

#include "base/loop.h"
#include "net/http.h"

namespace muster::on_cluster {

/// Answers at once, or for a profile when its time is over. On `loop`.
void answer_profile(Loop& loop, const net::Request& request,
                    const std::shared_ptr<net::Responder>& responder);

}  // namespace muster::on_cluster
