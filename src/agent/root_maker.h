// agent/root_maker.h - how a container's root is made, step by step. For container_root.cpp, where
// the steps are, and root_maker_take.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "agent/beneath.h"
#include "agent/descriptor.h"
#include "agent/mount_tree.h"
#include "agent/root_plan.h"

namespace muster::agent {

constexpr MountFlags kNoPrograms{.read_only = false, .no_devices = true, .no_programs = true};

/// Throws Error with errno's words.
[[noreturn]] void fail_at_root(const std::string& what);

std::string link_at(int folder, const char* name);

/// The names in a folder, in order; Error when there are more than `limit`.
std::vector<std::string> names_in(int folder, std::size_t limit, const std::string& what);

/// S_IFDIR, or S_IFREG for all else.
mode_t kind_of(const struct stat& status);

/// Makes one root. Invariant: the pod's own words (paths inside sources, targets, the working
/// directory) are looked at only after leave_machine.
class RootMaker {
public:
    explicit RootMaker(const RootPlan& plan)
        : plan_(plan), own_{outside_of(plan.ids.users, 0), outside_of(plan.ids.groups, 0)} {}

    void make();

private:
    /// A tree that Muster chose, and where it goes.
    struct Tree {
        std::string target;
        Descriptor tree;
        mode_t kind = S_IFDIR;
    };
    struct Link {
        std::string target;
        std::string text;
    };

    void take(const std::string& path, std::vector<Tree>& trees);
    void take_system();
    void take_environments();
    void take_devices();
    void take_own_folders();
    void take_sources();

    void leave_machine();
    void verify_alone() const;

    void show_system();
    void show_devices();
    void restrict_proc_and_sys();
    void mask(int folder, const std::string& name);
    void show_own_folders();
    void show_environments();
    void hide_data();
    void show_volumes();
    void resolve_sources();
    Descriptor resolve(const BindMount& mount, int source) const;
    void finish();

    Descriptor make_place(const std::string& target, mode_t kind);
    Descriptor place_for(const std::string& target, mode_t kind);
    void put(const Tree& tree);
    void open_up(int folder);
    void give(int folder, const char* name, std::int64_t user, std::int64_t group) const;

    const RootPlan& plan_;
    Ownership own_;  // The pod's own root.
    std::vector<Tree> system_;
    std::vector<Tree> environments_;
    std::vector<Link> links_;
    std::vector<Tree> devices_;
    std::vector<Tree> folders_;
    std::vector<Tree> sources_;  // One for each of the plan's mounts.
    Descriptor proc_;
    Descriptor sys_;
    Descriptor root_;
    std::vector<Descriptor> frozen_;  // Read-only in the end.
};

}  // namespace muster::agent
