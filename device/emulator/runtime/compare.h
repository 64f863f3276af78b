// compare.h: what a kernel that makes files left out of its outputs. What a variant makes is
// compared with the reference's by the parent, when this process has ended: here a kernel could find
// what is right and copy it.
#pragma once

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
    if (element_bits(t.saved, u64(i), t.type) != poison) continue;
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
