// confine.h: what a kernel may take and may ask of the system. On a GPU it could
// not start processes, write to descriptors or stop the program that launched
// it; here it could, and so end more than its own trial.
#pragma once

#ifndef AUTOTUNE_RACES
static const size_t kRaceMemory = 0;
#endif

// Memory that a kernel may take beyond what is there when it starts: some for
// itself, and what the stacks of a block's threads take on each core.
static const size_t kKernelBytes = size_t(1) << 30;
static const size_t kWorkerBytes = size_t(256) << 20;

// What blocks that run at once take beyond that.
static size_t confine_groups(int workers) {
  size_t most = 0;
  for (int i = 0; i < job.launch_count; ++i) {
    const Launch& l = job.launches[i];
    const size_t blocks = size_t(l.group_blocks()), threads = blocks * size_t(l.threads());
    if (blocks == 1) continue;
    const size_t bytes = threads * (kStackBytes + kStackColours + sizeof(Thread) + 256) + blocks * (sizeof(Block) + shared_static_bytes() + l.shared + 8192);
    const size_t all = bytes * size_t(l.cooperative ? 1 : workers);
    if (all > most) most = all;
  }
  return most;
}

static void confine_memory(int workers) {
  size_t pages = 0;
  if (FILE* file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%zu", &pages) != 1) pages = 0;
    fclose(file);
  }
  if (pages == 0) return;  // not on every system
  const rlim_t most = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + kKernelBytes + size_t(workers) * kWorkerBytes + confine_groups(workers) + kRaceMemory;
  const rlimit memory = {most, most}, none = {0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
}

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
  void allow_if(unsigned value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  // The call is allowed if that argument is one of the values.
  void allow_with(int call, int argument, const int* values, int count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call), 0, 2 + 2 * count);
    load(offsetof(seccomp_data, args) + size_t(argument) * 8);
    for (int i = 0; i < count; ++i) allow_if(unsigned(values[i]));
    add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  }
};

// Every call but the harmless ones becomes a signal, which faults.h reports; a
// system without the filter goes on without it. Descriptors to write to are
// those of the report and of the outputs, whose numbers no kernel knows, and
// where it prints.
static void confine_calls() {
  int writable[3 + kOutputs] = {1, 2, result_descriptor};
  int count = 3;
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].output_descriptor > 0) writable[count++] = job.tensors[i].output_descriptor;
  const int aborts = SIGABRT;
  Filter f;
  f.load(offsetof(seccomp_data, arch));
  f.add(BPF_JMP | BPF_JEQ | BPF_K, kMode, 1, 0);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  f.load(offsetof(seccomp_data, nr));
  for (int call : kHarmlessCalls) f.allow_if(unsigned(call));
  f.allow_with(SYS_write, 0, writable, count);
  f.allow_with(SYS_tgkill, 2, &aborts, 1);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const sock_fprog program = {(unsigned short)f.size, f.steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
#else
static void confine_calls() {}
#endif

// From here on the process runs the kernel and what is needed to judge it.
static void confine() {
  confine_memory(job.workers);
  confine_calls();
}
