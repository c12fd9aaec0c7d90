// agent/seccomp_profile.h - the system calls that processes of pods may make.
#pragma once

#include <vector>

#include <linux/filter.h>

namespace muster::agent {

/// A list of what is allowed, like the one that container engines use by default, made with
/// libseccomp for this machine's architectures. All else answers EPERM, or ENOSYS where programs
/// then try an older way (clone3). Not in it, whatever capabilities a process has: new namespaces,
/// mounts, keyrings, io_uring, bpf, perf events, userfaultfd, modules, kexec, clocks, swap, reboot.
/// Throws Error.
std::vector<sock_filter> make_seccomp_program();

/// Puts the calling process, and all that it starts, under the program. It must have no_new_privs.
/// Throws Error.
void obey(const std::vector<sock_filter>& program);

}  // namespace muster::agent
