// agent/json_file.cpp - see json_file.h.
#include "agent/json_file.h"

#include <utility>
#include <variant>

#include "agent/files.h"
#include "api/json.h"

namespace muster::agent {

api::Value read_json(const std::string& path) {
    auto parsed = api::parse_json(read_file(path).value_or("null"));
    auto* document = std::get_if<api::Parsed>(&parsed);
    return document ? std::move(document->value) : api::Value();
}

}  // namespace muster::agent
