// agent/image_map.cpp - see image_map.h.
#include "agent/image_map.h"

#include <initializer_list>

namespace muster::agent {

namespace {

bool glob(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            retry = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

/// Where the tag or digest begins.
std::size_t name_length(std::string_view image) {
    const std::size_t digest = image.find('@');
    if (digest != std::string_view::npos) image = image.substr(0, digest);
    const std::size_t colon = image.rfind(':');
    const std::size_t slash = image.rfind('/');
    const bool tagged =
        colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
    return tagged ? colon : image.size();
}

std::string_view without_registry(std::string_view image) {
    for (const std::string_view usual : std::initializer_list<std::string_view>{
             "docker.io/library/", "index.docker.io/library/", "docker.io/", "library/"})
        if (image.starts_with(usual)) return image.substr(usual.size());
    return image;
}

}  // namespace

bool image_matches(std::string_view pattern, std::string_view image) {
    pattern = without_registry(pattern);
    image = without_registry(image);
    if (name_length(pattern) != pattern.size()) return glob(pattern, image);
    return glob(pattern, image.substr(0, name_length(image)));
}

const ImageMapping* find_mapping(const std::vector<ImageMapping>& mappings,
                                 std::string_view image) {
    for (const ImageMapping& mapping : mappings)
        if (image_matches(mapping.pattern, image)) return &mapping;
    return nullptr;
}

std::string unmapped_text(std::string_view image) {
    const std::string whole(image);
    const std::string name = whole.substr(0, name_length(image));
    return "image \"" + whole +
           "\" is not mapped to an environment of this machine (images are not pulled); add to "
           "the file that muster up reads with --config: images: [{pattern: '" +
           name +
           "', environment: FOLDER}], where FOLDER/bin holds its programs; without environment it "
           "runs on the machine as it is";
}

std::vector<ImageMapping> usual_images() {
    struct Usual {
        const char* pattern;
        std::vector<std::string> command;
        std::vector<std::string> args;
    };
    // The image of curl takes options and addresses as well as commands.
    const std::string curl = "case \"$1\" in -*|http*|'') exec curl \"$@\";; esac; exec \"$@\"";
    std::vector<ImageMapping> mappings;
    for (const Usual& usual : std::initializer_list<Usual>{
             {"busybox", {}, {"sh"}},
             {"alpine", {}, {"sh"}},
             {"debian", {}, {"bash"}},
             {"ubuntu", {}, {"bash"}},
             {"bash", {}, {"bash"}},
             {"python", {}, {"python3"}},
             {"pause", {"sleep", "infinity"}, {}},
             {"curl", {"sh", "-c", curl, "curl"}, {}},
         }) {
        const std::string name = usual.pattern;
        const bool is_official = name != "pause" && name != "curl";
        if (is_official) mappings.push_back({name, "", {}, usual.command, usual.args});
        if (name != "bash" && name != "python" && name != "curl")
            mappings.push_back({"*/" + name, "", {}, usual.command, usual.args});
        if (name == "curl") mappings.push_back({"curlimages/curl", "", {}, usual.command, {}});
    }
    return mappings;
}

std::vector<ImageMapping> ray_images(const std::string& environment) {
    std::vector<ImageMapping> mappings;
    for (const char* pattern : {"rayproject/ray*", "quay.io/modh/ray*",
                                "quay.io/project-codeflare/ray*", "quay.io/rhoai/ray*"})
        mappings.push_back({pattern, environment, {{"RAY_USAGE_STATS_ENABLED", "0"}}});
    return mappings;
}

}  // namespace muster::agent
