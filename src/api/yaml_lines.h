// api/yaml_lines.h - on which line of a YAML text each field stands, for messages to people.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::api {

/// The lines of one document's fields, counted from 1 over the whole text.
class YamlLines {
public:
    /// The line of a field ("spec.groups[0].name"); of the nearest one around it when it does not
    /// stand in the text.
    std::size_t of(std::string_view path) const;

    void add(const std::string& path, std::size_t line) { lines_.try_emplace(path, line); }

private:
    std::map<std::string, std::size_t, std::less<>> lines_;
};

/// One for each document that is not empty. Requires: parse_yaml takes the text.
std::vector<YamlLines> yaml_lines(std::string_view text);

}  // namespace muster::api
