// atomics.h: atomic operations; other blocks may run at the same time.
#pragma once

template <class T, class Change>
inline T autotune_atomic(T* address, Change change) {
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    next = change(old);
  } while (!__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

#define AUTOTUNE_ATOMIC(NAME, T, RESULT) \
  inline T NAME(T* address, T value) { return autotune_atomic(address, [=](T old) -> T { return RESULT; }); }
#define AUTOTUNE_ATOMIC_INTEGERS(NAME, RESULT) \
  AUTOTUNE_ATOMIC(NAME, int, RESULT)           \
  AUTOTUNE_ATOMIC(NAME, unsigned, RESULT)      \
  AUTOTUNE_ATOMIC(NAME, unsigned long long, RESULT)

inline int atomicAdd(int* address, int value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }
inline unsigned atomicAdd(unsigned* address, unsigned value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }
inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
AUTOTUNE_ATOMIC(atomicAdd, float, old + value)
AUTOTUNE_ATOMIC(atomicAdd, double, old + value)
inline int atomicSub(int* address, int value) { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); }
inline unsigned atomicSub(unsigned* address, unsigned value) { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); }
AUTOTUNE_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
AUTOTUNE_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
AUTOTUNE_ATOMIC(atomicMax, long long, old > value ? old : value)
AUTOTUNE_ATOMIC(atomicMin, long long, old < value ? old : value)
AUTOTUNE_ATOMIC_INTEGERS(atomicAnd, old & value)
AUTOTUNE_ATOMIC_INTEGERS(atomicOr, old | value)
AUTOTUNE_ATOMIC_INTEGERS(atomicXor, old ^ value)
AUTOTUNE_ATOMIC_INTEGERS(atomicExch, value)
AUTOTUNE_ATOMIC(atomicExch, float, value)
AUTOTUNE_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1u)
AUTOTUNE_ATOMIC(atomicDec, unsigned, (old == 0u || old > value) ? value : old - 1u)

#define AUTOTUNE_ATOMIC_CAS(T)                                                                     \
  inline T atomicCAS(T* address, T compare, T value) {                                             \
    __atomic_compare_exchange(address, &compare, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return compare;                                                                                \
  }
AUTOTUNE_ATOMIC_CAS(int)
AUTOTUNE_ATOMIC_CAS(unsigned)
AUTOTUNE_ATOMIC_CAS(unsigned long long)
AUTOTUNE_ATOMIC_CAS(unsigned short)
