// main.h: launch once, then time, then look at what the timed launches wrote. What the first
// launch made, and another one that made something else, is left in files, for the parent to
// compare. Where the operator has several launches, one launch here is all of them in their
// order. A kernel so slow that the first alone spends the measuring time is not run again.
#pragma once

struct Outcome {
  const char* status = "ok";
  Text message;
  Text when;         // after which launches it was wrong, or made something else than the first
  int launches = 0;  // verified
  int saves = 0;     // that the outputs' files have: of the first launch, and of one that made something else
  uint64_t first_bits = 0;
  uint32_t changes = 0;  // by which few of the inputs changed; 0: they did not
  Gaps gaps[kOutputs];
  int gap_count = 0;
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

// Keeps what a launch made in the outputs' files, unless that is what the first one made. Tells
// whether it made something else.
static bool outputs_keep(Outcome& o) {
  const uint64_t bits = tensors_outputs();
  if (o.saves > 0 && bits == o.first_bits) return false;
  if (o.saves == 0) o.first_bits = bits;
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].output_descriptor > 0) tensor_save(job.tensors[i]);
  return ++o.saves > 1;
}

// Looks for what the first launch left out.
static void verify_written(Outcome& o) {
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].output_descriptor > 0 && job.tensors[i].role == kOutput) o.gaps[o.gap_count++] = gaps(job.tensors[i]);
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

static double milliseconds_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

static double milliseconds_now() { return milliseconds_of(CLOCK_MONOTONIC); }

// What all threads together have had.
static double processor_milliseconds() { return milliseconds_of(CLOCK_PROCESS_CPUTIME_ID); }

// Launches the kernel as often as asked, each time on other outputs and under
// another schedule, and looks at everything after each launch. Tells what the first took.
static double verify_launches(Outcome& o) {
  const double start = milliseconds_now();
  double first_ms = 0;
  bool other = false;  // than the first launch made
  while (o.launches < job.checks && ok(o) && !other) {
    if (o.launches > 0 && job.check_ms > 0 && milliseconds_now() - start > double(job.check_ms)) break;
    tensors_ready(Preparation((job.first + o.launches) % kPreparations));
    schedule_number = unsigned(job.first + o.launches);
    const double ms = launches_guarded();
    verify_memory(o);
    other = ok(o) && outputs_keep(o);
    if (o.launches++ == 0) {
      first_ms = ms;
      if (ok(o) && job.gaps) {
        verify_written(o);
        verify_gaps(o);
      }
    }
    schedule_number = 0;
    if ((!ok(o) || other) && job.checks > 1) o.when.add("launch %d of %d: ", job.first + o.launches, job.first + job.checks);
  }
  return first_ms;
}

// Launches once more after few of the inputs changed: the kernel must not take what it made of those
// before.
static void verify_changed(Outcome& o) {
  o.changes = tensors_change(false);
  tensors_ready(kPoisoned);
  launches_guarded();
  verify_memory(o);
  if (ok(o)) outputs_keep(o);
}

// All timed launches have the same inputs, and find the right outputs. A kernel that looks at these
// first, or keeps its results, is slow only where nothing of its work is done: with new inputs, and
// poisoned outputs. Such a launch may take three times what one takes that repeats it, and a
// millisecond more. The processors' time counts, since others may keep them busy.
static void measure_anew(Outcome& o) {
  double anew = 0, again = 0;
  for (int i = 0; i < 3; ++i) {
    tensors_change(true);
    tensors_ready(kPoisoned);
    const double begin = processor_milliseconds();
    launches_guarded();
    const double middle = processor_milliseconds();
    launches_guarded();
    anew = middle - begin;
    again = processor_milliseconds() - middle;
    if (anew <= 3 * again + 1) return;
  }
  o.status = "wrong_result";
  o.message.add("a launch with new inputs and poisoned outputs takes %.3g ms of the processors, one that repeats it %.3g ms: "
                "the kernel leaves out work whose results are there already", anew, again);
}

static void measure(Outcome& o, double first_ms) {
  if (job.samples <= 0) return;
  if (first_ms >= job.measure_ms) {
    o.samples[o.sample_count++] = first_ms;
    return;
  }
  tensors_ready(kPoisoned);  // what the launches from here on do not write is missing at the end
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
  verify_memory(o);
  if (ok(o)) outputs_keep(o);
  if (!ok(o) || o.saves > 1) o.when.add("after the timed launches: ");
#ifndef AUTOTUNE_SANITIZE
  else if (!o.dropped) measure_anew(o);
#endif
}

static void outcome_write(const Outcome& o) {
  static char line[64 * 1024];
  int n = 0;
  auto add = [&](const char* format, auto... values) { n += snprintf(line + n, sizeof line - size_t(n), format, values...); };
  add("{\"status\":\"%s\",\"message\":\"%s\",\"saves\":%d,\"changes\":%u", o.status, o.message.size ? o.message.data : "", o.saves, o.changes);
  add(",\"phases\":{\"verify_ms\":%.4f,\"measure_ms\":%.4f},\"dropped\":%s", o.verify_ms, o.measure_ms, o.dropped ? "true" : "false");
  add(",\"when\":\"%s\",\"launches\":%d", o.when.size ? o.when.data : "", o.launches);
  size_t dynamic = 0;
  for (int i = 0; i < job.launch_count; ++i)
    if (job.launches[i].shared > dynamic) dynamic = job.launches[i].shared;
  add(",\"resources\":{\"shared_bytes\":%zu}", shared_static_bytes() + dynamic);
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

static void job_run() {
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
  if (ok(o) && job.change) verify_changed(o);
  if (ok(o)) measure(o, first_ms);
  o.verify_ms = middle - start;
  o.measure_ms = milliseconds_now() - middle;
  outcome_write(o);
  _exit(0);
}
