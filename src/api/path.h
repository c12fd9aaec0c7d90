// api/path.h - where a walk through a document is; made text ("spec.containers[0].name") only when
// something is wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::api {

/// A chain of steps on the stack. A child must not outlive its parent (unless that is the root),
/// nor the name it was given.
class Path {
public:
    Path() = default;
    Path child(std::string_view name) const { return Path(this, name, Step::member); }
    Path key(std::string_view name) const { return Path(this, name, Step::key); }
    Path item(std::size_t index) const {
        Path path(this, {}, Step::item);
        path.index_ = index;
        return path;
    }

    std::string text() const;

private:
    enum class Step { root, member, key, item };
    Path(const Path* parent, std::string_view name, Step step)
        : parent_(parent->step_ == Step::root ? nullptr : parent), name_(name), step_(step) {}
    void append(std::string& out) const;

    const Path* parent_ = nullptr;
    std::string_view name_;
    std::size_t index_ = 0;
    Step step_ = Step::root;
};

}  // namespace muster::api
