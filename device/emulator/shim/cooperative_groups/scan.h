// cooperative_groups/scan.h: what the threads of a tile up to this one have, put
// together.
#pragma once
#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

template <class Group, class T, class Combine>
inline T inclusive_scan(const Group& g, T value, Combine combine) {
  for (unsigned delta = 1; delta < g.size(); delta *= 2) {
    const T before = g.shfl_up(value, delta);
    if (g.thread_rank() >= delta) value = combine(before, value);
  }
  return value;
}
template <class Group, class T> inline T inclusive_scan(const Group& g, T value) { return inclusive_scan(g, value, plus<T>()); }

// The first thread's result is zero, as in CUDA for sums.
template <class Group, class T, class Combine>
inline T exclusive_scan(const Group& g, T value, Combine combine) {
  const T before = g.shfl_up(inclusive_scan(g, value, combine), 1);
  return g.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> inline T exclusive_scan(const Group& g, T value) { return exclusive_scan(g, value, plus<T>()); }

}  // namespace cooperative_groups
