// barriers.h: barriers of a block.
#pragma once

extern "C" {
// The barrier of all threads of the block that have not exited.
void autotune_block_barrier();
// The same, with a vote: how many threads came with a true predicate, and how
// many came at all.
void autotune_block_vote(int predicate, int* yes, int* all);
// One of the block's sixteen barriers by number, for `threads` of its threads;
// an arriving thread counts, and goes on without waiting.
void autotune_named_barrier(int number, int threads, int wait);
// Lets the block's other threads run, for a thread that spins on memory.
void autotune_yield();
}

inline void __syncthreads() { autotune_block_barrier(); }
inline int __syncthreads_count(int predicate) {
  int yes, all;
  autotune_block_vote(predicate, &yes, &all);
  return yes;
}
inline int __syncthreads_and(int predicate) {
  int yes, all;
  autotune_block_vote(predicate, &yes, &all);
  return yes == all;
}
inline int __syncthreads_or(int predicate) {
  int yes, all;
  autotune_block_vote(predicate, &yes, &all);
  return yes != 0;
}

inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { autotune_yield(); }

extern "C" long long autotune_clock();
inline long long clock64() { return autotune_clock(); }
extern "C" inline clock_t clock() noexcept { return clock_t(autotune_clock()); }
