// net/status_text.h - the words beside the numbers of HTTP's answers.
#pragma once

namespace muster::net {

/// "Not Found" of 404; "Status" for numbers that are seldom used.
const char* status_text(int status);

}  // namespace muster::net
