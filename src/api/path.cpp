// api/path.cpp - where a walk through a document is, as text.
#include "api/path.h"

namespace muster::api {

std::string Path::text() const {
    std::string out;
    append(out);
    return out;
}

void Path::append(std::string& out) const {
    if (step_ == Step::root) return;
    if (parent_ != nullptr) parent_->append(out);
    if (step_ == Step::item) {
        out += "[" + std::to_string(index_) + "]";
    } else if (step_ == Step::key) {
        out.append("[").append(name_).append("]");
    } else {
        if (!out.empty()) out += ".";
        out.append(name_);
    }
}

}  // namespace muster::api
