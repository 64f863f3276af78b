// fibers.h: stacks for the threads of a block. A stack is made when more threads
// wait at once than ever before, and kept for the blocks that follow.
#pragma once

#ifdef AUTOTUNE_SANITIZE
extern "C" void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
static const size_t kStackBytes = 256 * 1024;
#else
static const size_t kStackBytes = 96 * 1024;
#endif

// A stack that grows past its end runs into this word, which is looked at after
// each block that used the stack.
static const uint64_t kCanary = 0xa07070e5ca11ab1eull;

struct Fiber {
  void* stack_pointer;
  char* stack;  // its lowest address; null for the machine thread's own stack
  size_t size;
  void* fake_stack;
  Fiber* next;
};

// Neighbouring stacks start at different offsets in their pages: equal ones
// would all fall into the same few sets of the processor's caches.
static size_t fiber_colour(int number) { return (size_t(number) * 1088) & 0x7fc0; }

static Fiber* fiber_new(int number, void (*entry)()) {
  const size_t bytes = kStackBytes + 0x8000;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Fiber* fiber = static_cast<Fiber*>(calloc(1, sizeof(Fiber)));
  fiber->stack = static_cast<char*>(memory);
  fiber->size = bytes;
  *reinterpret_cast<uint64_t*>(fiber->stack) = kCanary;
  fiber->stack_pointer = switch_prepare(fiber->stack + bytes - fiber_colour(number), entry);
  return fiber;
}

static bool fiber_intact(const Fiber* fiber) { return *reinterpret_cast<const uint64_t*>(fiber->stack) == kCanary; }

// Each side of a switch tells AddressSanitizer which stack it is on.
static inline void fiber_switch(Fiber* from, Fiber* to) {
#ifdef AUTOTUNE_SANITIZE
  __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
  autotune_switch(&from->stack_pointer, to->stack_pointer);
#ifdef AUTOTUNE_SANITIZE
  __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
}

// The first thing on a new stack.
static inline void fiber_started(Fiber* origin) {
#ifdef AUTOTUNE_SANITIZE
  const void* bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (origin && !origin->stack) {
    origin->stack = static_cast<char*>(const_cast<void*>(bottom));
    origin->size = size;
  }
#else
  (void)origin;
#endif
}
