// fibers.h: stacks for the threads of a block. A stack is made when more threads
// wait at once than ever before, and kept for the blocks that follow.
#pragma once

#ifdef AUTOTUNE_SANITIZE
extern "C" void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
static const size_t kStackBytes = 256 * 1024;
#elif defined(AUTOTUNE_RACES)
static const size_t kStackBytes = 192 * 1024;  // calls at each access take room
#else
static const size_t kStackBytes = 96 * 1024;
#endif

// A stack that grows past its end runs into these words, which are looked at after
// each block that used the stack. They are zeros, as all new memory: a page that is
// only read takes no memory of its own.
static const int kCanaryWords = 8;

struct Fiber {
  void* stack_pointer;
  char* stack;  // its lowest address; null for the machine thread's own stack
  size_t size;
  void* fake_stack;
  Fiber* next;
};

// Neighbouring stacks start at different offsets in their pages: equal ones
// would all fall into the same few sets of the processor's caches.
static const size_t kStackColours = 0x8000;
static size_t fiber_colour(int number) { return (size_t(number) * 1088) & (kStackColours - 64); }

// Memory for stacks is asked of the system for several at once.
static const int kSlab = 32;

struct Slab {
  char* next;
  int left;
};

static char* slab_take(Slab* slab) {
  const size_t bytes = kStackBytes + kStackColours;
  if (slab->left == 0) {
    void* memory = mmap(nullptr, kSlab * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
#ifdef MADV_NOHUGEPAGE
    madvise(memory, kSlab * bytes, MADV_NOHUGEPAGE);  // most of a stack is never touched
#endif
    slab->next = static_cast<char*>(memory);
    slab->left = kSlab;
  }
  char* stack = slab->next;
  slab->next += bytes;
  --slab->left;
  return stack;
}

static Fiber* fiber_new(Slab* slab, int number, void (*entry)()) {
  Fiber* fiber = static_cast<Fiber*>(calloc(1, sizeof(Fiber)));
  if (!fiber || !(fiber->stack = slab_take(slab))) return nullptr;
  fiber->size = kStackBytes + kStackColours;
  fiber->stack_pointer = switch_prepare(fiber->stack + fiber->size - fiber_colour(number), entry);
  return fiber;
}

static bool fiber_intact(const Fiber* fiber) {
  const uint64_t* words = reinterpret_cast<const uint64_t*>(fiber->stack);
  uint64_t all = 0;
  for (int i = 0; i < kCanaryWords; ++i) all |= words[i];
  return all == 0;
}

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
