// compare.h: the output against the reference's, element by element; and what the
// reference itself left out.
#pragma once

struct Comparison {
  const Tensor* tensor;
  double max_error;    // of elements where both are finite
  int64_t wrong;       // how many are out of tolerance
  int64_t first;       // index of the first of them
  pthread_mutex_t mutex;
};

static inline bool compare_one(float got, float want, double* error) {
  *error = 0;
  if (want != want) return got != got;  // only where the reference has a NaN may there be one
  if (got == want) return true;         // infinities as well
  if (!isfinite(got) || !isfinite(want)) return false;
  *error = fabs(double(got) - double(want));
  return *error <= job.atol + job.rtol * fabs(double(want));
}

static void compare_part(void* data, int64_t first, int64_t last) {
  Comparison* c = static_cast<Comparison*>(data);
  const float *got = c->tensor->data, *want = c->tensor->expected;
  double max_error = 0;
  int64_t wrong = 0, first_wrong = INT64_MAX;
  for (int64_t i = first; i < last; ++i) {
    double error;
    const bool right = compare_one(got[i], want[i], &error);
    if (error > max_error) max_error = error;
    if (right) continue;
    if (wrong++ == 0) first_wrong = i;
  }
  pthread_mutex_lock(&c->mutex);
  if (max_error > c->max_error) c->max_error = max_error;
  c->wrong += wrong;
  if (first_wrong < c->first) c->first = first_wrong;
  pthread_mutex_unlock(&c->mutex);
}

static Comparison compare(const Tensor& t) {
  Comparison c = {&t, 0, 0, INT64_MAX, PTHREAD_MUTEX_INITIALIZER};
  pool_run(t.elements, kChunk, compare_part, &c);
  return c;
}

// What a kernel left of the poison, and how much of its output is NaN.
struct Gaps {
  const Tensor* tensor;
  int64_t unwritten, first_unwritten, nan;
  pthread_mutex_t mutex;
};

static void gaps_part(void* data, int64_t first, int64_t last) {
  Gaps* g = static_cast<Gaps*>(data);
  const uint32_t* bits = reinterpret_cast<const uint32_t*>(g->tensor->data);
  int64_t unwritten = 0, first_unwritten = INT64_MAX, nan = 0;
  for (int64_t i = first; i < last; ++i) {
    nan += (bits[i] & 0x7fffffffu) > 0x7f800000u;
    if (bits[i] == kPoison && unwritten++ == 0) first_unwritten = i;
  }
  pthread_mutex_lock(&g->mutex);
  g->unwritten += unwritten;
  g->nan += nan;
  if (first_unwritten < g->first_unwritten) g->first_unwritten = first_unwritten;
  pthread_mutex_unlock(&g->mutex);
}

static Gaps gaps(const Tensor& t) {
  Gaps g = {&t, 0, INT64_MAX, 0, PTHREAD_MUTEX_INITIALIZER};
  pool_run(t.elements, kChunk, gaps_part, &g);
  return g;
}
