// apiserver/request_options.h - what a request asks for beside its object: checked, in the words of
// the API server.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// dryRun, fieldManager, fieldValidation and, of a patch, force. Throws StatusError (422).
void check_write_options(const Exchange& exchange);

/// The options of a list, a watch or a removal of many. Throws StatusError (400, 422).
void check_list_options(const net::Request& request);

/// The options of a removal. Throws StatusError (422).
void check_delete_options(const api::Value& options);

/// A whole number of the query; absent when it is not given. Throws StatusError (400).
std::optional<std::int64_t> query_number(const net::Request& request, std::string_view name);

}  // namespace muster::apiserver
