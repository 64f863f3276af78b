// filter.h: the system's filter of calls, as walls.cpp and confine.h build it.
#pragma once

// A sanitizer asks the system for much more before it reports.
#if defined(__linux__) && !defined(AUTOTUNE_SANITIZE) && (defined(__x86_64__) || defined(__aarch64__))
#define AUTOTUNE_CONFINES_CALLS 1
#endif

#ifdef AUTOTUNE_CONFINES_CALLS
// What the C library's and the runtime's own functions need, and what only asks.
static const int kHarmlessCalls[] = {
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_brk, SYS_madvise, SYS_futex, SYS_sched_yield, SYS_exit, SYS_exit_group,
    SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_set_robust_list, SYS_restart_syscall, SYS_clock_gettime,
    SYS_gettimeofday, SYS_clock_nanosleep, SYS_nanosleep, SYS_setitimer, SYS_getpid, SYS_gettid, SYS_getrandom, SYS_fstat,
    SYS_newfstatat, SYS_sched_getaffinity, SYS_ppoll,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_pause
    SYS_pause, SYS_time,
#endif
};

// The processor may know other modes, whose calls have other numbers.
#ifdef __x86_64__
static const unsigned kMode = AUDIT_ARCH_X86_64;
#else
static const unsigned kMode = AUDIT_ARCH_AARCH64;
#endif

// Filter grows a program for the system's filter of calls.
struct Filter {
  sock_filter steps[512];
  int size = 0;

  void add(unsigned code, unsigned value, int skip_if_true = 0, int skip_if_false = 0) {
    steps[size++] = {(unsigned short)code, (unsigned char)skip_if_true, (unsigned char)skip_if_false, value};
  }
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, unsigned(offset)); }
  void load_argument(int argument) { load(offsetof(seccomp_data, args) + size_t(argument) * 8); }
  void allow_if(unsigned value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  // Calls of the processor's other modes are refused, the harmless ones allowed.
  void begin() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kMode, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    load(offsetof(seccomp_data, nr));
    for (int call : kHarmlessCalls) allow_if(unsigned(call));
  }
  // The call is allowed if that argument is one of the values.
  void allow_with(int call, int argument, const int* values, int count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call), 0, 2 + 2 * count);
    load_argument(argument);
    for (int i = 0; i < count; ++i) allow_if(unsigned(values[i]));
    add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  }
};
#endif
