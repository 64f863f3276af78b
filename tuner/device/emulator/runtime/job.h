// job.h reads what is to be done from standard input: a word and its values a
// line. Files are named relative to the working directory.
//
//   grid X Y Z / block X Y Z / shared BYTES
//   workers N                      threads of the machine
//   seed N / distribution NAME     of the input generator
//   tolerance ATOL RTOL
//   launch_timeout_ms N
//   checks N EXACT MS              launches verified, alike, and within which time
//   patience N                     times that, as long as blocks of a launch end
//   warm_up N / samples N / measure_ms X / drop_above_ms X
//   tensor NAME ROLE ELEMENTS SCALE INPUT OUTPUT REFERENCE
//
// INPUT is a file to take the contents from, or - to generate them; OUTPUT is a
// file to write an output to, or -; REFERENCE is one to compare it with, or -.
#pragma once

enum Role { kInput, kWeight, kOutput };

struct Tensor {
  char name[80];
  Role role;
  int64_t elements;
  float scale;
  char input[128], output[128], reference[128];
  int output_descriptor;  // 0: none

  // See tensors.h.
  float* data;
  char* memory;
  size_t memory_bytes;
  uint64_t checksum;
  const float* expected;
};

static const int kTensors = 512;  // as many pointers as a launch can pass

struct Job {
  Launch launch;
  int workers;
  uint32_t seed;
  char distribution[32];
  double atol, rtol;
  long launch_timeout_ms;
  int checks, exact;
  long check_ms;
  int patience;
  int warm_up, samples;
  double measure_ms, drop_above_ms;
  Tensor tensors[kTensors];
  int tensor_count;
  void* arguments[kTensors];
};

static Job job;

static void job_read_tensor(const char* line) {
  if (job.tensor_count == kTensors) report_unable("more than %d tensors", kTensors);
  Tensor& t = job.tensors[job.tensor_count++];
  char role[16];
  long long elements;
  if (sscanf(line, "tensor %79s %15s %lld %f %127s %127s %127s", t.name, role, &elements, &t.scale, t.input, t.output, t.reference) != 7)
    report_unable("the job's line %s cannot be read", line);
  t.elements = elements;
  t.role = strcmp(role, "output") == 0 ? kOutput : strcmp(role, "weight") == 0 ? kWeight : kInput;
}

static bool job_read_line(const char* line) {
  Launch& l = job.launch;
  char word[64];
  if (sscanf(line, "%63s", word) != 1) return true;
  if (strcmp(word, "tensor") == 0) return job_read_tensor(line), true;
  return sscanf(line, "grid %u %u %u", &l.grid.x, &l.grid.y, &l.grid.z) == 3 ||
         sscanf(line, "block %u %u %u", &l.block.x, &l.block.y, &l.block.z) == 3 ||
         sscanf(line, "shared %zu", &l.shared) == 1 ||
         sscanf(line, "workers %d", &job.workers) == 1 ||
         sscanf(line, "seed %u", &job.seed) == 1 ||
         sscanf(line, "distribution %31s", job.distribution) == 1 ||
         sscanf(line, "tolerance %lf %lf", &job.atol, &job.rtol) == 2 ||
         sscanf(line, "launch_timeout_ms %ld", &job.launch_timeout_ms) == 1 ||
         sscanf(line, "checks %d %d %ld", &job.checks, &job.exact, &job.check_ms) == 3 ||
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
  if (job.tensor_count == autotune_parameters) return;
  Text text;
  text.add("the kernel takes ");
  text.add_count(autotune_parameters, "pointer");
  text.add(", the operator has ");
  text.add_count(job.tensor_count, "tensor");
  report_end("launch_error", text.data);
}
