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

/// What Linux lets one word of a command, or NAME=VALUE, be long.
constexpr std::size_t kWordLimit = (128 << 10) - 1;
/// What it lets the words and variables of a program have together, and its pointers to them.
constexpr std::size_t kWordsLimit = 2 << 20;
constexpr std::size_t kPathLimit = 4095;

/// Replaces $(NAME) by its value; $$(NAME) stands for the text $(NAME); an unknown one stays.
/// Throws Error when that is longer than `limit` bytes, and makes no more than that.
std::string expand(std::string_view text, const Variables& variables, std::size_t limit);

/// What a container's process gets, or why it cannot be started (`configmap "x" not found`). Its
/// command and paths are looked at too, so that nothing is too long later.
struct Environment {
    Variables variables;
    std::vector<std::string> command;
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
