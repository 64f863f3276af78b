// report.h: the line that says how the job ended. Whoever writes it first ends
// the process; it may be called from a signal handler.
#pragma once

// The lines go to descriptor 3 at first, then to one whose number no kernel can
// know. Only the process that took it writes there, not a copy that a kernel forked.
static int result_descriptor = 3;
static pid_t result_owner;

// Moves an open descriptor to a number drawn at random; keeps it if that fails.
static int descriptor_hide(int descriptor) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int hidden = fcntl(descriptor, F_DUPFD_CLOEXEC, 100 + int(now.tv_nsec / 64 % 800));
  if (hidden < 0) return descriptor;
  close(descriptor);
  return hidden;
}

static void report_take() {
#ifdef SYS_close_range
  syscall(SYS_close_range, 4u, ~0u, 0);  // what the parent was given by others
#endif
  result_owner = getpid();
  result_descriptor = descriptor_hide(result_descriptor);
}

struct Text {
  char data[2048];
  int size = 0;

  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int room = int(sizeof data) - size;
    const int n = vsnprintf(data + size, size_t(room), format, arguments);
    va_end(arguments);
    size += n < room ? n : room - 1;
  }

  // "1 element", "2 elements".
  void add_count(long long n, const char* what) { add("%lld %s%s", n, what, n == 1 ? "" : "s"); }
};

static void report_write(const char* line, int size) {
  if (getpid() != result_owner) _exit(1);
  while (size > 0) {
    const ssize_t n = write(result_descriptor, line, size_t(size));
    if (n <= 0) return;
    line += n;
    size -= int(n);
  }
}

// The parent gives each launch its time, and what comes between them.
static void report_launch_begins() { report_write("launch\n", 7); }
static void report_launch_ended() { report_write("rest\n", 5); }

// Adds text as the inside of a JSON string.
static void report_escape(Text& to, const char* text) {
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') to.add("\\%c", *text);
    else if ((unsigned char)*text < 32) to.add(" ");
    else to.add("%c", *text);
  }
}

// The kernel whose launch messages are about; null where there is only one launch.
static const char* report_kernel;

static void report_end(const char* status, const char* message) __attribute__((noreturn));
static void report_end(const char* status, const char* message) {
  static int reported = 0;
  if (__atomic_exchange_n(&reported, 1, __ATOMIC_SEQ_CST) == 0) {
    Text line;
    line.add("{\"status\":\"%s\",\"message\":\"", status);
    if (report_kernel) {
      report_escape(line, report_kernel);
      line.add(": ");
    }
    report_escape(line, message);
    line.add("\"}\n");
    report_write(line.data, line.size);
    _exit(0);
  }
  for (;;) pause();  // another thread is on its way out
}

// What the job itself got wrong; the kernel is not to blame.
static void report_unable(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void report_unable(const char* format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  report_kernel = nullptr;
  report_end("unable", message);
}

// Where the calling machine thread is in the grid.
static void report_place(Text& text) {
  const AutotuneContext& c = autotune_context;
  if (!c.running) return;
  text.add("block (%u,%u,%u), thread (%u,%u,%u)", c.block_index.x, c.block_index.y, c.block_index.z, c.thread_index.x,
           c.thread_index.y, c.thread_index.z);
}
