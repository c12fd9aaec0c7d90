// apps/cli/pipeline.cpp - a window over the list of objects: look, write, tell, each in order.
#include "apps/cli/pipeline.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "base/error.h"

namespace muster::cli {
namespace {

using api::Value;

/// Under way at once. A server takes a hundred streams and more; beyond this nothing gets faster.
constexpr std::size_t window = 64;

/// Nothing that is created later depends on an object of these being there.
bool is_leaf(const Resource& resource) {
    static constexpr std::string_view leaves[] = {"configmaps",  "secrets", "services",
                                                  "pods",        "jobs",    "events",
                                                  "rayclusters", "rayjobs", "appwrappers"};
    return std::find(std::begin(leaves), std::end(leaves), resource.plural) != std::end(leaves);
}

struct Item {
    enum class Step { waiting, looking, ready, writing, complete };
    Writing writing;
    Step step = Step::waiting;
    std::optional<Value> before;
    Value after;
    std::exception_ptr problem;
};

class Pipeline {
public:
    Pipeline(Command& command, std::vector<Writing> writings, const WritePlan& plan)
        : command_(command), plan_(plan) {
        items_.reserve(writings.size());
        for (Writing& writing : writings)
            items_.push_back({std::move(writing), Item::Step::waiting, {}, {}, nullptr});
    }

    void run() {
        advance();
        while (told_ < items_.size())
            command_.session().wait();
    }

private:
    void advance() {
        while (begun_ < items_.size() && may_begin(items_[begun_]))
            begin(begun_++);
        while (sent_ < begun_ && (items_[sent_].step == Item::Step::ready ||
                                  items_[sent_].step == Item::Step::complete)) {
            if (items_[sent_].step == Item::Step::ready) write(sent_);
            ++sent_;
        }
        while (told_ < items_.size() && items_[told_].step == Item::Step::complete)
            tell(items_[told_++]);
        // What was told of makes room, and may have been what others waited for.
        const bool more = begun_ < items_.size() && may_begin(items_[begun_]);
        if (more) return advance();
        if (told_ == items_.size()) command_.session().stop_waiting();
    }

    bool may_begin(const Item& item) const {
        if (begun_ == told_) return true;
        if (begun_ - told_ >= window || !item.writing.problem.empty()) return false;
        return is_leaf(*item.writing.placed.resource) && !others_under_way_ &&
               !paths_.contains(item.writing.placed.path());
    }

    void begin(std::size_t at) {
        Item& item = items_[at];
        if (!item.writing.problem.empty()) {
            item.problem =
                std::make_exception_ptr(Error(Reason::bad_request, item.writing.problem));
            item.step = Item::Step::complete;
            return;
        }
        paths_.insert(item.writing.placed.path());
        others_under_way_ = !is_leaf(*item.writing.placed.resource);
        if (plan_.look == WritePlan::Look::not_at_all) {
            item.step = Item::Step::ready;
            return;
        }
        item.step = Item::Step::looking;
        command_.session().send(get_request(item.writing.placed.path()),
                                [this, at](const net::Response& response) {
                                    looked(items_[at], response);
                                    advance();
                                });
    }

    void looked(Item& item, const net::Response& response) {
        item.step = Item::Step::ready;
        if (response.status == 404) return;
        try {
            item.before = command_.session().value_of(response);
        } catch (const Error&) {
            item.problem = std::current_exception();
            item.step = Item::Step::complete;
        }
    }

    void write(std::size_t at) {
        Item& item = items_[at];
        auto request = plan_.request(item.writing);
        if (!request) {
            item.step = Item::Step::complete;
            return;
        }
        item.step = Item::Step::writing;
        command_.session().send(*std::move(request), [this, at](const net::Response& response) {
            Item& written = items_[at];
            try {
                written.after = command_.session().value_of(response);
            } catch (const Error&) {
                written.problem = std::current_exception();
            }
            written.step = Item::Step::complete;
            advance();
        });
    }

    void tell(Item& item) {
        if (item.writing.problem.empty()) paths_.erase(item.writing.placed.path());
        others_under_way_ = false;
        try {
            if (item.problem) std::rethrow_exception(item.problem);
            plan_.done(item.writing, item.before, item.after);
        } catch (const ServerError& error) {
            command_.failed(error);
            if (std::string_view(error.what()).find("Apply failed with") != std::string_view::npos)
                print_error(
                    "Somebody else set these fields. Leave them out of the file to let them be, or "
                    "take them over with --force-conflicts.");
        } catch (const Error& error) {
            command_.failed(error);
        }
        item = {};
    }

    Command& command_;
    const WritePlan& plan_;
    std::vector<Item> items_;
    std::size_t begun_ = 0;
    std::size_t sent_ = 0;
    std::size_t told_ = 0;
    std::set<std::string> paths_;    // Of those under way.
    bool others_under_way_ = false;  // One that is no leaf, then alone.
};

}  // namespace

void write_in_order(Command& command, std::vector<Writing> writings, const WritePlan& plan) {
    Pipeline(command, std::move(writings), plan).run();
}

}  // namespace muster::cli
