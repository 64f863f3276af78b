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

// The first number of a file of the system's: the pages that the process has.
static size_t pages_now() {
  char text[32];
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t read_bytes = file < 0 ? 0 : read(file, text, sizeof text);
  if (file >= 0) close(file);
  size_t pages = 0;
  for (ssize_t i = 0; i < read_bytes && text[i] >= '0' && text[i] <= '9'; ++i) pages = pages * 10 + size_t(text[i] - '0');
  return pages;
}

static void confine_memory(int workers) {
  const size_t pages = pages_now();
  if (pages == 0) return;  // not on every system
  const rlim_t most = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + kKernelBytes + size_t(workers) * kWorkerBytes + confine_groups(workers) + kRaceMemory;
  const rlimit memory = {most, most};
  setrlimit(RLIMIT_AS, &memory);
}

// All threads run, and an output's file has room for what two launches made (compare.h).
static void confine_more() {
  size_t most = 0;
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].output_descriptor > 0 && tensor_bytes(job.tensors[i]) > most) most = tensor_bytes(job.tensors[i]);
  const rlimit none = {0, 0}, file = {2 * most, 2 * most};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_NPROC, &none);
  setrlimit(RLIMIT_FSIZE, &file);
}

#ifdef AUTOTUNE_CONFINES_CALLS
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
  f.begin();
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
  confine_more();
  confine_calls();
}
