// cooperative_groups/reduce.h: what the threads of a tile have, put together.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class Combine>
inline T reduce(const Group& g, T value, Combine combine) {
  for (unsigned bits = g.size() / 2; bits > 0; bits /= 2) value = combine(value, g.shfl_xor(value, bits));
  return value;
}

}  // namespace cooperative_groups
