// agent/files.h - small whole files: read, written, replaced at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace muster::agent {

/// `what`, and the system's words for errno.
std::string fault(const std::string& what);

/// Absent with errno when it cannot be read.
std::optional<std::string> read_file(const std::string& path);

/// Overwrites in place. Throws Error.
void write_file(const std::string& path, std::string_view content);

/// Readers see the old or the new content, nothing between. Throws Error.
void replace_file(const std::string& path, std::string_view content, mode_t mode = 0644);

/// The same, and the new content survives a loss of power from here on. Throws Error.
void replace_file_durably(const std::string& path, std::string_view content, mode_t mode);

/// Makes a folder and those above it. Throws Error.
void make_directories(const std::string& path, mode_t mode = 0755);

/// Removes a folder with all in it; what cannot be removed stays.
void remove_tree(const std::string& path);

}  // namespace muster::agent
