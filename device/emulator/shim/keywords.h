// keywords.h: CUDA's words that C++ does not know.
#pragma once

// An alignment that nothing else asks for: entry.h looks for it.
#define __global__ __attribute__((aligned(64)))
#define __device__
#define __host__
// Used: what fills it from outside is not seen by the compiler, which would take it
// for zeros.
#define __constant__ static __attribute__((used))
#define __managed__ static
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)

// A block runs on one thread of the machine, so that a variable of that thread
// is a variable of the block. (Dynamic shared memory, `extern __shared__`, is
// rewritten before the compiler sees it.) When sanitizing, only one block runs
// at a time and the variables are plain ones, for AddressSanitizer puts its red
// zones around those only; they sit in a section of their own so that the
// runtime can fill them before each block.
#ifdef AUTOTUNE_SANITIZE
#define __shared__ static __attribute__((section("autotune_shared")))
#else
#define __shared__ static __thread
#endif

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef long clock_t;

extern "C" int printf(const char* format, ...);
extern "C" void autotune_assert(const char* text, const char* file, int line) __attribute__((noreturn));
extern "C" void* autotune_dynamic_shared();
extern "C" void autotune_trap() __attribute__((noreturn));

#ifndef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : autotune_assert(#condition, __FILE__, __LINE__))
#endif
#endif
#define __trap autotune_trap
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)
