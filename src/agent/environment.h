// agent/environment.h - the variables and the command line of a container.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/pod_sources.h"
#include "api/value.h"

namespace muster::agent {

/// In the order in which their names came first; a name's last value counts.
class Variables {
public:
    using List = std::vector<std::pair<std::string, std::string>>;
    Variables() = default;
    Variables(std::initializer_list<List::value_type> list);

    void set(const std::string& name, std::string value);
    /// Null when there is no such variable.
    const std::string* find(std::string_view name) const;
    List::const_iterator begin() const { return list_.begin(); }
    List::const_iterator end() const { return list_.end(); }
    std::size_t size() const { return list_.size(); }

private:
    List list_;
    std::map<std::string, std::size_t, std::less<>> places_;
};

/// Replaces $(NAME) by its value; $$(NAME) stands for the text $(NAME); an unknown one stays.
std::string expand(std::string_view text, const Variables& variables);

/// What a container's process gets, or why it cannot be started
/// (`configmap "x" not found`).
struct Environment {
    Variables variables;
    std::string problem;
};
Environment make_environment(const api::Value& pod, const api::Value& container,
                             const Sources& sources, const PodPlace& place,
                             const ImageMapping& image);

/// Command and arguments with variables replaced, those of the image where the container names
/// none; empty when nobody names any.
std::vector<std::string> command_line(const api::Value& container, const ImageMapping& image,
                                      const Variables& variables);

}  // namespace muster::agent
