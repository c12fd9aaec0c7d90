// api/yaml_lines.cpp - a walk over libyaml's events that keeps places and forgets values.
#include "api/yaml_lines.h"

#include <yaml.h>

namespace muster::api {
namespace {

class Walk {
public:
    explicit Walk(std::string_view text) {
        yaml_parser_initialize(&parser_);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                     text.size());
    }
    ~Walk() {
        drop();
        yaml_parser_delete(&parser_);
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    std::vector<YamlLines> documents() {
        std::vector<YamlLines> all;
        while (next() && event_.type != YAML_STREAM_END_EVENT) {
            if (event_.type != YAML_DOCUMENT_START_EVENT || !next()) continue;
            if (is_empty()) continue;
            lines_ = {};
            node("");
            all.push_back(lines_);
        }
        return all;
    }

private:
    bool next() {
        drop();
        ready_ = yaml_parser_parse(&parser_, &event_) == 1;
        return ready_;
    }

    void drop() {
        if (ready_) yaml_event_delete(&event_);
        ready_ = false;
    }

    std::string scalar() const {
        const auto& data = event_.data.scalar;
        return {reinterpret_cast<const char*>(data.value), data.length};
    }

    /// A document of nothing, or of a plain null.
    bool is_empty() const {
        if (event_.type != YAML_SCALAR_EVENT) return false;
        const std::string text = scalar();
        return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
               (text.empty() || text == "~" || text == "null");
    }

    // At the first event of the node; leaves at its last.
    void node(const std::string& path) {
        lines_.add(path, event_.start_mark.line + 1);
        if (event_.type == YAML_MAPPING_START_EVENT) {
            while (next() && event_.type != YAML_MAPPING_END_EVENT)
                member(path);
        } else if (event_.type == YAML_SEQUENCE_START_EVENT) {
            for (std::size_t i = 0; next() && event_.type != YAML_SEQUENCE_END_EVENT; ++i)
                node(path + "[" + std::to_string(i) + "]");
        }
    }

    // Members of structs and keys of maps are written differently; which it is nobody knows here.
    void member(const std::string& path) {
        if (event_.type != YAML_SCALAR_EVENT) {
            node(path);  // No key that a document of ours can have.
            if (next()) node(path);
            return;
        }
        const std::string key = scalar();
        const std::string child = path.empty() ? key : path + "." + key;
        lines_.add(child, event_.start_mark.line + 1);
        lines_.add(path + "[" + key + "]", event_.start_mark.line + 1);
        if (next()) node(child);
    }

    yaml_parser_t parser_{};
    yaml_event_t event_{};
    bool ready_ = false;
    YamlLines lines_;
};

}  // namespace

std::size_t YamlLines::of(std::string_view path) const {
    while (true) {
        const auto found = lines_.find(path);
        if (found != lines_.end()) return found->second;
        if (path.empty()) return 1;
        const std::size_t end = path.find_last_of(".[");
        path = path.substr(0, end == std::string_view::npos ? 0 : end);
    }
}

std::vector<YamlLines> yaml_lines(std::string_view text) {
    return Walk(text).documents();
}

}  // namespace muster::api
