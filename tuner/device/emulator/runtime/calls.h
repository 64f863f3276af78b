// calls.h: the names of system calls that a kernel may try, for the message that
// refuses one.
#pragma once

#ifdef SIGSYS
struct Call {
  int number;
  const char* name;
};

#define CALL(name) {SYS_##name, #name}
static const Call kCalls[] = {
    CALL(read), CALL(openat), CALL(close), CALL(lseek), CALL(pread64), CALL(pwrite64), CALL(readv),
    CALL(writev), CALL(ioctl), CALL(fcntl), CALL(dup), CALL(dup3), CALL(pipe2), CALL(getdents64),
    CALL(getcwd), CALL(chdir), CALL(fchdir), CALL(mkdirat), CALL(unlinkat), CALL(symlinkat), CALL(linkat),
    CALL(renameat2), CALL(fchmod), CALL(fchmodat), CALL(fchown), CALL(ftruncate), CALL(statx),
    CALL(faccessat), CALL(readlinkat), CALL(sendfile), CALL(socket), CALL(socketpair), CALL(connect),
    CALL(bind), CALL(listen), CALL(accept), CALL(sendto), CALL(recvfrom), CALL(sendmsg), CALL(recvmsg),
    CALL(shutdown), CALL(clone), CALL(execve), CALL(kill), CALL(tkill), CALL(wait4), CALL(waitid),
    CALL(ptrace), CALL(prctl), CALL(setrlimit), CALL(prlimit64), CALL(setsid), CALL(setpgid), CALL(setuid),
    CALL(setgid), CALL(mount), CALL(umount2), CALL(chroot), CALL(sysinfo), CALL(uname), CALL(getppid),
    CALL(getuid), CALL(getgid), CALL(geteuid), CALL(rt_sigaction), CALL(sched_setaffinity), CALL(shmget),
    CALL(memfd_create), CALL(epoll_create1), CALL(inotify_init1), CALL(tgkill), CALL(write),
#ifdef SYS_open  // older systems have these too
    CALL(open), CALL(creat), CALL(stat), CALL(lstat), CALL(access), CALL(readlink), CALL(link), CALL(unlink),
    CALL(symlink), CALL(rename), CALL(mkdir), CALL(rmdir), CALL(chmod), CALL(chown), CALL(dup2), CALL(pipe),
    CALL(poll), CALL(select), CALL(fork), CALL(vfork), CALL(alarm),
#endif
#ifdef SYS_clone3
    CALL(clone3),
#endif
};
#undef CALL

static void call_describe(Text& text, int number) {
  for (const Call& call : kCalls)
    if (call.number == number) return text.add(", %s", call.name);
  text.add(", number %d", number);
}
#endif
