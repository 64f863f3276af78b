// entry.h: how the runtime calls the kernel, whose parameters are all pointers.
#pragma once

extern "C" {
extern const int autotune_parameters;         // how many pointers the kernel takes
void autotune_kernel(void* const* arguments);  // runs the kernel for one thread
}

template <class T> struct AutotuneIsPointer { static constexpr bool value = false; };
template <class T> struct AutotuneIsPointer<T*> { static constexpr bool value = true; };

template <class... P>
constexpr int autotune_count(void (*)(P...)) {
  static_assert((AutotuneIsPointer<P>::value && ... && true), "a kernel's parameters must all be pointers");
  return int(sizeof...(P));
}

// AutotuneCall takes the arguments out of their array, the last one first.
template <int LEFT>
struct AutotuneCall {
  template <class Kernel, class... Done>
  static void call(Kernel* kernel, void* const* arguments, Done... done) {
    AutotuneCall<LEFT - 1>::call(kernel, arguments, arguments[LEFT - 1], done...);
  }
};

template <>
struct AutotuneCall<0> {
  template <class... P, class... Done>
  static void call(void (*kernel)(P...), void* const*, Done... done) {
    kernel(static_cast<P>(done)...);
  }
};

// What __global__ leaves of itself; see keywords.h.
#ifdef __clang__
#define AUTOTUNE_IS_GLOBAL(KERNEL) (__alignof__(KERNEL) >= 64)
#else
#define AUTOTUNE_IS_GLOBAL(KERNEL) __builtin_has_attribute(KERNEL, aligned(64))
#endif

#define AUTOTUNE_ENTRY(KERNEL)                                             \
  static_assert(AUTOTUNE_IS_GLOBAL(KERNEL), "it is not __global__");       \
  extern "C" const int autotune_parameters = autotune_count(&KERNEL);      \
  extern "C" void autotune_kernel(void* const* arguments) {                \
    AutotuneCall<autotune_count(&KERNEL)>::call(&KERNEL, arguments);       \
  }
