// agent/seccomp_profile.cpp - see seccomp_profile.h.
#include "agent/seccomp_profile.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/descriptor.h"
#include "base/error.h"

namespace muster::agent {

namespace {

// One list for all architectures: libseccomp leaves out what an architecture does not have.
constexpr const char* kAllowed[] = {
    // Files and folders.
    "access", "cachestat", "chdir", "chmod", "chown", "chown32", "close", "close_range",
    "copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat", "faccessat2", "fadvise64",
    "fadvise64_64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchown32",
    "fchownat", "fcntl", "fcntl64", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr",
    "fsetxattr", "fstat", "fstat64", "fstatat64", "fstatfs", "fstatfs64", "fsync", "ftruncate",
    "ftruncate64", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "ioctl", "lchown",
    "lchown32", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "_llseek", "lremovexattr",
    "lseek", "lsetxattr", "lstat", "lstat64", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat",
    "open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2",
    "read", "readahead", "readlink", "readlinkat", "readv", "removexattr", "rename", "renameat",
    "renameat2", "rmdir", "sendfile", "sendfile64", "setxattr", "splice", "stat", "stat64",
    "statfs", "statfs64", "statx", "symlink", "symlinkat", "sync", "sync_file_range",
    "sync_file_range2", "syncfs", "tee", "truncate", "truncate64", "umask", "unlink", "unlinkat",
    "utime", "utimensat", "utimensat_time64", "utimes", "vmsplice", "write", "writev",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "name_to_handle_at",
    "fanotify_mark", "chroot", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents",
    "io_pgetevents_time64", "io_setup", "io_submit",
    // Waiting.
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2",
    "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "_newselect", "pause", "poll", "ppoll",
    "ppoll_time64", "pselect6", "pselect6_time64", "select", "signalfd", "signalfd4",
    "timerfd_create", "timerfd_gettime", "timerfd_gettime64", "timerfd_settime",
    "timerfd_settime64",
    // Memory.
    "brk", "get_mempolicy", "madvise", "map_shadow_stack", "mbind", "membarrier", "memfd_create",
    "memfd_secret", "migrate_pages", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mmap2",
    "move_pages", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap",
    "pkey_alloc", "pkey_free", "pkey_mprotect", "process_madvise", "process_mrelease",
    "remap_file_pages", "set_mempolicy", "set_mempolicy_home_node",
    // Processes and threads.
    "arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork", "futex",
    "futex_requeue", "futex_time64", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list",
    "get_thread_area", "getcpu", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
    "getrlimit", "getrusage", "getsid", "gettid", "ioprio_get", "ioprio_set", "kcmp", "kill",
    "modify_ldt", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "prctl", "prlimit64",
    "process_vm_readv", "process_vm_writev", "ptrace", "restart_syscall", "riscv_flush_icache",
    "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo",
    "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr",
    "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_rr_get_interval_time64",
    "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield",
    "seccomp", "set_robust_list", "set_thread_area", "set_tid_address", "setpgid", "setpriority",
    "setrlimit", "setsid", "sigaltstack", "signal", "sigprocmask", "sigreturn", "sigsuspend",
    "sysinfo", "tgkill", "times", "tkill", "ugetrlimit", "uname", "uretprobe", "vfork", "wait4",
    "waitid", "waitpid",
    // Users and groups, which mean something inside the pod's user namespace only.
    "getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getgroups",
    "getgroups32", "getresgid", "getresgid32", "getresuid", "getresuid32", "getuid", "getuid32",
    "setfsgid", "setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32", "setgroups",
    "setgroups32", "setregid", "setregid32", "setresgid", "setresgid32", "setresuid", "setresuid32",
    "setreuid", "setreuid32", "setuid", "setuid32",
    // Time.
    "alarm", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
    "clock_nanosleep", "clock_nanosleep_time64", "getitimer", "gettimeofday", "nanosleep",
    "setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",
    "timer_gettime64", "timer_settime", "timer_settime64", "adjtimex", "clock_adjtime",
    "clock_adjtime64",
    // Talking to others.
    "accept", "accept4", "bind", "connect", "getpeername", "getrandom", "getsockname", "getsockopt",
    "ipc", "listen", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
    "mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64", "mq_unlink", "msgctl",
    "msgget", "msgrcv", "msgsnd", "pipe", "pipe2", "recv", "recvfrom", "recvmmsg",
    "recvmmsg_time64", "recvmsg", "semctl", "semget", "semop", "semtimedop", "semtimedop_time64",
    "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shmat", "shmctl", "shmdt", "shmget",
    "shutdown", "socketcall", "socketpair", "landlock_add_rule", "landlock_create_ruleset",
    "landlock_restrict_self"};

// Every namespace that clone and unshare can make.
constexpr unsigned kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// What personality(2) may be asked for: nothing new, 32 bit, the old kernel's version, a look.
constexpr unsigned kPersonalities[] = {0x0, 0x0008, 0x20000, 0x20008, 0xffffffff};

class Profile {
public:
    Profile() : context_(::seccomp_init(SCMP_ACT_ERRNO(EPERM)), &::seccomp_release) {
        if (!context_) fail(ENOMEM);
        add_architectures();
    }

    void allow(const char* name) {
        const int call = ::seccomp_syscall_resolve_name(name);
        if (call == __NR_SCMP_ERROR) return;  // Younger than this libseccomp.
        check(::seccomp_rule_add(context_.get(), SCMP_ACT_ALLOW, call, 0));
    }
    void allow_when(int call, const scmp_arg_cmp& condition) {
        check(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, 1, &condition));
    }
    void answer(int call, int error) {
        check(::seccomp_rule_add(context_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call,
                                 0));
    }

    std::vector<sock_filter> program() const {
        const Descriptor file(::memfd_create("seccomp", MFD_CLOEXEC));
        if (!file) fail(errno);
        check(::seccomp_export_bpf(context_.get(), file.get()));
        const off_t size = ::lseek(file.get(), 0, SEEK_END);
        std::vector<sock_filter> program(static_cast<std::size_t>(size) / sizeof(sock_filter));
        if (size <= 0 || ::pread(file.get(), program.data(), static_cast<std::size_t>(size), 0) !=
                             static_cast<ssize_t>(size))
            fail(EIO);
        return program;
    }

private:
    [[noreturn]] static void fail(int error) {
        throw Error(Reason::internal_error,
                    std::string("cannot make the filter of system calls for pods: ") +
                        std::strerror(error));
    }
    static void check(int result) {
        if (result != 0) fail(-result);
    }

    /// 32-bit programs of the same processor are under the filter as well.
    void add_architectures() {
        check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_NNP, 0));
        // A search instead of a walk: three hundred comparisons for each call would be felt.
        ::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
        const std::uint32_t native = ::seccomp_arch_native();
        if (native != SCMP_ARCH_X86_64) return;
        for (const std::uint32_t each : {SCMP_ARCH_X86, SCMP_ARCH_X32}) {
            const int result = ::seccomp_arch_add(context_.get(), each);
            if (result != 0 && result != -EEXIST) fail(-result);
        }
    }

    std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
};

}  // namespace

std::vector<sock_filter> make_seccomp_program() {
    Profile profile;
    for (const char* name : kAllowed)
        profile.allow(name);
    for (const unsigned persona : kPersonalities)
        profile.allow_when(SCMP_SYS(personality), SCMP_A0(SCMP_CMP_EQ, persona));
    profile.allow_when(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, kNewNamespaces, 0));
    // Its flags are in memory, where no filter sees them: libraries fall back to clone.
    profile.answer(SCMP_SYS(clone3), ENOSYS);
    // Sockets to a hypervisor reach past every network namespace.
    profile.allow_when(SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_VSOCK));
    return profile.program();
}

void obey(const std::vector<sock_filter>& program) {
    sock_fprog filter{};
    filter.len = static_cast<unsigned short>(program.size());
    filter.filter = const_cast<sock_filter*>(program.data());
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
        throw Error(Reason::internal_error,
                    std::string("cannot put the container under the filter of system calls: ") +
                        std::strerror(errno));
}

}  // namespace muster::agent
