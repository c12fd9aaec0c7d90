// apps/operator/profile_page.h - /debug/pprof/: profiles on request, at the paths of Go's programs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "net/http.h"

namespace muster::on_cluster {

/// Answers at once, or for a profile when its time is over. On `loop`.
void answer_profile(Loop& loop, const net::Request& request,
                    const std::shared_ptr<net::Responder>& responder);

/// The names of the functions at these places ("0x1f+0x2e"), one in a line, as Go's programs write
/// them. Functions of this program itself are in its file; places without a name are left out.
std::string symbol_text(std::string_view places);

}  // namespace muster::on_cluster
