// job.h reads what is to be done from standard input: a word and its values a
// line. Files are named relative to the working directory.
//
//   grid X Y Z / block X Y Z / shared BYTES
//   workers N                      threads of the machine
//   launch_timeout_ms N
//   checks N EXACT MS              launches verified, alike, and within which time
//   first N                        as the how manieth launch the first counts
//   patience N                     times that, as long as blocks of a launch end
//   warm_up N / samples N / measure_ms X / drop_above_ms X
//   tensor NAME ROLE TYPE ELEMENTS ATOL RTOL SEED DISTRIBUTION A B INPUT OUTPUT REFERENCE WORD SPELLING
//   scalar NAME BITS WORD SPELLING
//
// TYPE and DISTRIBUTION are numbers of elements.h. INPUT is a file to take the
// contents from, or - to draw them; OUTPUT is a file to write what a launch made
// of a tensor to, or -; REFERENCE is one to compare it with, or -. A type's WORD is
// how op.yaml calls it, its SPELLING how CUDA C++ does, to the end of the line.
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
  double atol, rtol;
  uint32_t seed;
  int distribution;
  double a, b;  // the distribution's numbers
  char input[128], output[128], reference[128];
  int output_descriptor;  // 0: none

  // See tensors.h.
  char* data;
  char* memory;
  size_t memory_bytes;
  uint64_t checksum;
  const char* start;     // what an inout tensor holds before each launch
  const char* expected;  // what it must be then, or what the first launch made of it
};

static bool role_filled(Role r) { return r == kInput || r == kWeight || r == kInOut; }
static bool role_read_only(Role r) { return r == kInput || r == kWeight; }
static bool role_compared(Role r) { return r == kOutput || r == kInOut; }

static const int kArguments = 512;  // as many as a launch can pass

struct Job {
  Launch launch;
  int workers;
  long launch_timeout_ms;
  int checks, exact, first;
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
  if (sscanf(line, "tensor %79s %15s %d %lld %lf %lf %u %d %lf %lf %127s %127s %127s %15s %31[^\n]", t.name, role, &t.type, &elements, &t.atol, &t.rtol,
             &t.seed, &t.distribution, &t.a, &t.b, t.input, t.output, t.reference, a.word, a.spelling) != 15)
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
  if (sscanf(line, "scalar %79s %llu %15s %31[^\n]", a.name, &bits, a.word, a.spelling) != 4) report_unable("the job's line %s cannot be read", line);
  memcpy(&job.values[job.argument_count - 1], &bits, sizeof bits);
}

static bool job_read_line(const char* line) {
  Launch& l = job.launch;
  char word[64];
  if (sscanf(line, "%63s", word) != 1) return true;
  if (strcmp(word, "tensor") == 0) return job_read_tensor(line), true;
  if (strcmp(word, "scalar") == 0) return job_read_scalar(line), true;
  return sscanf(line, "grid %u %u %u", &l.grid.x, &l.grid.y, &l.grid.z) == 3 ||
         sscanf(line, "block %u %u %u", &l.block.x, &l.block.y, &l.block.z) == 3 ||
         sscanf(line, "shared %zu", &l.shared) == 1 ||
         sscanf(line, "workers %d", &job.workers) == 1 ||
         sscanf(line, "launch_timeout_ms %ld", &job.launch_timeout_ms) == 1 ||
         sscanf(line, "checks %d %d %ld", &job.checks, &job.exact, &job.check_ms) == 3 ||
         sscanf(line, "first %d", &job.first) == 1 ||
         sscanf(line, "patience %d", &job.patience) == 1 ||
         sscanf(line, "warm_up %d", &job.warm_up) == 1 ||
         sscanf(line, "samples %d", &job.samples) == 1 ||
         sscanf(line, "measure_ms %lf", &job.measure_ms) == 1 ||
         sscanf(line, "drop_above_ms %lf", &job.drop_above_ms) == 1;
}

static void job_read() {
  char line[1024];
  while (fgets(line, sizeof line, stdin))
    if (!job_read_line(line)) report_unable("the job's line %s cannot be read", line);
}
