// sim/faults.cpp - drawing a bad day.
#include "sim/faults.h"

namespace muster::sim {

Faults Faults::draw(Random& random) {
    Faults faults;
    const auto some = [&random] { return random.below(2) == 0; };
    const auto per_mille = [&random](int max) {
        return 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(max)));
    };
    if (some()) faults.lost_request = per_mille(50);
    if (some()) faults.lost_answer = per_mille(50);
    if (some()) faults.conflict = per_mille(100);
    if (some()) faults.late_watch = per_mille(200);
    if (some()) faults.broken_watch = per_mille(20);
    if (some()) faults.expired_watch = per_mille(500);
    if (some()) faults.disk_delay_max = milliseconds(per_mille(200));
    if (some()) faults.control_crash_every = seconds(per_mille(60));
    if (some()) faults.crash_at_write = per_mille(20);
    if (some()) faults.server_crash_every = seconds(10 + per_mille(60));
    if (random.below(4) == 0) faults.node_loss_every = seconds(120 + per_mille(200));
    if (random.below(4) == 0) faults.clock_jump_every = seconds(10 + per_mille(60));
    if (some()) faults.late_request = per_mille(100);
    if (some()) faults.late_answer = per_mille(100);
    if (some()) faults.late_write = per_mille(30);
    if (some()) faults.doubled_write = per_mille(30);
    if (some()) faults.lingering_watch = per_mille(1000);
    return faults;
}

std::string Faults::text() const {
    std::string said;
    const auto add = [&said](const char* name, std::int64_t value, const char* unit) {
        if (value != 0)
            said +=
                std::string(said.empty() ? "" : ", ") + name + " " + std::to_string(value) + unit;
    };
    add("lost requests", lost_request, "/1000");
    add("lost answers", lost_answer, "/1000");
    add("late requests", late_request, "/1000");
    add("late answers", late_answer, "/1000");
    add("late writes", late_write, "/1000");
    add("doubled writes", doubled_write, "/1000");
    add("conflicts", conflict, "/1000");
    add("late watches", late_watch, "/1000");
    add("broken watches", broken_watch, "/1000");
    add("lingering watches", lingering_watch, "/1000");
    add("expired watches", expired_watch, "/1000");
    add("disk delay up to", disk_delay_max.nanoseconds / 1'000'000, " ms");
    add("controllers crash every", control_crash_every.nanoseconds / 1'000'000'000, " s");
    add("controllers crash at a write", crash_at_write, "/1000");
    add("server crashes every", server_crash_every.nanoseconds / 1'000'000'000, " s");
    add("node lost every", node_loss_every.nanoseconds / 1'000'000'000, " s");
    add("clock jumps every", clock_jump_every.nanoseconds / 1'000'000'000, " s");
    return said.empty() ? "none" : said;
}

}  // namespace muster::sim
