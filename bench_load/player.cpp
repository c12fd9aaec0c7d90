// bench_load/player.cpp - the load's life: objects, arrivals, ends.
#include "bench_load/player.h"

#include <algorithm>
#include <utility>

#include "api/json.h"
#include "control/conditions.h"
#include "control/queue/names.h"
#include "control/queue/workload.h"
#include "kube/request.h"

namespace muster::load {
namespace {

using api::Value;
namespace queue = control::queue;

constexpr std::int64_t in_flight_max = 256;  // Creations that wait for their answers.
constexpr Duration tick = milliseconds(10);
const kube::Target workloads{queue::workloads, std::string(queue::kueue_version)};

std::string said(const net::Response& response) {
    return std::to_string(response.status) + " " + (response.body ? *response.body : "");
}

}  // namespace

LoadPlayer::LoadPlayer(kube::Transport& transport, Loop& loop, LoadPlan plan)
    : transport_(transport),
      loop_(loop),
      plan_(std::move(plan)),
      watcher_(transport, loop, workloads,
               {.applied = [this](const kube::ObjectPtr& object) { take(object); },
                .removed =
                    [this](const api::Key& key, std::int64_t) {
                        fail("workload " + key.name + " was deleted by somebody else");
                    },
                .synced = [this] { begin(); }}),
      structure_(structure(plan_)),
      arrivals_(arrivals(plan_)) {
    figures_.classes.resize(plan_.classes.size());
}

void LoadPlayer::start(OnDone on_done, OnFailed on_failed, OnProgress on_progress) {
    on_done_ = std::move(on_done);
    on_failed_ = std::move(on_failed);
    on_progress_ = std::move(on_progress);
    build();
}

// One after the other: a namespace must be there before what is in it.
void LoadPlayer::build() {
    if (over_) return;
    if (built_ == structure_.size()) {
        watcher_.start();
        return;
    }
    const Creation& made = structure_[built_];
    transport_.send(kube::create({made.resource, made.version}, made.ns, "", "", made.body),
                    [this](const net::Response& response) {
                        if (response.status != 201) {
                            fail("cannot create " + structure_[built_].name + ": " +
                                 said(response) + " (the load needs a server without it)");
                            return;
                        }
                        ++built_;
                        build();
                    });
}

void LoadPlayer::begin() {
    if (!playing_.empty() || seen_writes_ > 0) {
        fail("there are workloads already: the load needs a server without any");
        return;
    }
    started_ = loop_.now();
    create_due();
    tell_progress();
}

void LoadPlayer::create_due() {
    if (over_) return;
    send_waiting();
    if (next_ < arrivals_.size()) loop_.after(tick, [this] { create_due(); });
}

void LoadPlayer::send_waiting() {
    const Duration now = loop_.now() - started_;
    while (next_ < arrivals_.size() && arrivals_[next_].at <= now && in_flight_ < in_flight_max) {
        const Arrival& arrival = arrivals_[next_++];
        const Creation made = workload_of(plan_, arrival);
        Playing& playing = playing_[made.name];
        playing.kind = arrival.kind;
        playing.created = loop_.now();
        ++in_flight_;
        ++figures_.own_writes;
        transport_.send(kube::create(workloads, made.ns, "", "", made.body),
                        [this, name = made.name](const net::Response& response) {
                            if (over_) return;
                            --in_flight_;
                            if (response.status != 201) {
                                fail("cannot create workload " + name + ": " + said(response));
                                return;
                            }
                            send_waiting();
                        });
    }
}

void LoadPlayer::take(const kube::ObjectPtr& object) {
    if (over_) return;
    ++seen_writes_;
    const auto known = playing_.find(object->key.name);
    if (known == playing_.end()) return;
    Playing& playing = known->second;
    if (playing.ended) return;
    playing.latest = object;
    if (queue::is_finished(object->value)) {
        note_release(playing);
        playing.ended = true;
        playing.latest = nullptr;
        if (++ended_ == plan_.workloads()) finish();
        return;
    }
    act_on(playing);
}

void LoadPlayer::act_on(Playing& playing) {
    const Value& seen = playing.latest->value;
    if (queue::is_admitted(seen) && !playing.admitted) note_admission(playing);
    if (!queue::has_admission(seen)) note_release(playing);
    if (playing.writing || playing.latest->version == playing.stale) return;
    if (queue::is_evicted(seen) && queue::has_admission(seen)) {
        give_back(playing);
    } else if (queue::is_admitted(seen) && playing.is_over) {
        end(playing);
    }
}

void LoadPlayer::note_admission(Playing& playing) {
    playing.admitted = loop_.now();
    playing.is_over = false;
    playing.timed = true;
    playing.timer = loop_.after(plan_.classes[playing.kind].runs, [this, &playing] {
        playing.timed = false;
        playing.is_over = true;
        if (!over_ && !playing.ended) act_on(playing);
    });
}

void LoadPlayer::note_release(Playing& playing) {
    if (!playing.admitted) return;
    const WorkloadClass& kind = plan_.classes[playing.kind];
    figures_.held += (loop_.now() - *playing.admitted).nanoseconds * kind.cpus;
    if (queue::is_finished(playing.latest->value)) {
        ClassFigures& figures = figures_.classes[playing.kind];
        ++figures.workloads;
        figures.to_admission = figures.to_admission + (*playing.admitted - playing.created);
    }
    playing.admitted.reset();
    playing.is_over = false;
    if (playing.timed) loop_.cancel(playing.timer);
    playing.timed = false;
}

void LoadPlayer::end(Playing& playing) {
    Value status = playing.latest->value["status"];
    control::set_condition(status.at("conditions"),
                           {"Finished", "True", "Succeeded", "The load's time is over"},
                           loop_.now());
    write_status(playing, status);
}

// As the controller of a job does once its pods are gone.
void LoadPlayer::give_back(Playing& playing) {
    ++figures_.evictions;
    Value status = playing.latest->value["status"];
    queue::clear_admission(status, loop_.now());
    write_status(playing, status);
}

void LoadPlayer::write_status(Playing& playing, const Value& status) {
    Value body = Value::object(
        {{"metadata",
          Value::object({{"resourceVersion", std::to_string(playing.latest->version)}})},
         {"status", control::merge_patch_between(playing.latest->value["status"], status)}});
    playing.writing = true;
    const std::int64_t version = playing.latest->version;
    transport_.send(
        kube::patch(workloads, playing.latest->key, "status", "application/merge-patch+json", body),
        [this, &playing, version](const net::Response& response) {
            if (over_) return;
            playing.writing = false;
            if (response.status == 409) {
                // Somebody was first; what they wrote is seen already, or comes.
                ++figures_.conflicts;
            } else if (response.status != 200) {
                fail("cannot write a status: " + said(response));
                return;
            } else {
                ++figures_.own_writes;
            }
            playing.stale = version;
            if (playing.latest) act_on(playing);
        });
}

void LoadPlayer::tell_progress() {
    if (over_) return;
    on_progress_(static_cast<std::int64_t>(next_), ended_);
    loop_.after(seconds(1), [this] { tell_progress(); });
}

void LoadPlayer::fail(const std::string& text) {
    if (over_) return;
    over_ = true;
    on_failed_(text);
}

void LoadPlayer::finish() {
    over_ = true;
    figures_.wall = loop_.now() - started_;
    figures_.other_writes = seen_writes_ - figures_.own_writes;
    on_done_(figures_);
}

}  // namespace muster::load
