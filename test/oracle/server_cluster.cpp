// test/oracle/server_cluster.cpp - every write is a request, everything seen comes over a watch.
#include "test/oracle/server_cluster.h"

#include <cstdio>
#include <optional>
#include <utility>
#include <variant>

#include "api/json.h"
#include "apiserver/server.h"
#include "base/random.h"
#include "base/verify.h"
#include "control/control_plane.h"
#include "control/runner.h"
#include "kube/in_process_transport.h"
#include "kube/request.h"
#include "sim/virtual_time.h"
#include "store/memory_journal.h"
#include "store/store.h"

namespace muster::oracle {
namespace {

using api::Value;

constexpr Time morning{1'700'000'000'000'000'000};
/// As long as this nothing may change before it is said to be at rest.
constexpr Duration quiet = milliseconds(400);
constexpr Duration rest_limit = minutes(10);
constexpr Duration answer_limit = minutes(1);

kube::Target target_of(const api::GroupResource& resource) {
    return {resource, resource.group.empty() ? "v1" : "v1beta2"};
}

class ServerCluster : public Cluster {
public:
    explicit ServerCluster(const decide::Options& queues) {
        for (api::AdmissionHook& hook : control::admission_hooks())
            server_.add_admission(std::move(hook));
        store_.watch("/", store_.revision(), [this](const store::Change& change) {
            const bool counts = change.key.find("/leases/") == std::string::npos &&
                                change.key.find("/events/") == std::string::npos;
            if (counts) changed_ = time_.now();
        });
        server_.bootstrap([] {});
        control::ControlPlaneOptions options;
        options.queues.decisions = queues;
        control::add_controllers(runner_, options);
        runner_.start();
        pass(seconds(1));
    }

    int create(const api::GroupResource& resource, Value object) override {
        const std::string ns = object["metadata"]["namespace"].text();
        const std::string name = object["metadata"]["name"].text();
        const net::Response answer =
            ask(kube::create(target_of(resource), ns, "", "", without_status(object)));
        if (answer.status >= 300 || object["status"].is_null()) return told(answer);
        return merge({resource, ns, name}, Value::object({{"status", object["status"]}}), "status");
    }

    int merge(const api::Key& key, const Value& patch, const std::string& subresource) override {
        return told(ask(kube::patch(target_of(key.resource), key, subresource,
                                    "application/merge-patch+json", patch)));
    }

    int remove(const api::Key& key) override {
        return told(ask(kube::remove(target_of(key.resource), key, "", "Background")));
    }

    kube::ObjectPtr find(const api::Key& key) override {
        const net::Response answer = ask(kube::get(target_of(key.resource), key.ns, key.name));
        if (answer.status != 200) return nullptr;
        return kube::make_object(key.resource, parsed(*answer.body));
    }

    std::vector<kube::ObjectPtr> list(const api::GroupResource& resource) override {
        const net::Response answer = ask(kube::list(target_of(resource), ""));
        VERIFY(answer.status == 200);
        std::vector<kube::ObjectPtr> objects;
        const Value body = parsed(*answer.body);
        for (const Value& item : body["items"].items())
            objects.push_back(kube::make_object(resource, item));
        return objects;
    }

    void pass(Duration span) override {
        const Time end = time_.now() + span;
        while (time_.now() < end)
            time_.step(end);
    }

    bool rest() override {
        const Time end = time_.now() + rest_limit;
        changed_ = time_.now();
        while (time_.now() < end) {
            pass(milliseconds(100));
            if (time_.now() - changed_ >= quiet && runner_.at_rest()) return true;
        }
        return false;
    }

    Time now() const override { return time_.now(); }

private:
    static Value without_status(Value object) {
        object.erase("status");
        return object;
    }

    static Value parsed(const std::string& body) {
        auto document = api::parse_json(body);
        VERIFY(std::holds_alternative<api::Parsed>(document));
        return std::get<api::Parsed>(std::move(document)).value;
    }

    /// The status code; what was refused is said, for no recorded case holds what Kueue refuses.
    static int told(const net::Response& answer) {
        if (answer.status >= 300) std::fprintf(stderr, "refused: %s\n", answer.body->c_str());
        return answer.status;
    }

    net::Response ask(net::Request request) {
        const Time end = time_.now() + answer_limit;
        std::optional<net::Response> answer;
        user_.send(std::move(request),
                   [&answer](net::Response response) { answer = std::move(response); });
        while (!answer) {
            VERIFY(time_.now() < end);
            time_.step(end);
        }
        return *std::move(answer);
    }

    net::Handler handler() {
        return [this](net::Request request, std::shared_ptr<net::Responder> responder) {
            server_.handle(std::move(request), std::move(responder));
        };
    }

    Random random_{1};
    sim::VirtualTime time_{random_, morning};
    sim::VirtualLoop& server_loop_ = time_.make_loop();
    sim::VirtualLoop& control_loop_ = time_.make_loop();
    sim::VirtualLoop& user_loop_ = time_.make_loop();
    store::Store store_{std::make_unique<store::MemoryJournal>(
        std::make_shared<store::MemoryDisk>(), &server_loop_)};
    apiserver::Server server_{store_, server_loop_, apiserver::Options{}};
    kube::InProcessTransport user_{handler(), server_loop_, user_loop_, "user"};
    kube::InProcessTransport control_{handler(), server_loop_, control_loop_, "control"};
    control::Runner runner_{
        control_, control_loop_,
        [this](const control::Call&, const std::function<void(int, std::string)>& done) {
            control_loop_.post([done] { done(0, "nothing runs outside"); });
        }};
    Time changed_;
};

}  // namespace

std::unique_ptr<Cluster> make_server_cluster(const std::string& variant) {
    decide::Options options;
    if (variant == "fair") options.fair_sharing.emplace();
    return std::make_unique<ServerCluster>(options);
}

}  // namespace muster::oracle
