// walls.cpp is a program of its own, which becomes a variant's program. It takes from its
// own process what no kernel needs. So walls stand before a byte of the kernel's file is
// loaded, whatever the file has done to run before the runtime's own filter. What the system
// does not allow is left out.
//
//   walls probe                 says which walls stand
//   walls run filter|none FILE...  runs ./program with the environment that it was given
//
// FILE begins with what may be done with it: r reads it, or all in the folder, w also
// writes it, x also runs it. It has no C library: that would take longer to load than all
// of this takes.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "filter.h"

namespace {

#ifdef __x86_64__
asm(".text\n.globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call walls_main\n");

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = 0;  // prctl looks at it
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return result;
}
#else
asm(".text\n.globl _start\n_start:\n mov x29, #0\n mov x30, #0\n mov x0, sp\n bl walls_main\n");

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = 0;  // prctl looks at it
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
#endif

long address(const void* p) { return long(p); }

void write_text(int to, const char* text) {
  long size = 0;
  while (text[size]) ++size;
  call(SYS_write, to, address(text), size);
}

// --- landlock, whose header is younger than many systems ---

const int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446, kCloseRange = 436;
const uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadFolder = 8, kTruncate = 1 << 14;

// What a version of landlock can refuse: of files, of the network, of other processes.
struct Refused {
  uint64_t files, network, processes;
};
Refused refused;

struct __attribute__((packed)) Rule {
  uint64_t allowed;
  int32_t file;
};

void rule_add(int ruleset, char what, const char* path) {
  const long file = call(SYS_openat, AT_FDCWD, address(path), O_PATH | O_CLOEXEC);
  if (file < 0) return;
  uint64_t allowed = kReadFile;
  if (what == 'w') allowed |= kWriteFile | kTruncate;
  if (what == 'x') allowed |= kExecute;
  const Rule rule = {allowed & refused.files, int32_t(file)};
  call(kAddRule, ruleset, 1, address(&rule));
  call(SYS_close, file);
}

bool landlock(char** files) {
  const long version = call(kCreateRuleset, 0, 0, 1);
  if (version < 1) return false;
  refused.files = (1 << 13) - 1;
  if (version >= 2) refused.files |= 1 << 13;
  if (version >= 3) refused.files |= kTruncate;
  if (version >= 5) refused.files |= 1 << 15;
  if (version >= 4) refused.network = 3;
  if (version >= 6) refused.processes = 3;
  const long ruleset = call(kCreateRuleset, address(&refused), version >= 6 ? 24 : version >= 4 ? 16 : 8);
  if (ruleset < 0) return false;
  for (; *files; ++files) rule_add(int(ruleset), (*files)[0], *files + 1);
  const bool stands = call(kRestrictSelf, ruleset) == 0;
  call(SYS_close, ruleset);
  return stands;
}

// --- calls ---

// What starting a program and the runtime need beyond the harmless calls.
const int kStartingCalls[] = {
    SYS_read, SYS_pread64, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_openat, SYS_faccessat, SYS_readlinkat, SYS_ftruncate, SYS_fcntl,
    SYS_rt_sigaction, SYS_setrlimit, SYS_getrlimit, SYS_prlimit64, SYS_prctl, SYS_seccomp, SYS_set_tid_address, SYS_uname, SYS_sysinfo,
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_fadvise64, SYS_getcwd, kCloseRange, 462 /* mseal */,
#ifdef __x86_64__
    SYS_arch_prctl, SYS_open, SYS_access, SYS_readlink, SYS_stat, SYS_lstat, SYS_poll,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
};

Filter filter;

// Every other call fails. A thread may be started, a process may not: where flags lie in
// memory, a filter does not see them, and the C library goes on with the older call. This
// program is run once, by the address of its name here, which it does not know itself.
bool filter_calls(const char* program) {
  Filter& f = filter;
  f.begin();
  for (int number : kStartingCalls) f.allow_if(unsigned(number));
  const int aborts = SIGABRT;
  f.allow_with(SYS_tgkill, 2, &aborts, 1);
  f.add(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
  f.load_argument(0);
  f.add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
  f.add(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 6);
  f.load_argument(0);
  f.add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(uintptr_t(program)), 0, 3);
  f.load(offsetof(seccomp_data, args) + 4);
  f.add(BPF_JMP | BPF_JEQ | BPF_K, unsigned(uintptr_t(program) >> 32), 0, 1);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
  f.add(BPF_JMP | BPF_JEQ | BPF_K, 435 /* clone3 */, 0, 1);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38);
  f.add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
  const sock_fprog all = {(unsigned short)f.size, f.steps};
  return call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, address(&all)) == 0;
}

bool is(const char* a, const char* b) {
  for (; *a && *a == *b; ++a, ++b) continue;
  return *a == *b;
}

}  // namespace

// The process has its arguments, a null, its environment, a null on its stack.
extern "C" __attribute__((noreturn)) void walls_main(long* stack) {
  const long count = stack[0];
  char** const words = reinterpret_cast<char**>(stack + 1);
  char** const environment = words + count + 1;
  char program[] = "program";
  const bool probes = count > 1 && is(words[1], "probe");
  const bool filters = probes || (count > 2 && is(words[2], "filter"));
  char** const files = words + (probes ? 2 : 3);
  if (!probes && count < 3) call(SYS_exit_group, 2);

  call(kCloseRange, 4, ~0u);
  call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
  const rlimit none = {0, 0};
  call(SYS_setrlimit, RLIMIT_CORE, address(&none));
  // A mount or IPC namespace takes 3 ms at the process's end. The calls that they are about are
  // refused anyway.
  const bool user = call(SYS_unshare, CLONE_NEWUSER) == 0;
  const bool network = call(SYS_unshare, CLONE_NEWNET) == 0;
  call(SYS_prctl, PR_SET_SECUREBITS, 3);  // root without the rights of root, from the next program on
  const bool locks = landlock(files);
  const bool filtered = filters && filter_calls(program);
  if (probes) {
    if (filtered) write_text(1, "system-call filter\n");
    if (locks) write_text(1, "landlock\n");
    if (user) write_text(1, "user\n");
    if (network) write_text(1, "network\n");
    call(SYS_exit_group, 0);
  }
  char* const arguments[] = {program, nullptr};
  call(SYS_execve, address(program), address(arguments), address(environment));
  write_text(2, "the variant's program cannot be run\n");
  for (;;) call(SYS_exit_group, 127);
}
