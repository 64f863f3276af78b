// compare.h: what a launch made against the reference's, element by element; and
// what the reference itself left out.
#pragma once

struct Comparison {
  const Tensor* tensor;
  double max_error;    // of elements where both are finite
  int64_t wrong;       // how many are out of tolerance
  int64_t first;       // index of the first of them
  pthread_mutex_t mutex;
};

static void compare_part(void* data, int64_t first, int64_t last) {
  Comparison* c = static_cast<Comparison*>(data);
  const Tensor t = *c->tensor;
  double max_error = 0;
  int64_t wrong = 0, first_wrong = INT64_MAX;
  auto look = [&](int type) __attribute__((always_inline)) {
    for (int64_t i = first; i < last; ++i) {
      double error;
      const bool right = element_close(t.data, t.expected, u64(i), type, t.atol, t.rtol, &error);
      if (error > max_error) max_error = error;
      if (right) continue;
      if (wrong++ == 0) first_wrong = i;
    }
  };
  if (t.type == F32) look(F32);
  else look(t.type);
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

// An element in a message. A NaN's sign means nothing to a reader.
static void element_text(char (&text)[40], const void* data, int64_t i, int type) {
  if (element_floating(type)) {
    const double x = element_load(data, u64(i), type);
    snprintf(text, sizeof text, type == F64 ? "%.17g" : "%.9g", x != x ? __builtin_nan("") : x);
  } else {
    snprintf(text, sizeof text, type == U64 ? "%llu" : "%lld", element_integer(data, u64(i), type));
  }
}

// How much of an output a kernel left as it was, and how much of it is NaN.
struct Gaps {
  const Tensor* tensor;
  int64_t unwritten, first_unwritten, nan;
  pthread_mutex_t mutex;
};

// What is not a number, or no truth value, was never written where it is still
// there. Integers may be the poison by right: they are so in a second launch too,
// on zeros, after the first one's result was saved.
static void gaps_part(void* data, int64_t first, int64_t last) {
  Gaps* g = static_cast<Gaps*>(data);
  const Tensor& t = *g->tensor;
  const u64 poison = element_poison(t.type);
  int64_t unwritten = 0, first_unwritten = INT64_MAX, nan = 0;
  for (int64_t i = first; i < last; ++i) {
    if (element_floating(t.type)) {
      const double x = element_load(t.data, u64(i), t.type);
      nan += x != x;
    }
    if (element_bits(t.expected, u64(i), t.type) != poison) continue;
    if (guard_large && element_bits(t.data, u64(i), t.type) == poison) continue;
    if (unwritten++ == 0) first_unwritten = i;
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
