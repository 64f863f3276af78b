// race_hooks.h: the functions that -fsanitize=thread has a kernel call at each access, named as the sanitizer's own
// library has them.
#pragma once

#define AUTOTUNE_PC __builtin_return_address(0)
#define AUTOTUNE_ADDRESS(at) reinterpret_cast<uintptr_t>(at)

#define AUTOTUNE_WATCH(BYTES)                                                                                                              \
  void __tsan_read##BYTES(void* at) { race_access(AUTOTUNE_ADDRESS(at), BYTES, kRaceRead, false, AUTOTUNE_PC); }                            \
  void __tsan_write##BYTES(void* at) { race_access(AUTOTUNE_ADDRESS(at), BYTES, kRaceWrite, false, AUTOTUNE_PC); }                          \
  void __tsan_unaligned_read##BYTES(void* at) { race_access(AUTOTUNE_ADDRESS(at), BYTES, kRaceRead, false, AUTOTUNE_PC); }                  \
  void __tsan_unaligned_write##BYTES(void* at) { race_access(AUTOTUNE_ADDRESS(at), BYTES, kRaceWrite, false, AUTOTUNE_PC); }                \
  void __tsan_volatile_read##BYTES(void* at) { race_atomic(at, BYTES, kRaceRead, false, AUTOTUNE_PC); }                                     \
  void __tsan_volatile_write##BYTES(void* at) { race_atomic(at, BYTES, kRaceWrite, false, AUTOTUNE_PC); }                                   \
  void __tsan_unaligned_volatile_read##BYTES(void* at) { race_atomic(at, BYTES, kRaceRead, false, AUTOTUNE_PC); }                           \
  void __tsan_unaligned_volatile_write##BYTES(void* at) { race_atomic(at, BYTES, kRaceWrite, false, AUTOTUNE_PC); }

// An atomic operation. Orders are those of C++: from 3 on it releases. The program has one thread, so that plain
// operations are enough.
#define AUTOTUNE_UPDATE(BITS, NAME, RESULT)                                                          \
  uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile uint##BITS##_t* at, uint##BITS##_t value, int order) { \
    race_atomic(at, BITS / 8, kRaceUpdate, order >= 3, AUTOTUNE_PC);                                 \
    const uint##BITS##_t old = *at;                                                                  \
    *at = uint##BITS##_t(RESULT);                                                                    \
    return old;                                                                                      \
  }
#define AUTOTUNE_EXCHANGE(BITS, NAME)                                                                                              \
  int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile uint##BITS##_t* at, uint##BITS##_t* expected, uint##BITS##_t value, int order, int) { \
    race_atomic(at, BITS / 8, kRaceUpdate, order >= 3, AUTOTUNE_PC);                                                               \
    const uint##BITS##_t old = *at;                                                                                                \
    if (old == *expected) return *at = value, 1;                                                                                   \
    *expected = old;                                                                                                               \
    return 0;                                                                                                                      \
  }
#define AUTOTUNE_WATCH_ATOMIC(BITS)                                                                  \
  uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t* at, int) {                \
    race_atomic(at, BITS / 8, kRaceRead, false, AUTOTUNE_PC);                                        \
    return *at;                                                                                      \
  }                                                                                                  \
  void __tsan_atomic##BITS##_store(volatile uint##BITS##_t* at, uint##BITS##_t value, int order) {   \
    race_atomic(at, BITS / 8, kRaceWrite, order >= 3, AUTOTUNE_PC);                                  \
    *at = value;                                                                                     \
  }                                                                                                  \
  uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(volatile uint##BITS##_t* at, uint##BITS##_t expected, uint##BITS##_t value, int order, int) { \
    race_atomic(at, BITS / 8, kRaceUpdate, order >= 3, AUTOTUNE_PC);                                 \
    const uint##BITS##_t old = *at;                                                                  \
    if (old == expected) *at = value;                                                                \
    return old;                                                                                      \
  }                                                                                                  \
  AUTOTUNE_UPDATE(BITS, exchange, value)                                                             \
  AUTOTUNE_UPDATE(BITS, fetch_add, old + value)                                                      \
  AUTOTUNE_UPDATE(BITS, fetch_sub, old - value)                                                      \
  AUTOTUNE_UPDATE(BITS, fetch_and, old & value)                                                      \
  AUTOTUNE_UPDATE(BITS, fetch_or, old | value)                                                       \
  AUTOTUNE_UPDATE(BITS, fetch_xor, old ^ value)                                                      \
  AUTOTUNE_UPDATE(BITS, fetch_nand, ~(old & value))                                                  \
  AUTOTUNE_EXCHANGE(BITS, strong)                                                                    \
  AUTOTUNE_EXCHANGE(BITS, weak)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
AUTOTUNE_WATCH(1)
AUTOTUNE_WATCH(2)
AUTOTUNE_WATCH(4)
AUTOTUNE_WATCH(8)
AUTOTUNE_WATCH(16)
void __tsan_read_range(void* at, unsigned long bytes) { race_access(AUTOTUNE_ADDRESS(at), bytes, kRaceRead, false, AUTOTUNE_PC); }
void __tsan_write_range(void* at, unsigned long bytes) { race_access(AUTOTUNE_ADDRESS(at), bytes, kRaceWrite, false, AUTOTUNE_PC); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  race_access(AUTOTUNE_ADDRESS(from), bytes, kRaceRead, false, AUTOTUNE_PC);
  race_access(AUTOTUNE_ADDRESS(to), bytes, kRaceWrite, false, AUTOTUNE_PC);
  return memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  race_access(AUTOTUNE_ADDRESS(from), bytes, kRaceRead, false, AUTOTUNE_PC);
  race_access(AUTOTUNE_ADDRESS(to), bytes, kRaceWrite, false, AUTOTUNE_PC);
  return memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, unsigned long bytes) {
  race_access(AUTOTUNE_ADDRESS(to), bytes, kRaceWrite, false, AUTOTUNE_PC);
  return memset(to, value, bytes);
}
AUTOTUNE_WATCH_ATOMIC(8)
AUTOTUNE_WATCH_ATOMIC(16)
AUTOTUNE_WATCH_ATOMIC(32)
AUTOTUNE_WATCH_ATOMIC(64)
void __tsan_atomic_thread_fence(int) { race_fence(); }
void __tsan_atomic_signal_fence(int) {}
// What the shim's loads call that see what other blocks write.
void autotune_fresh_read(const void* at, unsigned long bytes) { race_atomic(at, bytes, kRaceRead, false, AUTOTUNE_PC); }
}
