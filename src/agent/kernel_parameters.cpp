// agent/kernel_parameters.cpp - see kernel_parameters.h.
#include "agent/kernel_parameters.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::array kOfIpcNamespace = {
    std::string_view("kernel/shm_rmid_forced"), std::string_view("kernel/shmmax"),
    std::string_view("kernel/shmall"),          std::string_view("kernel/shmmni"),
    std::string_view("kernel/shm_next_id"),     std::string_view("kernel/msgmax"),
    std::string_view("kernel/msgmnb"),          std::string_view("kernel/msgmni"),
    std::string_view("kernel/msg_next_id"),     std::string_view("kernel/sem"),
    std::string_view("kernel/sem_next_id")};

/// Letters, digits, "-", "_" and inner dots: no step of a path leads up.
bool is_step(std::string_view step) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return !step.empty() && step.front() != '.' && step.back() != '.' &&
           std::all_of(step.begin(), step.end(), fits);
}

}  // namespace

std::optional<std::string> path_of_own_parameter(std::string_view name) {
    // As sysctl(8): the first separator says which of the two is meant.
    const std::size_t first = name.find_first_of("./");
    if (first == std::string_view::npos) return std::nullopt;
    const bool dots = name[first] == '.';
    if (dots && name.find('/') != std::string_view::npos) return std::nullopt;
    std::string path(name);
    if (dots) std::replace(path.begin(), path.end(), '.', '/');
    for (const std::string_view step : split(path, '/'))
        if (!is_step(step)) return std::nullopt;
    const bool own =
        path.starts_with("net/") || path.starts_with("fs/mqueue/") ||
        std::find(kOfIpcNamespace.begin(), kOfIpcNamespace.end(), path) != kOfIpcNamespace.end();
    if (!own) return std::nullopt;
    return path;
}

}  // namespace muster::agent
