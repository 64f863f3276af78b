// memory.h: loads and stores with a caching hint, which a CPU does not need.
#pragma once

#define AUTOTUNE_LOAD(NAME) \
  template <class T> inline T NAME(const T* address) { return *address; }
AUTOTUNE_LOAD(__ldg)
AUTOTUNE_LOAD(__ldcs)
AUTOTUNE_LOAD(__ldca)
AUTOTUNE_LOAD(__ldlu)

// These see what other blocks write, each time anew.
#ifdef AUTOTUNE_RACES
// They are no plain loads (the runtime's race_clocks.h).
extern "C" void autotune_fresh_read(const void* address, unsigned long bytes);
template <class T> __attribute__((noinline, no_sanitize("thread"))) T autotune_fresh(const T* address) { return *address; }
#define AUTOTUNE_FRESH_LOAD(NAME)                 \
  template <class T>                              \
  inline T NAME(const T* address) {               \
    autotune_fresh_read(address, sizeof *address); \
    return autotune_fresh(address);               \
  }
#else
#define AUTOTUNE_FRESH_LOAD(NAME)   \
  template <class T>                \
  inline T NAME(const T* address) { \
    asm volatile("" ::: "memory");  \
    return *address;                \
  }
#endif
AUTOTUNE_FRESH_LOAD(__ldcg)
AUTOTUNE_FRESH_LOAD(__ldcv)

// The value's type does not take part in choosing T, so that an int literal may
// be stored as a float, as with CUDA's own overloads.
template <class T> struct AutotuneSame { typedef T type; };
#define AUTOTUNE_STORE(NAME) \
  template <class T> inline void NAME(T* address, typename AutotuneSame<T>::type value) { *address = value; }
AUTOTUNE_STORE(__stcs)
AUTOTUNE_STORE(__stcg)
AUTOTUNE_STORE(__stwb)
AUTOTUNE_STORE(__stwt)

// Addresses are the machine's own; only helpers with an emulated body may use them.
inline size_t __cvta_generic_to_shared(const void* address) { return reinterpret_cast<size_t>(address); }
inline size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<size_t>(address); }
