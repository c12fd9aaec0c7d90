// apps/replay/report.cpp - prints and draws the comparison of policies.
#include "apps/replay/report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "api/json.h"
#include "api/value.h"
#include "apps/cli/tab_writer.h"
#include "base/time.h"

namespace muster::replay {
namespace {

std::string span(double of_seconds) {
    return human_duration(seconds(std::llround(of_seconds)));
}

// The frame of the picture and what its axes mean.
constexpr double width = 760, height = 460, left = 60, right = 20, top = 40, bottom = 50;

struct Axes {
    double longest = 1;  // Seconds; the right end.
    double x(double wait) const {
        const double part = std::log10(1 + wait) / std::log10(1 + longest);
        return left + part * (width - left - right);
    }
    double y(double part) const { return height - bottom - part * (height - top - bottom); }
};

constexpr std::array colours = {"#1b6ca8", "#d1495b", "#3a7d44", "#edae49",
                                "#6f4e9c", "#00798c", "#8d5524", "#555555"};

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else
            out += c;
    }
    return out;
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       anchor, escaped(text));
}

std::string line_from(double x1, double y1, double x2, double y2, const char* stroke) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1,
        x2, y2, stroke);
}

std::string grid(const Axes& axes) {
    std::string out;
    for (const int percent : {0, 25, 50, 75, 100}) {
        const double y = axes.y(percent / 100.0);
        out += line_from(left, y, width - right, y, "#ddd");
        out += text_at(left - 6, y + 4, "end", fmt::format("{}%", percent));
    }
    struct Tick {
        double wait;
        const char* label;
    };
    for (const Tick tick :
         {Tick{0, "0"}, Tick{10, "10s"}, Tick{60, "1m"}, Tick{600, "10m"}, Tick{3600, "1h"},
          Tick{36000, "10h"}, Tick{86400 * 4, "4d"}, Tick{86400 * 30, "30d"}}) {
        if (tick.wait > axes.longest) break;
        const double x = axes.x(tick.wait);
        out += line_from(x, top, x, height - bottom, "#ddd");
        out += text_at(x, height - bottom + 16, "middle", tick.label);
    }
    out +=
        text_at((left + width - right) / 2, height - 12, "middle", "wait from submission to start");
    return out;
}

// At most a few hundred points: the picture is no sharper.
std::string curve(const Axes& axes, const Compared& one, const char* colour) {
    const auto jobs = static_cast<double>(one.summary.completed + one.summary.never_started);
    const std::size_t step = std::max<std::size_t>(1, one.waits.size() / 400);
    std::string points;
    for (std::size_t i = 0; i < one.waits.size(); i += step) {
        points += fmt::format("{:.1f},{:.1f} ", axes.x(static_cast<double>(one.waits[i])),
                              axes.y(static_cast<double>(i + 1) / jobs));
    }
    if (!one.waits.empty()) {
        points += fmt::format("{:.1f},{:.1f}", axes.x(static_cast<double>(one.waits.back())),
                              axes.y(static_cast<double>(one.waits.size()) / jobs));
    }
    return fmt::format(
        "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" points=\"{}\"/>\n", colour,
        points);
}

}  // namespace

std::string table(const std::vector<Compared>& all) {
    std::string out =
        "POLICY\tMEAN WAIT\tP95 WAIT\tMEAN SLOWDOWN\tP95 SLOWDOWN\tUTILISATION\tNEVER "
        "STARTED\tPREEMPTIONS\n";
    for (const Compared& one : all) {
        const Summary& s = one.summary;
        out += fmt::format("{}\t{}\t{}\t{:.1f}\t{:.1f}\t{:.1f}%\t{}\t{}\n", one.policy,
                           span(s.mean_wait), span(s.p95_wait), s.mean_slowdown, s.p95_slowdown,
                           s.utilisation * 100, s.never_started, s.preemptions);
    }
    return cli::align(out, cli::table_style);
}

std::string json_lines(const std::vector<Compared>& all) {
    std::string out;
    for (const Compared& one : all) {
        const Summary& s = one.summary;
        out += fmt::format(
            "{{\"policy\":{},\"meanWaitSeconds\":{:.3f},\"p95WaitSeconds\":{:.3f},"
            "\"meanSlowdown\":{:.4f},\"p95Slowdown\":{:.4f},\"utilisation\":{:.6f},"
            "\"completed\":{},\"neverStarted\":{},\"preemptions\":{}}}\n",
            api::to_json(api::Value(one.policy)), s.mean_wait, s.p95_wait, s.mean_slowdown,
            s.p95_slowdown, s.utilisation, s.completed, s.never_started, s.preemptions);
    }
    return out;
}

std::string plot(const std::string& title, const std::vector<Compared>& all) {
    Axes axes;
    for (const Compared& one : all) {
        if (!one.waits.empty())
            axes.longest = std::max(axes.longest, static_cast<double>(one.waits.back()));
    }
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    out += text_at(left, 22, "start", title);
    out += grid(axes);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const char* colour = colours[i % colours.size()];
        out += curve(axes, all[i], colour);
        const double y = height - bottom - 12 - 17 * static_cast<double>(all.size() - 1 - i);
        out += line_from(width - right - 190, y - 4, width - right - 170, y - 4, colour);
        out += text_at(width - right - 164, y, "start", all[i].policy);
    }
    return out + "</svg>\n";
}

}  // namespace muster::replay
