// sim/world.cpp - building, breaking and running a world.
#include "sim/world.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/kind.h"
#include "api/yaml.h"
#include "control/queue/names.h"
#include "kube/request.h"

namespace muster::sim {
namespace {

constexpr Duration answer_limit = minutes(5);
constexpr Duration settle_limit = minutes(20);

/// What the queues decide from: where it is stored, and what it is called.
std::vector<std::pair<std::string, api::GroupResource>> queue_things() {
    std::vector<std::pair<std::string, api::GroupResource>> found;
    for (const api::GroupResource& resource :
         {control::queue::flavors, control::queue::cluster_queues, control::queue::local_queues,
          control::queue::workloads, control::queue::namespaces, control::queue::nodes,
          control::queue::pods, control::queue::app_wrappers, control::queue::jobs}) {
        const std::string group = resource.group.empty() ? "core" : resource.group;
        found.emplace_back("/" + group + "/" + resource.plural + "/", resource);
    }
    return found;
}

/// What changes although nothing happens.
bool is_heartbeat(std::string_view key) {
    return key.find("/leases/") != std::string_view::npos ||
           key.find("/nodes/") != std::string_view::npos ||
           key.find("/events/") != std::string_view::npos;
}

/// A disk whose commits take their time, in order. What is on its way when the process dies is
/// lost.
class SlowJournal : public store::Journal {
public:
    SlowJournal(std::shared_ptr<store::MemoryDisk> disk, VirtualLoop& loop, Random& random,
                const Faults& faults)
        : disk_(std::move(disk)), loop_(loop), random_(random), faults_(faults) {}

    std::int64_t load_all(const Load& load) override {
        for (const auto& [key, record] : disk_->records)
            load(record);
        return disk_->revision;
    }

    void append(std::vector<store::Record> records, Durable durable) override {
        Duration delay = microseconds(100);
        const std::int64_t most = faults_.disk_delay_max.nanoseconds;
        if (most > 0)
            delay = nanoseconds(
                static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most))));
        const Time due = std::max(last_due_, loop_.now() + delay);
        last_due_ = due;
        loop_.after(due - loop_.now(),
                    [this, records = std::move(records), durable = std::move(durable)] {
                        for (const store::Record& record : records) {
                            disk_->revision = record.revision;
                            if (record.value == nullptr) {
                                disk_->records.erase(record.key);
                            } else {
                                disk_->records[record.key] = record;
                            }
                        }
                        durable();
                    });
    }

private:
    std::shared_ptr<store::MemoryDisk> disk_;
    VirtualLoop& loop_;
    Random& random_;
    const Faults& faults_;
    Time last_due_;
};

}  // namespace

World::World(std::uint64_t seed, std::vector<NodeSpec> nodes, Faults faults, Time start)
    : random_(seed),
      time_(random_, start),
      faults_(faults),
      drawn_(faults),
      specs_(std::move(nodes)) {
    options_.may_decide = [this] { return !queues_held_; };
    weather_ = &time_.make_loop();
    user_loop_ = &time_.make_loop();
    node_loop_ = &time_.make_loop();
    user_ =
        std::make_unique<FaultyTransport>(nullptr, *user_loop_, *user_loop_, random_, no_faults_);
    node_transport_ =
        std::make_unique<FaultyTransport>(nullptr, *node_loop_, *user_loop_, random_, faults_);
    start_server();
    nodes_ = std::make_unique<FakeNode>(*node_transport_, *node_loop_, random_, specs_);
    nodes_->start();
    start_control();
    plan_faults();
}

World::~World() = default;

void World::start_server() {
    server_loop_ = &time_.make_loop();
    auto journal = std::make_unique<SlowJournal>(disk_, *server_loop_, random_, faults_);
    store_ = std::make_unique<store::Store>(std::move(journal));
    apiserver::Options options;
    options.random = Random(random_.next());
    server_ = std::make_unique<apiserver::Server>(*store_, *server_loop_, std::move(options));
    for (api::AdmissionHook& hook : control::admission_hooks())
        server_->add_admission(std::move(hook));
    // What became durable in the last moment before a crash was never told: take all of it anew.
    checks_.reset();
    for (const auto& [key, record] : disk_->records) {
        store::Change change;
        change.key = key;
        change.after = record.value;
        if (auto broken = checks_.take(change)) throw Broken{*broken};
    }
    store_->watch("/", store_->revision(), [this](const store::Change& change) {
        if (!is_heartbeat(change.key)) ++real_changes_;
        if (auto broken = checks_.take(change)) throw Broken{*broken};
    });
    answer_questions();
    server_->bootstrap([] {});
    net::Handler handler = [server = server_.get()](net::Request request,
                                                    std::shared_ptr<net::Responder> responder) {
        server->handle(std::move(request), std::move(responder));
    };
    const auto connect = [&](VirtualLoop& loop, const char* who) {
        return std::make_unique<kube::InProcessTransport>(handler, *server_loop_, loop, who);
    };
    user_->reconnect(connect(*user_loop_, "user"));
    node_transport_->reconnect(connect(*node_loop_, "agent"));
    if (control_transport_ != nullptr)
        control_transport_->reconnect(connect(*control_loop_, "control"));
}

void World::answer_questions() {
    const auto answer = [this](const net::Request&, const api::Key& key,
                               const std::shared_ptr<net::Responder>& responder) {
        control_loop_->post([this, key, responder] {
            net::Response response;
            const auto why = questions_->why(key, control_loop_->now());
            response.status = why ? 200 : 503;
            response.body = make_bytes(why.value_or("{}"));
            server_loop_->post([responder, response] { responder->respond(response); });
        });
    };
    for (const api::GroupResource& resource : control::explainable())
        server_->add_answer(resource, "why", answer);
}

void World::start_control() {
    control_loop_ = &time_.make_loop();
    if (control_transport_ != nullptr) {
        past_faults_ += control_transport_->faults_made();
        past_writes_ = writes();
        dead_transports_.push_back(std::move(control_transport_));
    }
    control_transport_ =
        std::make_unique<FaultyTransport>(nullptr, *control_loop_, *user_loop_, random_, faults_);
    net::Handler handler = [server = server_.get()](net::Request request,
                                                    std::shared_ptr<net::Responder> responder) {
        server->handle(std::move(request), std::move(responder));
    };
    control_transport_->reconnect(std::make_unique<kube::InProcessTransport>(
        handler, *server_loop_, *control_loop_, "control"));
    control_transport_->on_crash([this] {
        control_loop_->kill();
        user_loop_->post([this] { crash_control(); });  // That one is never killed.
    });
    runner_ = std::make_unique<control::Runner>(
        *control_transport_, *control_loop_,
        [this](const control::Call& call, const std::function<void(int, std::string)>& done) {
            auto [status, body] = call.url == "muster:random/32"
                                      ? std::pair<int, std::string>(200, random_.suffix(43))
                                      : nodes_->ask(call.method, call.url, call.body);
            control_loop_->after(milliseconds(5),
                                 [done, status = status, body = body] { done(status, body); });
        });
    questions_.emplace(control::add_controllers(*runner_, options_));
    runner_->start();
}

void World::crash_control() {
    ++crashes_;
    control_transport_->count_cut();
    control_loop_->kill();
    dead_runners_.push_back(std::move(runner_));
    start_control();
}

void World::crash_server() {
    ++crashes_;
    server_loop_->kill();
    dead_servers_.push_back(std::move(server_));
    dead_stores_.push_back(std::move(store_));
    start_server();
}

void World::every(Duration mean, const std::function<void()>& happen) {
    if (mean == Duration{0}) return;
    const auto most = static_cast<std::uint64_t>(2 * mean.nanoseconds);
    weather_->after(nanoseconds(static_cast<std::int64_t>(random_.below(most))),
                    [this, mean, happen] {
                        if (sky_ == Sky::as_drawn) happen();
                        every(mean, happen);
                    });
}

void World::plan_faults() {
    every(faults_.control_crash_every, [this] { crash_control(); });
    every(faults_.server_crash_every, [this] { crash_server(); });
    every(faults_.node_loss_every, [this] {
        ++crashes_;
        nodes_->lose(specs_[random_.below(specs_.size())].name, minutes(1));
    });
    every(faults_.clock_jump_every, [this] {
        ++crashes_;
        const auto jump = static_cast<std::int64_t>(random_.below(60)) - 30;
        time_.skew(*control_loop_, seconds(jump));
    });
}

void World::end_faults() {
    faults_ = Faults::none();
    weather_->kill();
}

void World::set_sky(Sky sky) {
    sky_ = sky;
    faults_ = sky == Sky::calm ? Faults::none() : drawn_;
}

void World::set_options(const decide::Options& options) {
    options_.queues.decisions = options;
    crash_control();
    --crashes_;  // No fault: somebody wanted it.
}

std::string World::unrest() const {
    const kube::Cache& seen = runner_->seen();
    if (!runner_->at_rest()) return "the controllers are at work";
    for (const auto& [prefix, resource] : queue_things()) {
        const auto there = checks_.under(prefix);
        const std::vector<kube::ObjectPtr> known = seen.list(resource);
        if (known.size() != there.size()) return "not all are seen of " + prefix;
        std::set<std::pair<std::string, std::string>> versions;
        for (const auto& [key, object] : there)
            versions.emplace(object["metadata"]["uid"].text(),
                             object["metadata"]["resourceVersion"].text());
        for (const kube::ObjectPtr& object : known) {
            if (!versions.contains({object->uid, std::to_string(object->version)}))
                return "not seen as it is: " + to_text(object->key);
        }
    }
    return {};
}

void World::settle(Duration quiet) {
    const Time end = time_.now() + settle_limit;
    std::int64_t seen_changes = real_changes_;
    Time changed = time_.now();
    for (;;) {
        pass(milliseconds(20));
        while (time_.has_tasks())
            time_.step(time_.now());
        if (real_changes_ != seen_changes) {
            seen_changes = real_changes_;
            changed = time_.now();
        }
        if (time_.now() - changed < quiet) continue;
        if (unrest().empty()) return;
        changed = time_.now();
        if (time_.now() >= end) throw Broken{"does not come to rest: " + unrest()};
    }
}

std::int64_t World::faults_made() const {
    return past_faults_ + crashes_ + control_transport_->faults_made() +
           node_transport_->faults_made();
}

std::map<std::string, FaultyTransport::Writes> World::writes() const {
    std::map<std::string, FaultyTransport::Writes> all = past_writes_;
    for (const auto& [writer, writes] : control_transport_->writes()) {
        all[writer].sent += writes.sent;
        all[writer].cut += writes.cut;
    }
    return all;
}

void World::pass(Duration span) {
    time_.pass(span);
}

void World::until(const std::string& what, Duration span, const std::function<bool()>& holds) {
    const Time end = time_.now() + span;
    while (!holds()) {
        if (time_.now() >= end) throw Broken{"did not come true: " + what};
        pass(milliseconds(200));
    }
}

std::string World::dump(std::string_view prefix) const {
    std::string lines;
    for (const auto& [key, object] : checks_.under(prefix))
        lines += key + " " + api::to_json(object) + "\n";
    return lines;
}

net::Response World::ask(net::Request request) {
    const Time end = time_.now() + answer_limit;
    for (;;) {
        std::optional<net::Response> answer;
        user_->send(net::Request(request),
                    [&answer](net::Response response) { answer = std::move(response); });
        while (!answer) {
            if (time_.now() >= end)
                throw Broken{request.method + " " + request.path + " was never answered"};
            time_.step(end);
        }
        if (answer->status != 503) return *answer;
        pass(milliseconds(100));  // The server has just crashed: a user tries again.
    }
}

void World::create(const std::string& yaml) {
    auto parsed = api::parse_yaml(yaml);
    if (auto* problem = std::get_if<api::ParseError>(&parsed)) throw Broken{problem->text};
    for (const api::Parsed& document : std::get<std::vector<api::Parsed>>(parsed))
        create_object(document.value);
}

void World::create_object(const api::Value& object) {
    const auto version = api::parse_group_version(object["apiVersion"].text_or(""));
    const api::Kind* kind = api::find_kind_named(version.group, object["kind"].text_or(""));
    if (kind == nullptr) throw Broken{"no kind " + object["kind"].text()};
    const std::string ns =
        kind->namespaced ? std::string(object["metadata"]["namespace"].text_or("default")) : "";
    const net::Request request =
        kube::create({kind->resource(), version.version}, ns, "", "", object);
    const net::Response answer = ask(request);
    tell(request, answer, {});
    // A try before a crash may have been durable already.
    if (answer.status >= 300 && answer.status != 409)
        throw Broken{"create was refused: " + *answer.body};
}

void World::change(const std::string& path, const std::string& subresource,
                   const std::function<void(api::Value& object)>& edit) {
    for (;;) {
        api::Value object = get(path);
        if (object.is_null()) throw Broken{path + " is not there"};
        const api::Value before = object;
        edit(object);
        net::Request request;
        request.method = "PUT";
        request.path = subresource.empty() ? path : path + "/" + subresource;
        request.headers.set("Content-Type", "application/json");
        request.body = make_bytes(api::to_json(object));
        const net::Response answer = ask(request);
        tell(request, answer, before);
        if (answer.status < 300) return;
        if (answer.status != 409) throw Broken{"update was refused: " + *answer.body};
    }
}

void World::remove(const std::string& path, const std::string& propagation) {
    net::Request request;
    request.method = "DELETE";
    request.path = path;
    if (!propagation.empty()) request.query.emplace_back("propagationPolicy", propagation);
    request.body = make_bytes("");
    const net::Response answer = ask(request);
    tell(request, answer, {});
    if (answer.status >= 300 && answer.status != 404)
        throw Broken{"delete was refused: " + *answer.body};
}

void World::merge(const std::string& path, const std::string& json) {
    net::Request request;
    request.method = "PATCH";
    request.path = path;
    request.headers.set("Content-Type", "application/merge-patch+json");
    request.body = make_bytes(json);
    const net::Response answer = ask(request);
    tell(request, answer, {});
    if (answer.status >= 300 && answer.status != 404)
        throw Broken{"patch was refused: " + *answer.body};
}

void World::tell(const net::Request& request, const net::Response& answer,
                 const api::Value& before) {
    if (!told_ || answer.status >= 300) return;
    api::Value line = api::Value::object({{"method", request.method}, {"path", request.path}});
    auto parsed = api::parse_json(*request.body);
    if (auto* document = std::get_if<api::Parsed>(&parsed))
        line.set("body", std::move(document->value));
    if (!before.is_null()) line.set("before", before);
    told_(std::move(line));
}

api::Value World::get(const std::string& path) {
    net::Request request;
    request.method = "GET";
    request.path = path;
    request.body = make_bytes("");
    const net::Response answer = ask(std::move(request));
    if (answer.status != 200) return {};
    auto parsed = api::parse_json(*answer.body);
    auto* document = std::get_if<api::Parsed>(&parsed);
    if (document == nullptr) throw Broken{path + " is no JSON"};
    return std::move(document->value);
}

}  // namespace muster::sim
