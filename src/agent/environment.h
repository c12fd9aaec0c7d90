// agent/environment.h - the variables and the command line of a container.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/pod_sources.h"
#include "api/value.h"

namespace muster::agent {

using Variables = std::vector<std::pair<std::string, std::string>>;

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
