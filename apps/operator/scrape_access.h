// apps/operator/scrape_access.h - who may read /metrics: the cluster is asked, as Kubernetes' own
// programs do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "kube/transport.h"
#include "net/http.h"

namespace muster::on_cluster {

/// Asks whose token it is (TokenReview) and whether that user may GET the path
/// (SubjectAccessReview). What was granted holds for a minute. Lives on one loop.
class ScrapeAccess {
public:
    enum class Verdict { granted, unknown_user, forbidden, no_answer };
    struct Answer {
        Verdict verdict = Verdict::no_answer;
        std::string why;  // In words, when it is not granted.
    };
    using Done = std::function<void(const Answer&)>;

    ScrapeAccess(kube::Transport& transport, const Loop& loop)
        : transport_(transport), loop_(loop) {}

    /// `done` may run at once.
    void ask(const net::Request& request, Done done);

private:
    struct Question;
    void take_user(const std::shared_ptr<Question>& question, const net::Response& response);
    void take_verdict(const std::shared_ptr<Question>& question, const net::Response& response);

    kube::Transport& transport_;
    const Loop& loop_;
    std::map<std::string, Time> granted_;  // By path and digest of the token: until when.
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::on_cluster
