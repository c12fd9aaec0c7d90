// apiserver/stored_problem.h - whether an entry of the store is an object as the server keeps it.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"
#include "store/store.h"

namespace muster::apiserver {

/// The one key that is no object's: which form all that is stored has.
constexpr const char* form_key = "/muster/stored-form";

/// Why the key is not that of the object: the key has another form, or the object another kind,
/// namespace or name. Empty when it is.
std::string identity_problem(std::string_view key, const api::Value& object);

/// The same, and whether the bytes are an object, with fields of the types of its kind. What an
/// earlier version let in beyond that is no problem.
std::string stored_problem(std::string_view key, const std::string& bytes);

/// Throws Error that names the key when stored_problem says something.
void check_stored(const store::Entry& entry);

/// Throws Error: the server cannot start with this object.
[[noreturn]] void refuse_stored(std::string_view key, const std::string& problem);

}  // namespace muster::apiserver
