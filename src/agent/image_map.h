// agent/image_map.h - which environment of this machine stands for an image.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"

namespace muster::agent {

/// True when the image's name, without tag or digest and without the usual registry
/// ("docker.io/library/"), matches; * stands for any characters, slashes included. A pattern with a
/// tag ("busybox:1.*") is matched against the name with its tag.
bool image_matches(std::string_view pattern, std::string_view image);

/// The first mapping that matches; null when there is none.
const ImageMapping* find_mapping(const std::vector<ImageMapping>& mappings, std::string_view image);

/// The sentence for status and event: no environment, and what to add.
std::string unmapped_text(std::string_view image);

}  // namespace muster::agent
