// apps/operator/presence_test.cpp - which kinds an operator waits for.
#include "apps/operator/presence.h"

#include <doctest/doctest.h>

namespace muster::on_cluster {
namespace {

/// Answers everything alike and keeps what was asked.
class OneAnswer final : public kube::Transport {
public:
    explicit OneAnswer(int status) { answer_.status = status; }
    void send(net::Request request, OnResponse on_response) override {
        asked += request.path;
        on_response(answer_);
    }
    StreamId open(net::Request, Stream) override { return {}; }
    void cancel(StreamId) override {}

    std::string asked;

private:
    net::Response answer_;
};

TEST_CASE("AppWrappers of the version that is not managed are told, where there are such") {
    for (const int status : {200, 404, 403, 0}) {
        CAPTURE(status);
        OneAnswer server(status);
        std::string told;
        look_for_unmanaged(server, [&](const std::string& line) { told += line; });
        CHECK(server.asked == "/apis/workload.codeflare.dev/v1beta2/appwrappers");
        CHECK((told.find("workload.codeflare.dev/v1beta2, which are not managed") !=
               std::string::npos) == (status == 200));
        CHECK(told.empty() == (status != 200));
    }
}

TEST_CASE("kinds of others are not waited for, whatever their group is called") {
    const Presence presence =
        judge({{{{"batch", "jobs"}, "v1"}, 404, ""},
               {{{"kueue.x-k8s.io", "workloads"}, "v1beta2"}, 404, ""},
               {{{"ray.io", "rayjobs"}, "v1"}, 404, ""},
               {{{"sparkoperator.k8s.io", "sparkapplications"}, "v1beta2"}, 404, ""}});
    CHECK(presence.missing ==
          std::vector<std::string>{"the server does not have jobs.batch/v1",
                                   "the server does not have workloads.kueue.x-k8s.io/v1beta2"});
    CHECK(presence.optional ==
          std::vector<std::string>{"rayjobs.ray.io/v1",
                                   "sparkapplications.sparkoperator.k8s.io/v1beta2"});
}

}  // namespace
}  // namespace muster::on_cluster
