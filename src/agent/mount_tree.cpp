// agent/mount_tree.cpp - see mount_tree.h.
#include "agent/mount_tree.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mount.h>

#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

[[noreturn]] void fail(const std::string& what) {
    throw Error(Reason::internal_error, what + ": " + std::strerror(errno));
}

unsigned attributes_of(const MountFlags& flags) {
    return MOUNT_ATTR_NOSUID | (flags.read_only ? MOUNT_ATTR_RDONLY : 0U) |
           (flags.no_devices ? MOUNT_ATTR_NODEV : 0U) |
           (flags.no_programs ? MOUNT_ATTR_NOEXEC : 0U);
}

constexpr unsigned kCopy = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;

}  // namespace

Descriptor copy_tree(int at, const std::string& what) {
    Descriptor tree(::open_tree(at, "", kCopy | AT_EMPTY_PATH));
    if (!tree) fail("cannot mount " + what);
    return tree;
}

Descriptor copy_tree_at(const std::string& path) {
    return Descriptor(::open_tree(AT_FDCWD, path.c_str(), kCopy));
}

Descriptor new_file_system(const char* type, const std::vector<std::string>& options,
                           const MountFlags& flags) {
    const Descriptor context(::fsopen(type, FSOPEN_CLOEXEC));
    if (!context) return {};
    for (const std::string& option : options) {
        const auto pair = split_first(option, '=');
        const std::string key(pair ? pair->before : std::string_view(option));
        const std::string value(pair ? pair->after : std::string_view());
        const int done =
            pair ? ::fsconfig(context.get(), FSCONFIG_SET_STRING, key.c_str(), value.c_str(), 0)
                 : ::fsconfig(context.get(), FSCONFIG_SET_FLAG, key.c_str(), nullptr, 0);
        if (done != 0) return {};
    }
    if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
    return Descriptor(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes_of(flags)));
}

void narrow(int tree, const MountFlags& flags, Depth depth, const std::string& what) {
    mount_attr attributes{};
    attributes.attr_set = attributes_of(flags);
    const unsigned recursive = depth == Depth::all ? AT_RECURSIVE : 0;
    if (::mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attributes, sizeof(attributes)) != 0)
        fail("cannot restrict the mount of " + what + " (Linux 5.12 or newer is needed)");
}

void attach(int tree, int place, const std::string& what) {
    if (::move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        fail("cannot mount " + what);
}

}  // namespace muster::agent
