// block.h runs the threads of one block, on one thread of the machine.
//
// A thread that never waits runs to its end as a plain function call, and the
// next one follows on the same stack. A thread that waits leaves its stack
// behind: the machine goes on with a thread that became ready, else starts the
// next one on another stack. When nothing is ready and nothing is left to start
// while threads still wait, they wait for something that will never come.
//
// Usually threads start in their order, and go on in the order in which they
// became ready: neighbours that forgot a barrier then often find what they need.
// Under a schedule with a number both are drawn at random, which CUDA allows.
#pragma once

static unsigned schedule_number;  // 0: the usual order

__thread AutotuneContext autotune_context;

struct Copies;     // async_copies.h
struct BulkLoads;  // mbarriers.h

struct Thread {
  uint3 index;
  Fiber* fiber;
  Thread* next;             // in the queue it stands in
  const char* waits_at;     // null while it runs or is ready
  void* brought;            // to the warp operation it waits at
  unsigned mask;            // of that operation
  AutotuneWarpWork work;    // likewise
  Copies* copies;
};

struct Queue {
  Thread *first, *last;
  int size;

  void push(Thread* t) {
    t->next = nullptr;
    if (last) last->next = t;
    else first = t;
    last = t;
    ++size;
  }
  Thread* pop() {
    Thread* t = first;
    if (!t) return nullptr;
    first = t->next;
    if (!first) last = nullptr;
    --size;
    return t;
  }
  void take_all(Queue& other) {
    while (Thread* t = other.pop()) push(t);
  }
};

struct Warp {
  unsigned waiting;  // lanes at a warp operation
  unsigned alive;    // lanes that exist and have not exited
};

struct Barrier {
  Queue waiting;
  int arrived;
  int expected;  // of a named barrier's present round
};

struct Worker {
  Thread* threads;
  Warp* warps;
  int count, started, exited;
  short order[1024];    // in which threads start
  uint64_t drawn;       // the schedule's generator
  Queue ready;
  Barrier barriers[16];
  Queue at_mbarriers;  // threads that wait at any
  BulkLoads* bulk_loads;
  int votes, yes, all;  // of __syncthreads_count and its kin: coming in, and the last result
  Thread* current;
  Fiber machine;        // the machine thread's own stack
  Fiber* fiber;         // the stack that runs
  Fiber* idle;          // stacks without a thread
  int fibers;
  void* const* arguments;
  void* dynamic_shared;
  size_t dynamic_bytes;
};

static inline unsigned schedule_draw(Worker* w, unsigned below) {
  w->drawn = w->drawn * 6364136223846793005ull + 1442695040888963407ull;
  return unsigned((w->drawn >> 33) % below);
}

// Decides in which order the block's threads start.
static void schedule_block(Worker* w) {
  for (int i = 0; i < w->count; ++i) w->order[i] = short(i);
  if (!schedule_number) return;
  const uint3 b = autotune_context.block_index;
  w->drawn = schedule_number * 0x9E3779B97F4A7C15ull + b.x * 0xD1B54A32D192ED03ull + b.y * 0x94D049BB133111EBull + b.z;
  for (int i = w->count - 1; i > 0; --i) {
    const unsigned j = schedule_draw(w, unsigned(i) + 1);
    const short held = w->order[i];
    w->order[i] = w->order[j];
    w->order[j] = held;
  }
}

// Takes a thread that is ready; null if none is.
static inline Thread* schedule_next(Worker* w) {
  if (schedule_number)
    for (unsigned turns = w->ready.size ? schedule_draw(w, unsigned(w->ready.size < 8 ? w->ready.size : 8)) : 0; turns > 0; --turns)
      w->ready.push(w->ready.pop());
  return w->ready.pop();
}

static inline Worker* worker() { return static_cast<Worker*>(autotune_context.worker); }

static void copies_reset(Thread* t);
static void bulk_loads_land_all(Worker* w);
static void bulk_loads_ended(Worker* w);

static void block_deadlock(Worker* w) __attribute__((noreturn));
static void block_deadlock(Worker* w) {
  // Name each thing that threads wait at, with how many do.
  const char* names[32];
  int counts[32], kinds = 0;
  for (int i = 0; i < w->count; ++i) {
    const char* name = w->threads[i].waits_at;
    if (!name) continue;
    int k = 0;
    while (k < kinds && strcmp(names[k], name) != 0) ++k;
    if (k == kinds) {
      if (kinds == 32) continue;
      names[kinds] = name;
      counts[kinds++] = 0;
    }
    ++counts[k];
  }
  const uint3 b = autotune_context.block_index;
  Text text;
  text.add("deadlock: block (%u,%u,%u): ", b.x, b.y, b.z);
  for (int k = 0; k < kinds; ++k)
    text.add("%s%d of %d thread%s wait%s at %s", k ? ", " : "", counts[k], w->count, w->count == 1 ? "" : "s", counts[k] == 1 ? "s" : "", names[k]);
  text.add("%s that others never reach", kinds > 1 ? ", each" : "");
  if (w->exited) text.add(" (%d %s exited)", w->exited, w->exited == 1 ? "has" : "have");
  report_end("deadlock", text.data);
}

static void fiber_main();

static Fiber* block_idle_fiber(Worker* w) {
  if (Fiber* f = w->idle) {
    w->idle = f->next;
    return f;
  }
  Fiber* f = fiber_new(w->fibers++, fiber_main);
  if (!f) report_end("crashed", "the kernel left no memory for the stacks of a block's threads");
  return f;
}

static inline void block_go(Worker* w, Fiber* to) {
  Fiber* from = w->fiber;
  w->fiber = to;
  fiber_switch(from, to);
}

static inline void block_resume(Worker* w, Thread* t) {
  w->current = t;
  autotune_context.thread_index = t->index;
}

// The current thread has joined a queue: run something else until it is ready.
// Bulk loads take as long as other threads have something to do.
static void block_wait(Worker* w, Thread* t, const char* at) {
  t->waits_at = at;
  t->fiber = w->fiber;
  if (!w->ready.first && w->started == w->count) bulk_loads_land_all(w);
  if (Thread* next = schedule_next(w)) {
    if (next != t) block_go(w, next->fiber);
  } else if (w->started < w->count) {
    block_go(w, block_idle_fiber(w));
  } else {
    block_deadlock(w);
  }
  block_resume(w, t);
}

static inline void block_release(Worker* w, Queue& waiting) {
  for (Thread* t = waiting.first; t; t = t->next) t->waits_at = nullptr;
  w->ready.take_all(waiting);
}

// --- the barrier of all threads ---

static bool barrier_complete(Worker* w) {
  Barrier& b = w->barriers[0];
  if (b.arrived == 0 || b.arrived + w->exited < w->count) return false;
  w->yes = w->votes;
  w->all = b.arrived;
  w->votes = b.arrived = 0;
  block_release(w, b.waiting);
  return true;
}

static inline void barrier_arrive(Worker* w) {
  ++w->barriers[0].arrived;
  if (barrier_complete(w)) return;
  Thread* t = w->current;
  w->barriers[0].waiting.push(t);
  block_wait(w, t, "__syncthreads");
}

extern "C" void autotune_block_barrier() { barrier_arrive(worker()); }

extern "C" void autotune_block_vote(int predicate, int* yes, int* all) {
  Worker* w = worker();
  w->votes += predicate != 0;
  barrier_arrive(w);
  *yes = w->yes;
  *all = w->all;
}

extern "C" void autotune_named_barrier(int number, int threads, int wait) {
  Worker* w = worker();
  if (number == 0 && wait && threads == w->count) return barrier_arrive(w);
  static const char* const names[16] = {
      "named barrier 0", "named barrier 1", "named barrier 2",  "named barrier 3",  "named barrier 4",  "named barrier 5",
      "named barrier 6", "named barrier 7", "named barrier 8",  "named barrier 9",  "named barrier 10", "named barrier 11",
      "named barrier 12", "named barrier 13", "named barrier 14", "named barrier 15"};
  if (number < 0 || number > 15) report_end("crashed", "a named barrier has a number from 0 to 15");
  if (threads <= 0 || threads % 32 != 0) report_end("crashed", "a named barrier is for a multiple of 32 threads");
  Barrier& b = w->barriers[number];
  if (b.arrived == 0) b.expected = threads;
  if (b.expected != threads) report_end("crashed", "threads come to one named barrier with different counts");
  if (++b.arrived == threads) {
    b.arrived = 0;
    block_release(w, b.waiting);
  } else if (wait) {
    b.waiting.push(w->current);
    block_wait(w, w->current, names[number]);
  }
}

extern "C" void autotune_yield() {
  Worker* w = worker();
  Thread *t = w->current, *next = schedule_next(w);
  if (!next && w->started == w->count) return;
  t->fiber = w->fiber;
  w->ready.push(t);
  block_go(w, next ? next->fiber : block_idle_fiber(w));
  block_resume(w, t);
}

// --- warp operations ---

static void warp_mismatch(const Thread* mine, const Thread* other) __attribute__((noreturn));
static void warp_mismatch(const Thread* mine, const Thread* other) {
  Text text;
  report_place(text);
  text.add(" is at %s with mask 0x%08x while thread (%u,%u,%u) of its warp is at %s with mask 0x%08x", mine->waits_at, mine->mask,
           other->index.x, other->index.y, other->index.z, other->waits_at, other->mask);
  report_end("crashed", text.data);
}

// Lets the lanes of `needed` go on, all of which wait at the same operation.
static void warp_complete(Worker* w, int warp, unsigned needed, AutotuneWarpWork work) {
  void* lanes[32];
  Thread* threads = w->threads + warp * 32;
  for (unsigned left = needed; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    lanes[lane] = threads[lane].brought;
  }
  if (work) work(lanes, needed);
  w->warps[warp].waiting &= ~needed;
  for (unsigned left = needed; left; left &= left - 1) threads[__builtin_ctz(left)].waits_at = nullptr;
}

extern "C" void autotune_warp_meet(unsigned mask, const char* operation, void* brought, AutotuneWarpWork work) {
  Worker* w = worker();
  Thread* t = w->current;
  const int number = int(t - w->threads), warp = number / 32, lane = number % 32;
  Warp& state = w->warps[warp];
  t->brought = brought;
  t->mask = mask;
  t->work = work;
  if (!((mask >> lane) & 1u)) {
    Text text;
    report_place(text);
    text.add(" is at %s but not in its mask 0x%08x", operation, mask);
    report_end("crashed", text.data);
  }
  state.waiting |= 1u << lane;
  const unsigned needed = mask & state.alive;
  if ((state.waiting & needed) == needed) {
    t->waits_at = operation;
    Thread* threads = w->threads + warp * 32;
    for (unsigned left = needed; left; left &= left - 1) {
      const Thread* other = &threads[__builtin_ctz(left)];
      if (other->mask != mask || strcmp(other->waits_at, operation) != 0) warp_mismatch(t, other);
    }
    warp_complete(w, warp, needed, work);
    for (unsigned left = needed & ~(1u << lane); left; left &= left - 1) w->ready.push(&threads[__builtin_ctz(left)]);
    return;
  }
  block_wait(w, t, operation);
}

extern "C" unsigned autotune_warp_alive() {
  Worker* w = worker();
  return w->warps[(w->current - w->threads) / 32].alive;
}

// --- from the first thread to the last ---

// A lane that exits may be the last that its warp's others wait for.
static void warp_exit(Worker* w, int number) {
  const int warp = number / 32;
  Warp& state = w->warps[warp];
  state.alive &= ~(1u << (number % 32));
  Thread* threads = w->threads + warp * 32;
  for (unsigned left = state.waiting; left; left &= left - 1) {
    Thread* t = &threads[__builtin_ctz(left)];
    const unsigned needed = t->mask & state.alive;
    if ((state.waiting & needed) != needed) continue;
    for (unsigned others = needed; others; others &= others - 1) {
      const Thread* other = &threads[__builtin_ctz(others)];
      if (other->mask != t->mask || strcmp(other->waits_at, t->waits_at) != 0) warp_mismatch(t, other);
    }
    warp_complete(w, warp, needed, t->work);
    for (unsigned others = needed; others; others &= others - 1) w->ready.push(&threads[__builtin_ctz(others)]);
    left &= ~needed;
    if (!left) break;
  }
}

static inline void thread_exit(Worker* w, Thread* t) {
  const int number = int(t - w->threads);
  ++w->exited;
  if (t->copies) copies_reset(t);
  warp_exit(w, number);
  barrier_complete(w);
}

// What every stack runs: threads of the block, one after the other, then it is idle.
// It is switched to only when there is a thread to start.
static void fiber_main() {
  Worker* w = worker();
  fiber_started(&w->machine);
  Fiber* self = w->fiber;
  for (;;) {
    do {
      Thread* t = &w->threads[w->order[w->started++]];
      block_resume(w, t);
      autotune_kernel(w->arguments);
      thread_exit(w, t);
    } while (w->started < w->count && !w->ready.first);
    if (!w->ready.first && w->exited < w->count) bulk_loads_land_all(w);
    if (!w->ready.first && w->exited < w->count) block_deadlock(w);
    if (!fiber_intact(self)) report_end("crashed", "the kernel's local variables outgrow the emulator's stack of a thread");
    self->next = w->idle;
    w->idle = self;
    Thread* next = schedule_next(w);
    block_go(w, next ? next->fiber : &w->machine);
  }
}

// Runs all threads of the block whose index is in autotune_context.
static void block_run(Worker* w) {
  w->started = w->exited = 0;
  schedule_block(w);
  for (int i = 0; i * 32 < w->count; ++i) {
    const int lanes = w->count - i * 32;
    w->warps[i].waiting = 0;
    w->warps[i].alive = lanes >= 32 ? ~0u : (1u << lanes) - 1u;
  }
  for (Barrier& b : w->barriers) b.arrived = 0;
  w->fiber = &w->machine;
  block_go(w, block_idle_fiber(w));
  bulk_loads_ended(w);
}
