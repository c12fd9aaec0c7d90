// apps/cli/tab_writer.cpp - columns of consecutive lines, one inside the other.
#include "apps/cli/tab_writer.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace muster::cli {
namespace {

/// Cells are counted in characters, not bytes.
std::size_t width_of(std::string_view cell) {
    std::size_t width = 0;
    for (const char c : cell)
        width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1U : 0U;
    return width;
}

struct Aligner {
    TabStyle style;
    std::vector<std::vector<std::string_view>> lines;
    std::vector<std::size_t> widths;  // Of the columns that the present block is in.
    std::string out;

    void write_line(const std::vector<std::string_view>& cells);
    void format(std::size_t begin, std::size_t end);
};

void Aligner::write_line(const std::vector<std::string_view>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        out += cells[i];
        if (i + 1 < cells.size() && i < widths.size())
            out.append(widths[i] - width_of(cells[i]), ' ');
    }
    out += '\n';
}

/// Lines of one block agree on the columns before this one. Those that have this column too form
/// blocks of their own.
void Aligner::format(std::size_t begin, std::size_t end) {
    const std::size_t column = widths.size();
    for (std::size_t at = begin; at < end; ++at) {
        if (column + 1 >= lines[at].size()) {
            write_line(lines[at]);
            continue;
        }
        std::size_t last = at;
        std::size_t width = style.least_width;
        for (; last < end && column + 1 < lines[last].size(); ++last)
            width = std::max(width, width_of(lines[last][column]) + style.padding);
        widths.push_back(width);
        format(at, last);
        widths.pop_back();
        at = last - 1;
    }
}

}  // namespace

std::string align(std::string_view text, TabStyle style) {
    Aligner aligner{style, {}, {}, {}};
    if (text.ends_with('\n')) text.remove_suffix(1);
    for (const std::string_view line : split(text, '\n'))
        aligner.lines.push_back(split(line, '\t'));
    aligner.format(0, aligner.lines.size());
    return aligner.out;
}

}  // namespace muster::cli
