// entry.h: how the runtime calls the kernels, whose parameters are pointers, numbers and
// tensor maps, and what it is told of them, to compare with what the operator has.
#pragma once

// A parameter of the kernel. The element is the type of a number or of what is
// pointed to, as CUDA C++ calls the type of tensors: that of a float4* is a float.
struct AutotuneParameter {
  const char* shown;    // as a message has it; "": it has no name here
  const char* element;  // "": void or a struct, which may be anything
  bool pointer, constant, map;
};

// A tensor map as the runtime has it; a kernel calls its 128 bytes as it likes.
struct AutotuneTensorMap {
  long long words[16];
};

// A kernel that the operator launches.
struct AutotuneEntry {
  void (*run)(void* const* arguments);  // for one thread
  int parameters;
  const AutotuneParameter* list;
};

extern "C" {
extern const AutotuneEntry autotune_entries[];
extern const int autotune_entry_count;
}

template <class T> struct AutotuneType {
  static constexpr const char *shown = "", *element = "";
  static constexpr bool number = false;
};
#define AUTOTUNE_NAME(T, ELEMENT, IS_NUMBER)                             \
  template <> struct AutotuneType<T> {                                   \
    static constexpr const char *shown = #T, *element = ELEMENT;         \
    static constexpr bool number = IS_NUMBER;                            \
  };
#define AUTOTUNE_NUMBER(T, ELEMENT) AUTOTUNE_NAME(T, ELEMENT, true)
#define AUTOTUNE_NAMES(VECTOR, ELEMENT)  \
  AUTOTUNE_NAME(VECTOR##1, ELEMENT, false) AUTOTUNE_NAME(VECTOR##2, ELEMENT, false) \
  AUTOTUNE_NAME(VECTOR##3, ELEMENT, false) AUTOTUNE_NAME(VECTOR##4, ELEMENT, false)
AUTOTUNE_NUMBER(float, "float") AUTOTUNE_NAMES(float, "float")
AUTOTUNE_NUMBER(double, "double") AUTOTUNE_NAMES(double, "double")
AUTOTUNE_NUMBER(bool, "bool")
AUTOTUNE_NUMBER(signed char, "signed char") AUTOTUNE_NUMBER(char, "signed char") AUTOTUNE_NAMES(char, "signed char")
AUTOTUNE_NUMBER(unsigned char, "unsigned char") AUTOTUNE_NAMES(uchar, "unsigned char")
AUTOTUNE_NUMBER(short, "short") AUTOTUNE_NAMES(short, "short")
AUTOTUNE_NUMBER(unsigned short, "unsigned short") AUTOTUNE_NAMES(ushort, "unsigned short")
AUTOTUNE_NUMBER(int, "int") AUTOTUNE_NAMES(int, "int")
AUTOTUNE_NUMBER(unsigned, "unsigned int") AUTOTUNE_NAMES(uint, "unsigned int")
AUTOTUNE_NUMBER(long long, "long long") AUTOTUNE_NUMBER(long, "long long") AUTOTUNE_NAMES(longlong, "long long")
AUTOTUNE_NUMBER(unsigned long long, "unsigned long long") AUTOTUNE_NUMBER(unsigned long, "unsigned long long")
AUTOTUNE_NAMES(ulonglong, "unsigned long long")

// What is known of a parameter's type: without const and volatile, or pointed to.
template <class T> struct AutotuneParameterOf {
  typedef AutotuneType<T> type;
  static constexpr bool pointer = false, constant = false, map = __is_class(T) && sizeof(T) == sizeof(AutotuneTensorMap);
  static T take(void* argument) {
    T value;
    __builtin_memcpy(&value, map ? argument : &argument, sizeof value);  // a number's lowest bytes come first
    return value;
  }
};
template <class T> struct AutotunePlain { typedef AutotuneType<T> type; static constexpr bool constant = false; };
template <class T> struct AutotunePlain<const T> { typedef AutotuneType<T> type; static constexpr bool constant = true; };
template <class T> struct AutotunePlain<volatile T> { typedef AutotuneType<T> type; static constexpr bool constant = false; };
template <class T> struct AutotunePlain<const volatile T> { typedef AutotuneType<T> type; static constexpr bool constant = true; };
template <class T> struct AutotuneParameterOf<T*> : AutotunePlain<T> {
  static constexpr bool pointer = true, map = false;
  static T* take(void* argument) { return static_cast<T*>(argument); }
};

template <class P> constexpr AutotuneParameter autotune_parameter() {
  typedef AutotuneParameterOf<P> Of;
  static_assert(Of::pointer || Of::type::number || Of::map, "a kernel's parameters must be pointers, numbers or tensor maps");
  return AutotuneParameter{Of::map ? "TensorMap" : Of::type::shown, Of::type::element, Of::pointer, Of::constant, Of::map};
}

template <class... P> constexpr int autotune_count(void (*)(P...)) { return int(sizeof...(P)); }

// One more than there are, for a kernel without parameters.
template <int Count> struct AutotuneList { AutotuneParameter all[Count + 1]; };
template <class... P> constexpr AutotuneList<sizeof...(P)> autotune_list(void (*)(P...)) {
  return {{autotune_parameter<P>()..., AutotuneParameter{"", "", false, false, false}}};
}

// AutotuneCall takes the arguments out of their array, the last one first.
template <int Left>
struct AutotuneCall {
  template <class Kernel, class... Done>
  static void call(Kernel* kernel, void* const* arguments, Done... done) {
    AutotuneCall<Left - 1>::call(kernel, arguments, arguments[Left - 1], done...);
  }
};

template <>
struct AutotuneCall<0> {
  template <class... P, class... Done>
  static void call(void (*kernel)(P...), void* const*, Done... done) {
    kernel(AutotuneParameterOf<P>::take(done)...);
  }
};

// What __global__ leaves of itself; see keywords.h.
#define AUTOTUNE_IS_GLOBAL(KERNEL) __builtin_has_attribute(KERNEL, aligned(64))

// The kernel comes last, for it may be a template's with commas of its own.
#define AUTOTUNE_GLOBAL(...) static_assert(AUTOTUNE_IS_GLOBAL(__VA_ARGS__), "it is not __global__");
#define AUTOTUNE_ENTRY(NUMBER, ...)                                                   \
  static constexpr auto* autotune_kernel_##NUMBER = &__VA_ARGS__;                     \
  static constexpr auto autotune_list_##NUMBER = autotune_list(autotune_kernel_##NUMBER); \
  static void autotune_run_##NUMBER(void* const* arguments) {                         \
    AutotuneCall<autotune_count(autotune_kernel_##NUMBER)>::call(autotune_kernel_##NUMBER, arguments); \
  }
#define AUTOTUNE_ROW(NUMBER) \
  AutotuneEntry{autotune_run_##NUMBER, autotune_count(autotune_kernel_##NUMBER), autotune_list_##NUMBER.all},
#define AUTOTUNE_ENTRIES(...)                                            \
  extern "C" const AutotuneEntry autotune_entries[] = {__VA_ARGS__};     \
  extern "C" const int autotune_entry_count = sizeof autotune_entries / sizeof autotune_entries[0];
