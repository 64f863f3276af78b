// faults.h: what to say when a kernel is killed for what it did, or does not end.
#pragma once

// Says which array an address belongs to, or is nearest to.
static void fault_describe(Text& text, uintptr_t address) {
  const char* name = nullptr;
  uintptr_t start = 0, end = 0, best = 1 << 24;  // farther away, nothing is near
  auto consider = [&](const char* candidate, const void* data, size_t bytes) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(data), last = first + bytes;
    if (!data) return;
    const uintptr_t distance = address < first ? first - address : address >= last ? address - last : 0;
    if (distance >= best) return;
    best = distance;
    name = candidate;
    start = first;
    end = last;
  };
  for (int i = 0; i < job.tensor_count; ++i) consider(job.tensors[i].name, job.tensors[i].data, tensor_bytes(job.tensors[i]));
  if (const Worker* w = worker())
    if (w->block) consider("the dynamic shared memory", w->block->dynamic_shared, w->block->dynamic_bytes);
  if (address < 4096) text.add("at a null pointer");
  else if (!name) text.add("at %p, far from every tensor", reinterpret_cast<void*>(address));
  else if (address < start || address >= end) {
    text.add_count((long long)(address < start ? start - address : address - end), "byte");
    text.add(" %s of %s", address < start ? "before the start" : "past the end", name);
  } else text.add("at byte %zu of %s", size_t(address - start), name);
}

static void fault_place(Text& text) {
  if (!autotune_context.running) return;
  text.add(", ");
  report_place(text);
}

extern "C" void autotune_assert(const char* what, const char* file, int line) {
  Text text;
  text.add("%s:%d: assertion failed: %s", file, line, what);
  fault_place(text);
  report_end("crashed", text.data);
}

// What assert calls after <cassert>.
extern "C" void __assert_fail(const char* what, const char* file, unsigned line, const char*) noexcept { autotune_assert(what, file, int(line)); }

extern "C" void autotune_trap() {
  Text text;
  text.add("the kernel trapped");
  fault_place(text);
  report_end("crashed", text.data);
}

static void faults_deadline(long ms);

// A launch whose time is over gets it again as long as it is getting on: the
// plainest kernel is not the fastest.
static bool launch_goes_on() {
  static uint64_t round = 0;
  static int64_t seen = 0;
  static int times = 1;
  if (round != pool.round) seen = pool.threads * pool.chunk;  // what the threads took first
  round = pool.round;
  const int64_t now = __atomic_load_n(&pool.next, __ATOMIC_RELAXED);
  if (now <= seen || ++times > job.patience) return false;
  seen = now;
  report_launch_begins();
  faults_deadline(job.launch_timeout_ms);
  return true;
}

static void fault_signal(int number, siginfo_t* info, void*) {
  Text text;
  switch (number) {
    case SIGALRM:
      if (launch_goes_on()) return;
      if (job.patience > 1) text.add("no block of the launch ended within %ld ms", job.launch_timeout_ms);
      else text.add("the launch ran longer than %ld ms", job.launch_timeout_ms);
      report_end("timeout", text.data);
#ifdef SIGSYS
    case SIGSYS:
      text.add("the kernel called the operating system, which no kernel can on a GPU");
      call_describe(text, info);
      break;
#endif
    case SIGFPE: text.add("integer division by zero"); break;
    case SIGILL: text.add("illegal instruction"); break;
    case SIGABRT: text.add("aborted"); break;
    default:
      text.add("illegal address, ");
      // The kernel does not tell addresses that no pointer can hold.
      if (info->si_code == SI_KERNEL) text.add("far from every tensor");
      else fault_describe(text, reinterpret_cast<uintptr_t>(info->si_addr));
  }
  fault_place(text);
  report_end("crashed", text.data);
}

// A handler needs a stack of its own: the kernel's may be what overflowed.
static void faults_stack() {
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_size = 64 * 1024;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
}

static void faults_catch() {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = fault_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
#ifndef AUTOTUNE_SANITIZE
  faults_stack();
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
  for (int number : faults) sigaction(number, &action, nullptr);
#endif
}

// Within the milliseconds given the launch must end; 0 takes the limit away.
static void faults_deadline(long ms) {
  itimerval timer;
  memset(&timer, 0, sizeof timer);
  timer.it_value.tv_sec = ms / 1000;
  timer.it_value.tv_usec = (ms % 1000) * 1000;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

#ifdef AUTOTUNE_SANITIZE
// The sanitizers call these before they print their report, which the parent
// reads: they add what only we know, the tensor and the thread.
extern "C" void* __asan_get_report_address();

static void fault_note(uintptr_t address) {
  Text text;
  text.add("autotune-fault: ");
  if (address) fault_describe(text, address);
  fault_place(text);
  text.add("\n");
  (void)!write(2, text.data, size_t(text.size));  // a kernel may have put another file in the place of stderr
}

extern "C" void __asan_on_error() { fault_note(reinterpret_cast<uintptr_t>(__asan_get_report_address())); }

extern "C" void __ubsan_get_current_report_data(const char** kind, const char** message, const char** file, unsigned* line,
                                                unsigned* column, char** address) __attribute__((weak));
extern "C" void __ubsan_on_report() {
  const char *kind, *message, *file;
  unsigned line, column;
  char* address = nullptr;
  if (!__ubsan_get_current_report_data) return fault_note(0);
  __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
  // The address is only in the text: "... misaligned address 0x6060 for type ...".
  const char* hex = message ? strstr(message, "address 0x") : nullptr;
  fault_note(hex ? strtoull(hex + 8, nullptr, 16) : reinterpret_cast<uintptr_t>(address));
}
#endif
