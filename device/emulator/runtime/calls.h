// calls.h: the names of the system's calls, for the message that refuses one.
#pragma once

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
struct Call {
  int number;
  const char* name;
};

#define CALL(name) {SYS_##name, #name}
static const Call kCalls[] = {
    CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(lseek), CALL(mmap), CALL(mprotect), CALL(munmap),
    CALL(brk), CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(ioctl), CALL(pread64),
    CALL(pwrite64), CALL(readv), CALL(writev), CALL(sched_yield), CALL(mremap), CALL(msync), CALL(mincore),
    CALL(madvise), CALL(shmget), CALL(shmat), CALL(shmctl), CALL(dup), CALL(nanosleep), CALL(getitimer),
    CALL(setitimer), CALL(getpid), CALL(sendfile), CALL(socket), CALL(connect), CALL(accept), CALL(sendto),
    CALL(recvfrom), CALL(sendmsg), CALL(recvmsg), CALL(shutdown), CALL(bind), CALL(listen), CALL(getsockname),
    CALL(getpeername), CALL(socketpair), CALL(setsockopt), CALL(getsockopt), CALL(clone), CALL(execve), CALL(exit),
    CALL(wait4), CALL(kill), CALL(uname), CALL(semget), CALL(semop), CALL(semctl), CALL(shmdt), CALL(msgget),
    CALL(msgsnd), CALL(msgrcv), CALL(msgctl), CALL(fcntl), CALL(flock), CALL(fsync), CALL(fdatasync), CALL(truncate),
    CALL(ftruncate), CALL(getcwd), CALL(chdir), CALL(fchdir), CALL(fchmod), CALL(fchown), CALL(umask),
    CALL(gettimeofday), CALL(getrlimit), CALL(getrusage), CALL(sysinfo), CALL(times), CALL(ptrace), CALL(getuid),
    CALL(syslog), CALL(getgid), CALL(setuid), CALL(setgid), CALL(geteuid), CALL(getegid), CALL(setpgid),
    CALL(getppid), CALL(setsid), CALL(setreuid), CALL(setregid), CALL(getgroups), CALL(setgroups), CALL(setresuid),
    CALL(getresuid), CALL(setresgid), CALL(getresgid), CALL(getpgid), CALL(setfsuid), CALL(setfsgid), CALL(getsid),
    CALL(capget), CALL(capset), CALL(rt_sigpending), CALL(rt_sigtimedwait), CALL(rt_sigqueueinfo),
    CALL(rt_sigsuspend), CALL(sigaltstack), CALL(personality), CALL(statfs), CALL(fstatfs), CALL(getpriority),
    CALL(setpriority), CALL(sched_setparam), CALL(sched_getparam), CALL(sched_setscheduler), CALL(sched_getscheduler),
    CALL(sched_get_priority_max), CALL(sched_get_priority_min), CALL(sched_rr_get_interval), CALL(mlock),
    CALL(munlock), CALL(mlockall), CALL(munlockall), CALL(vhangup), CALL(pivot_root), CALL(prctl), CALL(adjtimex),
    CALL(setrlimit), CALL(chroot), CALL(sync), CALL(acct), CALL(settimeofday), CALL(mount), CALL(umount2),
    CALL(swapon), CALL(swapoff), CALL(reboot), CALL(sethostname), CALL(setdomainname), CALL(init_module),
    CALL(delete_module), CALL(quotactl), CALL(nfsservctl), CALL(gettid), CALL(readahead), CALL(setxattr),
    CALL(lsetxattr), CALL(fsetxattr), CALL(getxattr), CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr),
    CALL(llistxattr), CALL(flistxattr), CALL(removexattr), CALL(lremovexattr), CALL(fremovexattr), CALL(tkill),
    CALL(futex), CALL(sched_setaffinity), CALL(sched_getaffinity), CALL(io_setup), CALL(io_destroy),
    CALL(io_getevents), CALL(io_submit), CALL(io_cancel), CALL(lookup_dcookie), CALL(remap_file_pages),
    CALL(getdents64), CALL(set_tid_address), CALL(restart_syscall), CALL(semtimedop), CALL(fadvise64),
    CALL(timer_create), CALL(timer_settime), CALL(timer_gettime), CALL(timer_getoverrun), CALL(timer_delete),
    CALL(clock_settime), CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(exit_group),
    CALL(epoll_ctl), CALL(tgkill), CALL(mbind), CALL(set_mempolicy), CALL(get_mempolicy), CALL(mq_open),
    CALL(mq_unlink), CALL(mq_timedsend), CALL(mq_timedreceive), CALL(mq_notify), CALL(mq_getsetattr),
    CALL(kexec_load), CALL(waitid), CALL(add_key), CALL(request_key), CALL(keyctl), CALL(ioprio_set),
    CALL(ioprio_get), CALL(inotify_add_watch), CALL(inotify_rm_watch), CALL(migrate_pages), CALL(openat),
    CALL(mkdirat), CALL(mknodat), CALL(fchownat), CALL(newfstatat), CALL(unlinkat), CALL(renameat), CALL(linkat),
    CALL(symlinkat), CALL(readlinkat), CALL(fchmodat), CALL(faccessat), CALL(pselect6), CALL(ppoll), CALL(unshare),
    CALL(set_robust_list), CALL(get_robust_list), CALL(splice), CALL(tee), CALL(sync_file_range), CALL(vmsplice),
    CALL(move_pages), CALL(utimensat), CALL(epoll_pwait), CALL(timerfd_create), CALL(fallocate),
    CALL(timerfd_settime), CALL(timerfd_gettime), CALL(accept4), CALL(signalfd4), CALL(eventfd2), CALL(epoll_create1),
    CALL(dup3), CALL(pipe2), CALL(inotify_init1), CALL(preadv), CALL(pwritev), CALL(rt_tgsigqueueinfo),
    CALL(perf_event_open), CALL(recvmmsg), CALL(fanotify_init), CALL(fanotify_mark), CALL(prlimit64),
    CALL(name_to_handle_at), CALL(open_by_handle_at), CALL(clock_adjtime), CALL(syncfs), CALL(sendmmsg), CALL(setns),
    CALL(getcpu), CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp), CALL(finit_module),
    CALL(sched_setattr), CALL(sched_getattr), CALL(renameat2), CALL(seccomp), CALL(getrandom), CALL(memfd_create),
    CALL(bpf), CALL(execveat),
#ifdef SYS_rseq  // since Linux 4.18
    CALL(userfaultfd), CALL(membarrier), CALL(mlock2), CALL(copy_file_range), CALL(preadv2), CALL(pwritev2),
    CALL(pkey_mprotect), CALL(pkey_alloc), CALL(pkey_free), CALL(statx), CALL(io_pgetevents), CALL(rseq),
#endif
#ifdef SYS_open  // those that x86 has beside
    CALL(open), CALL(stat), CALL(lstat), CALL(poll), CALL(access), CALL(pipe), CALL(select), CALL(dup2), CALL(pause),
    CALL(alarm), CALL(fork), CALL(vfork), CALL(getdents), CALL(rename), CALL(mkdir), CALL(rmdir), CALL(creat),
    CALL(link), CALL(unlink), CALL(symlink), CALL(readlink), CALL(chmod), CALL(chown), CALL(lchown), CALL(getpgrp),
    CALL(utime), CALL(mknod), CALL(uselib), CALL(ustat), CALL(sysfs), CALL(modify_ldt), CALL(_sysctl),
    CALL(arch_prctl), CALL(iopl), CALL(ioperm), CALL(create_module), CALL(get_kernel_syms), CALL(query_module),
    CALL(getpmsg), CALL(putpmsg), CALL(afs_syscall), CALL(tuxcall), CALL(security), CALL(time), CALL(set_thread_area),
    CALL(get_thread_area), CALL(epoll_create), CALL(epoll_ctl_old), CALL(epoll_wait_old), CALL(epoll_wait),
    CALL(kexec_file_load), CALL(utimes), CALL(vserver), CALL(inotify_init), CALL(futimesat), CALL(signalfd), CALL(eventfd),
#endif
    // From here on a call has the same number on all processors.
    {424, "pidfd_send_signal"}, {425, "io_uring_setup"}, {426, "io_uring_enter"}, {427, "io_uring_register"},
    {428, "open_tree"}, {429, "move_mount"}, {430, "fsopen"}, {431, "fsconfig"}, {432, "fsmount"}, {433, "fspick"},
    {434, "pidfd_open"}, {435, "clone3"}, {436, "close_range"}, {437, "openat2"}, {438, "pidfd_getfd"},
    {439, "faccessat2"}, {440, "process_madvise"}, {441, "epoll_pwait2"}, {442, "mount_setattr"},
    {443, "quotactl_fd"}, {444, "landlock_create_ruleset"}, {445, "landlock_add_rule"},
    {446, "landlock_restrict_self"}, {447, "memfd_secret"}, {448, "process_mrelease"}, {449, "futex_waitv"},
    {450, "set_mempolicy_home_node"}, {451, "cachestat"}, {452, "fchmodat2"}, {453, "map_shadow_stack"},
    {454, "futex_wake"}, {455, "futex_wait"}, {456, "futex_requeue"}, {457, "statmount"}, {458, "listmount"},
    {459, "lsm_get_self_attr"}, {460, "lsm_set_self_attr"}, {461, "lsm_list_modules"}, {462, "mseal"},
    {463, "setxattrat"}, {464, "getxattrat"}, {465, "listxattrat"}, {466, "removexattrat"}, {467, "open_tree_attr"},
    {468, "file_getattr"}, {469, "file_setattr"}, {470, "listns"}, {471, "rseq_slice_yield"},
};
#undef CALL

static void call_describe(Text& text, const siginfo_t* info) {
#ifdef __x86_64__
  const bool native = info->si_arch == AUDIT_ARCH_X86_64;
#else
  const bool native = info->si_arch == AUDIT_ARCH_AARCH64;
#endif
  for (const Call& call : kCalls)
    if (native && call.number == info->si_syscall) return text.add(", %s", call.name);
  text.add(", number %d%s", info->si_syscall, native ? "" : " of the processor's other mode");
}
#elif defined(SIGSYS)
static void call_describe(Text&, const siginfo_t*) {}
#endif
