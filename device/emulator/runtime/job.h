// job.h reads what is to be done from standard input: a word and its values a
// line. Files are named relative to the working directory.
//
//   launch ENTRY GRID BLOCK SHARED CLUSTER COOPERATIVE DEPENDENT NAME   of the launches, in order
//   pass N                         an argument that the launch before takes, by its number
//   pass N W1 ... W7               the same as a tensor map, of these words behind the address
//   workers N                      threads of the machine
//   launch_timeout_ms N
//   checks N MS                    launches verified, and within which time
//   first N                        as the how manieth launch the first counts
//   patience N                     times that, as long as blocks of a launch end
//   warm_up N / samples N / measure_ms X / drop_above_ms X
//   gaps N                         whether to look for what the first launch left out
//   change N                       whether to launch once more, after few of the inputs changed
//   changes SEED                   few of the inputs are drawn by this seed from the beginning; 0: none
//   tensor NAME ROLE TYPE ELEMENTS SEED DISTRIBUTION A B INPUT OUTPUT WORD SPELLING
//   symbol ADDRESS                 where the tensor before is copied to, instead of being passed
//   scalar NAME BITS WORD SPELLING
//
// ENTRY is a number; GRID, BLOCK and CLUSTER are three each, a NAME goes to the end of the line.
// TYPE and DISTRIBUTION are numbers of elements.h. INPUT is a file to take the
// contents from, or - to draw them; OUTPUT is a file to write what launches made
// of a tensor to, or -. A type's WORD is how op.yaml calls it, its SPELLING how CUDA
// C++ does, to the end of the line.
#pragma once

enum Role { kInput, kWeight, kOutput, kInOut, kWorkspace };
static const char* const kRoles[] = {"input", "weight", "output", "inout", "workspace"};

// An argument of the kernel, as messages and the check of its type know it.
struct Argument {
  char name[80];
  char word[16], spelling[32];  // of its type
  bool pointer, write_only;
};

struct Tensor {
  char name[80];
  Role role;
  int type;
  int64_t elements;
  uint32_t seed;
  int distribution;
  double a, b;  // the distribution's numbers
  char input[128], output[128];
  int output_descriptor;  // 0: none

  // See tensors.h.
  char* data;
  char* memory;
  size_t memory_bytes;
  uint64_t checksum;
  char* symbol;          // the variable that it is copied to; null: none
  const char* start;     // what an inout tensor holds before each launch
  const char* saved;     // what the first launch made of it, in the output's file
};

static bool role_filled(Role r) { return r == kInput || r == kWeight || r == kInOut; }
static bool role_read_only(Role r) { return r == kInput || r == kWeight; }
static bool role_compared(Role r) { return r == kOutput || r == kInOut; }

static const int kArguments = 512;  // as many as a launch can pass

struct Job {
  Launch* launches;
  int launch_count;
  int workers;
  long launch_timeout_ms;
  int checks, first, gaps, change;
  unsigned changes;
  long check_ms;
  int patience;
  int warm_up, samples;
  double measure_ms, drop_above_ms;
  Tensor tensors[kArguments];
  int tensor_count;
  int places[kArguments];  // of the tensors among the arguments
  Argument arguments[kArguments];
  void* values[kArguments];  // pointers, and the bits of scalars
  int argument_count;
};

static Job job;

// Messages from here on are about that launch.
static void report_about(const Launch& l) { report_kernel = job.launch_count > 1 ? l.name : nullptr; }

// Reads values as sscanf does, but without the C library's files: %d %u %ld %lld %llu %zu %lf,
// words as %63s, lines as %63[^\n]. A word or a line that is longer is not read.
static int job_scan(const char* text, const char* format, ...) {
  va_list values;
  va_start(values, format);
  int count = 0;
  for (bool fits = true; fits && *format; ++format) {
    if (*format == ' ') continue;
    text += strspn(text, " ");
    if (*format != '%') {
      fits = *text++ == *format;
      continue;
    }
    size_t most = 0;
    for (++format; *format >= '0' && *format <= '9'; ++format) most = most * 10 + size_t(*format - '0');
    const bool wide = *format == 'l' || *format == 'z';
    format += strspn(format, "lz");
    char* end = const_cast<char*>(text);
    if (*format == 'd' || *format == 'u') {
      const unsigned long long bits = *format == 'u' ? strtoull(text, &end, 10) : (unsigned long long)strtoll(text, &end, 10);
      void* const to = va_arg(values, void*);
      if (end > text) memcpy(to, &bits, wide ? 8 : 4);  // the lowest bytes come first
    } else if (*format == 'f') {
      const double number = strtod(text, &end);
      double* const to = va_arg(values, double*);
      if (end > text) *to = number;
    } else {
      const size_t size = *format == 's' ? strcspn(text, " ") : strlen(text);
      char* const to = va_arg(values, char*);
      if (*format == '[') format += 3;  // ^\n]
      if (size <= most) {
        memcpy(to, text, size);
        to[size] = 0;
        end += size;
      }
    }
    fits = end > text;
    count += fits;
    text = end;
  }
  va_end(values);
  return count;
}

static Argument& job_add_argument() {
  if (job.argument_count == kArguments) report_unable("more than %d arguments", kArguments);
  return job.arguments[job.argument_count++];
}

static void job_read_tensor(const char* line) {
  Tensor& t = job.tensors[job.tensor_count];
  job.places[job.tensor_count++] = job.argument_count;
  Argument& a = job_add_argument();
  char role[16];
  long long elements;
  if (job_scan(line, "tensor %79s %15s %d %lld %u %d %lf %lf %127s %127s %15s %31[^\n]", t.name, role, &t.type, &elements, &t.seed, &t.distribution, &t.a, &t.b,
               t.input, t.output, a.word, a.spelling) != 12)
    report_unable("the job's line %s cannot be read", line);
  t.elements = elements;
  int number = 0;
  while (strcmp(role, kRoles[number]) != 0)
    if (++number > kWorkspace) report_unable("there is no role %s", role);
  t.role = Role(number);
  strcpy(a.name, t.name);
  a.pointer = true;
  a.write_only = t.role == kOutput;
}

static void job_read_scalar(const char* line) {
  unsigned long long bits;
  Argument& a = job_add_argument();
  if (job_scan(line, "scalar %79s %llu %15s %31[^\n]", a.name, &bits, a.word, a.spelling) != 4) report_unable("the job's line %s cannot be read", line);
  memcpy(&job.values[job.argument_count - 1], &bits, sizeof bits);
}

// What grows with the job has memory for the next power of two.
template <class T>
static T* job_grow(T* items, int count) {
  if (count & (count - 1)) return items;
  T* grown = static_cast<T*>(realloc(items, sizeof(T) * size_t(count ? 2 * count : 1)));
  if (!grown) report_unable("no memory for the job");
  return grown;
}

static void job_read_launch(const char* line) {
  job.launches = job_grow(job.launches, job.launch_count);
  Launch& l = job.launches[job.launch_count++];
  memset(&l, 0, sizeof l);
  int entry, cooperative, dependent;
  if (job_scan(line, "launch %d %u %u %u %u %u %u %zu %u %u %u %d %d %255[^\n]", &entry, &l.grid.x, &l.grid.y, &l.grid.z, &l.block.x, &l.block.y, &l.block.z,
             &l.shared, &l.cluster.x, &l.cluster.y, &l.cluster.z, &cooperative, &dependent, l.name) != 14)
    report_unable("the job's line %s cannot be read", line);
  if (entry < 0 || entry >= autotune_entry_count) report_unable("the program has no kernel %s", l.name);
  l.entry = &autotune_entries[entry];
  l.cooperative = cooperative != 0;
  l.dependent = dependent != 0;
}

static void job_read_pass(const char* line) {
  if (job.launch_count == 0) report_unable("the job passes arguments to no launch");
  Launch& l = job.launches[job.launch_count - 1];
  l.passed = job_grow(l.passed, l.passed_count);
  Passed& p = l.passed[l.passed_count++];
  memset(&p, 0, sizeof p);
  long long* const w = p.map.words + 1;
  const int read = job_scan(line, "pass %d %lld %lld %lld %lld %lld %lld %lld", &p.argument, w, w + 1, w + 2, w + 3, w + 4, w + 5, w + 6);
  if (read != 1 && read != 8) report_unable("the job's line %s cannot be read", line);
  p.as_map = read == 8;
}

static void job_read_symbol(const char* line) {
  unsigned long long address;
  if (job.tensor_count == 0 || job_scan(line, "symbol %llu", &address) != 1) report_unable("the job's line %s cannot be read", line);
  job.tensors[job.tensor_count - 1].symbol = reinterpret_cast<char*>(uintptr_t(address));
}

static bool job_read_line(const char* line) {
  char word[64];
  if (job_scan(line, "%63s", word) != 1) return true;
  if (strcmp(word, "launch") == 0) return job_read_launch(line), true;
  if (strcmp(word, "pass") == 0) return job_read_pass(line), true;
  if (strcmp(word, "tensor") == 0) return job_read_tensor(line), true;
  if (strcmp(word, "symbol") == 0) return job_read_symbol(line), true;
  if (strcmp(word, "scalar") == 0) return job_read_scalar(line), true;
  return job_scan(line, "workers %d", &job.workers) == 1 ||
         job_scan(line, "launch_timeout_ms %ld", &job.launch_timeout_ms) == 1 ||
         job_scan(line, "checks %d %ld", &job.checks, &job.check_ms) == 2 ||
         job_scan(line, "gaps %d", &job.gaps) == 1 ||
         job_scan(line, "change %d", &job.change) == 1 ||
         job_scan(line, "changes %u", &job.changes) == 1 ||
         job_scan(line, "first %d", &job.first) == 1 ||
         job_scan(line, "patience %d", &job.patience) == 1 ||
         job_scan(line, "warm_up %d", &job.warm_up) == 1 ||
         job_scan(line, "samples %d", &job.samples) == 1 ||
         job_scan(line, "measure_ms %lf", &job.measure_ms) == 1 ||
         job_scan(line, "drop_above_ms %lf", &job.drop_above_ms) == 1;
}

// Takes the next line off the text; null after the last.
static char* job_line(char** text) {
  char* line = *text;
  if (!*line) return nullptr;
  char* end = line + strcspn(line, "\n");
  *text = end + (*end != 0);
  *end = 0;
  return line;
}

// The whole of standard input, with a zero at its end. The C library's files are variables that
// others share; this is memory of the runtime's own.
static char* job_text() {
  size_t size = 0, room = 1 << 16;
  char* text = static_cast<char*>(malloc(room));
  for (;;) {
    if (!text) report_unable("no memory for the job");
    const ssize_t n = read(0, text + size, room - size - 1);
    if (n < 0) report_unable("the job cannot be read");
    if (n == 0) break;
    size += size_t(n);
    if (size + 1 == room) text = static_cast<char*>(realloc(text, room *= 2));
  }
  text[size] = 0;
  return text;
}

static void job_read() {
  char* const text = job_text();
  for (char *rest = text, *line; (line = job_line(&rest));)
    if (!job_read_line(line)) report_unable("the job's line %s cannot be read", line);
  free(text);
  for (int i = 0; i < job.launch_count; ++i)
    for (int k = 0; k < job.launches[i].passed_count; ++k)
      if (job.launches[i].passed[k].argument < 0 || job.launches[i].passed[k].argument >= job.argument_count) report_unable("the job passes an argument that it does not have");
}
