// main.h: verify, then time, then look at what the timed launches wrote. Where the
// operator has several launches, one launch here is all of them in their order. The
// verifying launch is the first; a kernel so slow that it alone spends the
// measuring time is not run again.
#pragma once

struct Outcome {
  const char* status = "ok";
  Text message;
  Text when;         // of a wrong result: after which launches
  int launches = 0;  // verified
  Gaps gaps[kOutputs];  // of outputs that are kept
  int gap_count = 0;
  Comparison wrong;  // the first output that differs, when there is one
  double max_error = 0;
  double verify_ms = 0, measure_ms = 0;
  double samples[256];
  int sample_count = 0;
  bool dropped = false;
};

// Runs all launches, each within its time, and returns the milliseconds they took.
static double launches_guarded() {
  tensors_restore();
  double ms = 0;
  for (int i = 0; i < job.launch_count; ++i) {
    report_about(job.launches[i]);
    report_launch_begins();
    faults_deadline(job.launch_timeout_ms);
    ms += launch_run(job.launches[i]);
    faults_deadline(0);
    report_launch_ended();
  }
  report_kernel = nullptr;
  return ms;
}

static void verify_memory(Outcome& o) {
  for (int i = 0; i < job.tensor_count && !o.message.size; ++i) {
    const Tensor& t = job.tensors[i];
    int64_t where;
    if (tensor_guard_broken(t, &where)) {
      const long long by = where < 0 ? -(long long)where : (long long)where + 1;
      o.message.add("wrote ");
      o.message.add_count(by, "element");
      o.message.add(" %s of %s", where < 0 ? "before the start" : "past the end", t.name);
    } else if (role_read_only(t.role) && t.elements > 0 && tensor_checksum(t) != t.checksum) {
      o.message.add("wrote to %s, which is an input", t.name);
    } else if (t.symbol && t.elements > 0 && memcmp(t.symbol, t.data, tensor_bytes(t)) != 0) {
      o.message.add("wrote to the constant memory that holds %s", t.name);
    }
  }
  if (o.message.size) o.status = "wrong_result";
}

// Keeps what the first launch made, and looks for what it left out.
static void verify_kept(Outcome& o, const Tensor& t) {
  if (o.launches > 0) return;
  tensor_save(t);
  if (t.role == kOutput) o.gaps[o.gap_count++] = gaps(t);
}

static void verify_outputs(Outcome& o) {
  o.wrong.wrong = 0;
  for (int i = 0; i < job.tensor_count; ++i) {
    const Tensor& t = job.tensors[i];
    if (t.output_descriptor > 0) verify_kept(o, t);
    else if (t.expected) {
      const Comparison c = compare(t);
      if (c.max_error > o.max_error) o.max_error = c.max_error;
      if (c.wrong == 0 || o.wrong.wrong > 0) continue;
      o.wrong = c;
      o.status = "wrong_result";
    }
  }
}

// Launches once more where integers may be the poison by right.
static void verify_gaps(Outcome& o) {
  bool doubtful = false;
  for (int i = 0; i < o.gap_count; ++i) doubtful = doubtful || (o.gaps[i].unwritten > 0 && !element_floating(o.gaps[i].tensor->type));
  if (!doubtful) return;
  tensors_ready(kZeroed);
  launches_guarded();
  for (int i = 0; i < o.gap_count; ++i) o.gaps[i] = gaps(*o.gaps[i].tensor);
}

static bool ok(const Outcome& o) { return strcmp(o.status, "ok") == 0; }

static void verify(Outcome& o) {
  verify_memory(o);
  if (!o.message.size) verify_outputs(o);
}

static double milliseconds_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

// Launches the kernel as often as asked, each time on other outputs and under
// another schedule, and looks at everything after each launch. Tells what the first took.
static double verify_launches(Outcome& o) {
  const double start = milliseconds_now();
  double first_ms = 0;
  uint64_t first_bits = 0;
  while (o.launches < job.checks && ok(o)) {
    if (o.launches > 0 && job.check_ms > 0 && milliseconds_now() - start > double(job.check_ms)) break;
    tensors_ready(Preparation((job.first + o.launches) % kPreparations));
    schedule_number = unsigned(job.first + o.launches);
    const double ms = launches_guarded();
    verify(o);
    if (o.launches++ == 0) {
      first_ms = ms;
      if (ok(o)) verify_gaps(o);
      if (job.exact) first_bits = tensors_outputs();
    } else if (job.exact && ok(o) && tensors_outputs() != first_bits) {
      o.status = "wrong_result";
      o.message.add("its output is not, bit for bit, that of the first launch");
    }
    schedule_number = 0;
    if (!ok(o) && job.checks > 1) o.when.add("launch %d of %d: ", o.launches, job.checks);
  }
  return first_ms;
}

static void measure(Outcome& o, double first_ms) {
  if (job.samples <= 0) return;
  if (first_ms >= job.measure_ms) {
    o.samples[o.sample_count++] = first_ms;
    return;
  }
  for (int i = 1; i < job.warm_up; ++i) launches_guarded();
  double spent = 0, best = 1e300;
  while (o.sample_count < job.samples && o.sample_count < 256 && (o.sample_count == 0 || spent < job.measure_ms)) {
    const double ms = launches_guarded();
    o.samples[o.sample_count++] = ms;
    spent += ms;
    if (ms < best) best = ms;
    if (job.drop_above_ms > 0 && o.sample_count == 3 && best > job.drop_above_ms) {
      o.dropped = true;
      break;
    }
  }
  verify(o);
  if (!ok(o)) o.when.add("after the timed launches: ");
}

static void outcome_write(const Outcome& o) {
  static char line[64 * 1024];
  int n = 0;
  auto add = [&](const char* format, auto... values) { n += snprintf(line + n, sizeof line - size_t(n), format, values...); };
  add("{\"status\":\"%s\",\"message\":\"%s\",\"max_abs_error\":%.9g", o.status, o.message.size ? o.message.data : "", o.max_error);
  add(",\"phases\":{\"verify_ms\":%.4f,\"measure_ms\":%.4f},\"dropped\":%s", o.verify_ms, o.measure_ms, o.dropped ? "true" : "false");
  add(",\"when\":\"%s\",\"launches\":%d", o.when.size ? o.when.data : "", o.launches);
  size_t dynamic = 0;
  for (int i = 0; i < job.launch_count; ++i)
    if (job.launches[i].shared > dynamic) dynamic = job.launches[i].shared;
  add(",\"resources\":{\"shared_bytes\":%zu}", shared_static_bytes() + dynamic);
  if (o.wrong.wrong > 0) {
    const Tensor& t = *o.wrong.tensor;
    char got[40], want[40];
    element_text(got, t.data, o.wrong.first, t.type);
    element_text(want, t.expected, o.wrong.first, t.type);
    add(",\"wrong\":{\"tensor\":\"%s\",\"count\":%lld,\"index\":%lld,\"got\":\"%s\",\"want\":\"%s\"}", t.name, (long long)o.wrong.wrong,
        (long long)o.wrong.first, got, want);
  }
  add(",\"gaps\":[");
  for (int i = 0; i < o.gap_count; ++i) {
    const Gaps& g = o.gaps[i];
    add("%s{\"tensor\":\"%s\",\"unwritten\":%lld,\"first\":%lld,\"nan\":%lld}", i ? "," : "", g.tensor->name, (long long)g.unwritten,
        (long long)g.first_unwritten, (long long)g.nan);
  }
  add("]");
  add(",\"samples_ms\":[");
  for (int i = 0; i < o.sample_count; ++i) add("%s%.6f", i ? "," : "", o.samples[i]);
  add("]");
#ifdef AUTOTUNE_RACES
  Text looked;
  race_looked(looked);
  add(",%s", looked.data);
#endif
  add("}\n");
  report_write(line, n);
}

// The linker is told that this initialises the program, in place of what the section
// .init holds: assembly in a kernel's file could add to that.
extern "C" void autotune_init() {}

int main() {
  report_take();
  job_read();
  parameters_check();
#if defined(AUTOTUNE_SANITIZE) || defined(AUTOTUNE_RACES)
  job.workers = 1;  // shared variables exist once (see the shim's keywords.h), and so do the cells of race_clocks.h
#endif
  faults_catch();
#ifdef __GLIBC__
  // A thread's first malloc makes an arena, and reads the number of processors from a
  // file to know how many there may be: the filter would take that for the kernel's.
  mallopt(M_ARENA_MAX, 1);
#endif
  pool_start(job.workers);
  static Outcome o;
  const double start = milliseconds_now();
  tensors_prepare();
  launches_prepare();
  races_prepare();
  confine();
  const double first_ms = verify_launches(o);
  const double middle = milliseconds_now();
  if (ok(o)) measure(o, first_ms);
  o.verify_ms = middle - start;
  o.measure_ms = milliseconds_now() - middle;
  outcome_write(o);
  _exit(0);
}
