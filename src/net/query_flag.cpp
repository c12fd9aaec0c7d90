// net/query_flag.cpp - see query_flag.h.
#include "net/query_flag.h"

#include "base/text.h"

namespace muster::net {

bool query_flag(const Request& request, std::string_view name) {
    if (!request.has_query(name)) return false;
    const std::string_view value = request.query_value(name);
    return value != "0" && to_lower(value) != "false";
}

}  // namespace muster::net
