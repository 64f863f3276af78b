// warps.h: what the lanes of a warp do together.
//
// Every operation is one meeting: each lane of the mask comes with a pointer to
// what it brings, and the lane that comes last does the work for all of them.
// The tensor-core helpers in emulated/ use the same meeting.
#pragma once

extern "C" {
typedef void (*AutotuneWarpWork)(void** lanes, unsigned members);
// Meets the lanes of the mask that have not exited; all must come to the same
// operation, with the same mask. lanes[i] is what lane i brought, for i in members.
void autotune_warp_meet(unsigned mask, const char* operation, void* brought, AutotuneWarpWork work);
// The lanes of this warp that have not exited.
unsigned autotune_warp_alive();
// Where the running thread keeps the products that it started (emulated/wgmma.cuh): that many bytes, zeros at first.
void* autotune_products(unsigned long bytes);
// Comes back when no other thread of the block can go on.
void autotune_products_wait();
}

struct AutotuneShuffle {
  unsigned long long value, result;
  int source;
};

inline void autotune_shuffle_work(void** lanes, unsigned members) {
  for (int lane = 0; lane < 32; ++lane) {
    if (!((members >> lane) & 1u)) continue;
    AutotuneShuffle* mine = static_cast<AutotuneShuffle*>(lanes[lane]);
    // What an absent lane holds is undefined: a NaN shows that it was used.
    mine->result = ((members >> mine->source) & 1u) ? static_cast<AutotuneShuffle*>(lanes[mine->source])->value : ~0ull;
  }
}

template <class T>
inline T autotune_shuffle(unsigned mask, const char* operation, T value, int source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 64 bits");
  AutotuneShuffle exchange = {0, 0, source};
  __builtin_memcpy(&exchange.value, &value, sizeof value);
  autotune_warp_meet(mask, operation, &exchange, autotune_shuffle_work);
  T result;
  __builtin_memcpy(&result, &exchange.result, sizeof result);
  return result;
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = autotune_lane();
  return autotune_shuffle(mask, "__shfl_sync", value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = autotune_lane(), source = lane - int(delta);
  return autotune_shuffle(mask, "__shfl_up_sync", value, source < (lane & ~(width - 1)) ? lane : source);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = autotune_lane(), source = lane + int(delta);
  return autotune_shuffle(mask, "__shfl_down_sync", value, source > (lane | (width - 1)) ? lane : source);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = autotune_lane(), source = lane ^ bits;
  return autotune_shuffle(mask, "__shfl_xor_sync", value, source > (lane | (width - 1)) ? lane : source);
}

struct AutotuneVote {
  int predicate;
  unsigned yes, members;
};

inline void autotune_vote_work(void** lanes, unsigned members) {
  unsigned yes = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (((members >> lane) & 1u) && static_cast<AutotuneVote*>(lanes[lane])->predicate) yes |= 1u << lane;
  for (int lane = 0; lane < 32; ++lane) {
    if (!((members >> lane) & 1u)) continue;
    static_cast<AutotuneVote*>(lanes[lane])->yes = yes;
    static_cast<AutotuneVote*>(lanes[lane])->members = members;
  }
}

inline AutotuneVote autotune_vote(unsigned mask, const char* operation, int predicate) {
  AutotuneVote vote = {predicate, 0, 0};
  autotune_warp_meet(mask, operation, &vote, autotune_vote_work);
  return vote;
}

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  int nothing = 0;
  autotune_warp_meet(mask, "__syncwarp", &nothing, nullptr);
}
inline unsigned __activemask() { return autotune_warp_alive(); }
inline unsigned __ballot_sync(unsigned mask, int predicate) { return autotune_vote(mask, "__ballot_sync", predicate).yes; }
inline int __any_sync(unsigned mask, int predicate) { return autotune_vote(mask, "__any_sync", predicate).yes != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  const AutotuneVote vote = autotune_vote(mask, "__all_sync", predicate);
  return vote.yes == vote.members;
}

template <class T>
struct AutotuneReduction {
  T value, result;
};

template <class T, T (*combine)(T, T)>
inline void autotune_reduce_work(void** lanes, unsigned members) {
  T result{};
  bool first = true;
  for (int lane = 0; lane < 32; ++lane) {
    if (!((members >> lane) & 1u)) continue;
    const T value = static_cast<AutotuneReduction<T>*>(lanes[lane])->value;
    result = first ? value : combine(result, value);
    first = false;
  }
  for (int lane = 0; lane < 32; ++lane)
    if ((members >> lane) & 1u) static_cast<AutotuneReduction<T>*>(lanes[lane])->result = result;
}

template <class T, T (*combine)(T, T)>
inline T autotune_reduce(unsigned mask, const char* operation, T value) {
  AutotuneReduction<T> reduction = {value, value};
  autotune_warp_meet(mask, operation, &reduction, autotune_reduce_work<T, combine>);
  return reduction.result;
}

template <class T> inline T autotune_add(T a, T b) { return T((unsigned)a + (unsigned)b); }
template <class T> inline T autotune_min(T a, T b) { return a < b ? a : b; }
template <class T> inline T autotune_max(T a, T b) { return a > b ? a : b; }
template <class T> inline T autotune_bit_and(T a, T b) { return a & b; }
template <class T> inline T autotune_bit_or(T a, T b) { return a | b; }
template <class T> inline T autotune_bit_xor(T a, T b) { return a ^ b; }

#define AUTOTUNE_REDUCE(T, NAME, COMBINE) \
  inline T NAME(unsigned mask, T value) { return autotune_reduce<T, COMBINE<T>>(mask, #NAME, value); }
AUTOTUNE_REDUCE(int, __reduce_add_sync, autotune_add)
AUTOTUNE_REDUCE(unsigned, __reduce_add_sync, autotune_add)
AUTOTUNE_REDUCE(int, __reduce_min_sync, autotune_min)
AUTOTUNE_REDUCE(unsigned, __reduce_min_sync, autotune_min)
AUTOTUNE_REDUCE(int, __reduce_max_sync, autotune_max)
AUTOTUNE_REDUCE(unsigned, __reduce_max_sync, autotune_max)
AUTOTUNE_REDUCE(unsigned, __reduce_and_sync, autotune_bit_and)
AUTOTUNE_REDUCE(unsigned, __reduce_or_sync, autotune_bit_or)
AUTOTUNE_REDUCE(unsigned, __reduce_xor_sync, autotune_bit_xor)
