// apps/cli/tab_writer.h - aligns tabbed text in columns exactly as Go's text/tabwriter does, so
// that tables and descriptions look as kubectl's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::cli {

/// How wide a cell is at least, and what comes after it.
struct TabStyle {
    std::size_t least_width = 0;
    std::size_t padding = 2;
};

/// Aligns `text`, whose cells end in tabs and lines in line ends. A column is made of the cells of
/// consecutive lines; what follows a line's last tab belongs to none.
std::string align(std::string_view text, TabStyle style);

inline constexpr TabStyle table_style{6, 3};     // kubectl get
inline constexpr TabStyle describe_style{0, 2};  // kubectl describe

}  // namespace muster::cli
