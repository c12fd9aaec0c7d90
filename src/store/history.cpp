// store/history.cpp - keeping the newest changes within bounds.
#include "store/history.h"

#include "base/verify.h"

namespace muster::store {
namespace {

/// What a change costs: itself and the value that nobody else holds any more. The value that it
/// made is the state's, until a later change has it as the value before.
std::size_t cost_of(const Change& change) {
    return sizeof(Change) + change.key.size() + (change.before ? change.before->size() : 0);
}

}  // namespace

void History::add(Change change) {
    VERIFY(change.revision == forgotten_ + static_cast<Revision>(changes_.size()) + 1);
    bytes_ += cost_of(change);
    changes_.push_back(std::move(change));
    while (changes_.size() > limits_.changes || bytes_ > limits_.bytes) {
        bytes_ -= cost_of(changes_.front());
        forgotten_ = changes_.front().revision;
        changes_.pop_front();
        if (changes_.empty()) break;
    }
}

}  // namespace muster::store
