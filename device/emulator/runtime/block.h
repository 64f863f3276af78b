// block.h runs the threads of a block, on one thread of the machine.
//
// A thread that never waits runs to its end as a plain function call, and the
// next one follows on the same stack. A thread that waits leaves its stack
// behind: the machine goes on with a thread that became ready, else starts the
// next one on another stack. When nothing is ready and nothing is left to start
// while threads still wait, it goes on with another block of the group (see
// groups.h); where there is none, they wait for something that will never come.
//
// Usually threads start in their order, and go on in the order in which they
// became ready: neighbours that forgot a barrier then often find what they need.
// Under a schedule with a number both are drawn at random, which CUDA allows.
#pragma once

static unsigned schedule_number;  // 0: the usual order

struct Block;
struct Copies;     // async_copies.h
struct BulkLoads;  // mbarriers.h

// What blocks that run at once wait for each other in.
enum Scope { kGrid, kCluster, kScopes };

struct Thread {
  uint3 index;
  Block* block;
  Fiber* fiber;
  Thread* next;             // in the queue it stands in
  const char* waits_at;     // null while it runs or is ready
  void* brought;            // to the warp operation it waits at
  unsigned mask;            // of that operation
  AutotuneWarpWork work;    // likewise
  Copies* copies;
  void* products;
  bool waited;            // for the launches before
  bool arrived[kScopes];  // at a group's barrier, in which round
  unsigned round[kScopes];
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

// GroupBarrier is one of all threads of a grid or cluster.
struct GroupBarrier {
  const char* name;
  Queue waiting;
  int threads, arrived, gone;
  unsigned round;
};

// Storage is where the kernels' static shared variables are.
struct Storage {
  char* first;
  size_t size;
};

struct Block {
  uint3 index;
  int number;              // in its group
  int cluster_first;       // the number of its cluster's first block
  GroupBarrier* cluster;
  Thread* threads;
  int room;                // for how many there is memory
  uint3 dim;               // that the threads' indices are made for
  Warp warps[32];
  int count, started, exited;
  short order[1024];       // in which threads start
  uint64_t drawn;          // the schedule's generator
  Queue ready;
  Barrier barriers[16];
  Queue at_mbarriers;      // threads that wait at any
  Queue at_products;       // and for products
  BulkLoads* bulk_loads;
  int votes, yes, all;     // of __syncthreads_count and its kin: coming in, and the last result
  void* dynamic_shared;
  size_t dynamic_bytes;
  RaceBlock* races;        // what is known of its threads' order; null: races are not looked for
  char* kept;              // its static shared memory while another block of the group runs
};

// Worker is a thread of the machine and what it runs.
struct Worker {
  Block** blocks;       // those that there is memory for
  int room;
  int group;            // how many of them run at once: the group
  int cluster_blocks;
  int ended;            // how many of the group have
  Block* block;         // that runs
  Storage variables;
  GroupBarrier grid;
  GroupBarrier* clusters;
  Thread* current;
  Fiber machine;        // the machine thread's own stack
  Fiber* fiber;         // the stack that runs
  Fiber* idle;          // stacks without a thread
  int fibers;
  Slab slab;            // where the next come from
  void (*run)(void* const* arguments);
  void* const* arguments;
  bool cooperative, dependent;
};

static inline unsigned schedule_draw(Block* b, unsigned below) {
  b->drawn = b->drawn * 6364136223846793005ull + 1442695040888963407ull;
  return unsigned((b->drawn >> 33) % below);
}

// Decides in which order the block's threads start.
static void schedule_block(Block* b) {
  for (int i = 0; i < b->count; ++i) b->order[i] = short(i);
  if (!schedule_number) return;
  b->drawn = schedule_number * 0x9E3779B97F4A7C15ull + b->index.x * 0xD1B54A32D192ED03ull + b->index.y * 0x94D049BB133111EBull + b->index.z;
  for (int i = b->count - 1; i > 0; --i) {
    const unsigned j = schedule_draw(b, unsigned(i) + 1);
    const short held = b->order[i];
    b->order[i] = b->order[j];
    b->order[j] = held;
  }
}

// Takes a thread that is ready; null if none is.
static inline Thread* schedule_next(Block* b) {
  if (schedule_number)
    for (unsigned turns = b->ready.size ? schedule_draw(b, unsigned(b->ready.size < 8 ? b->ready.size : 8)) : 0; turns > 0; --turns)
      b->ready.push(b->ready.pop());
  return b->ready.pop();
}

static inline Worker* worker() { return static_cast<Worker*>(autotune_context.worker); }

static void copies_reset(Thread* t);
static void bulk_loads_land_all(Worker* w);
static bool group_move(Worker* w);
static void group_deadlock(Worker* w) __attribute__((noreturn));
static void fiber_main();

static Fiber* worker_idle_fiber(Worker* w) {
  if (Fiber* f = w->idle) {
    w->idle = f->next;
    return f;
  }
  Fiber* f = fiber_new(&w->slab, w->fibers++, fiber_main);
  if (!f) report_end("crashed", "the kernel left no memory for the stacks of a block's threads");
  return f;
}

static inline void worker_go(Worker* w, Fiber* to) {
  Fiber* from = w->fiber;
  w->fiber = to;
  fiber_switch(from, to);
}

static inline void block_resume(Worker* w, Thread* t) {
  w->current = t;
  autotune_context.thread_index = t->index;
}

static inline void block_release(Queue& waiting) {
  while (Thread* t = waiting.pop()) {
    t->waits_at = nullptr;
    t->block->ready.push(t);
  }
}

static inline bool block_runnable(const Block* b) { return b->ready.first || b->started < b->count; }

// Leaves the running stack for whatever can go on: a thread of the block, one of
// another block, or the machine when all have ended. Products and bulk loads take as long
// as other threads of the block have something to do.
static void worker_leave(Worker* w) {
  if (!block_runnable(w->block)) block_release(w->block->at_products);
  if (!block_runnable(w->block)) bulk_loads_land_all(w);
  Fiber* to = &w->machine;
  if (block_runnable(w->block) || group_move(w)) {
    Thread* next = schedule_next(w->block);
    to = next ? next->fiber : worker_idle_fiber(w);
  } else if (w->ended < w->group) {
    group_deadlock(w);
  }
  if (to != w->fiber) worker_go(w, to);
}

// The current thread has joined a queue: run something else until it is ready.
static void block_wait(Worker* w, Thread* t, const char* at) {
  races_settle();
  t->waits_at = at;
  t->fiber = w->fiber;
  worker_leave(w);
  block_resume(w, t);
}

// --- the barrier of all threads ---

static bool barrier_complete(Block* block) {
  Barrier& b = block->barriers[0];
  if (b.arrived == 0 || b.arrived + block->exited < block->count) return false;
  block->yes = block->votes;
  block->all = b.arrived;
  block->votes = b.arrived = 0;
  races_block_barrier(block);
  block_release(b.waiting);
  return true;
}

static inline void barrier_arrive(Worker* w) {
  Barrier& b = w->block->barriers[0];
  ++b.arrived;
  if (barrier_complete(w->block)) return;
  b.waiting.push(w->current);
  block_wait(w, w->current, "__syncthreads");
}

extern "C" void autotune_block_barrier() { barrier_arrive(worker()); }

extern "C" void autotune_block_vote(int predicate, int* yes, int* all) {
  Worker* w = worker();
  Block* b = w->block;
  b->votes += predicate != 0;
  barrier_arrive(w);
  *yes = b->yes;
  *all = b->all;
}

extern "C" void autotune_named_barrier(int number, int threads, int wait) {
  Worker* w = worker();
  if (number == 0 && wait && threads == w->block->count) return barrier_arrive(w);
  static const char* const names[16] = {
      "named barrier 0", "named barrier 1", "named barrier 2",  "named barrier 3",  "named barrier 4",  "named barrier 5",
      "named barrier 6", "named barrier 7", "named barrier 8",  "named barrier 9",  "named barrier 10", "named barrier 11",
      "named barrier 12", "named barrier 13", "named barrier 14", "named barrier 15"};
  if (number < 0 || number > 15) report_end("crashed", "a named barrier has a number from 0 to 15");
  if (threads <= 0 || threads % 32 != 0) report_end("crashed", "a named barrier is for a multiple of 32 threads");
  Barrier& b = w->block->barriers[number];
  if (b.arrived == 0) b.expected = threads;
  if (b.expected != threads) report_end("crashed", "threads come to one named barrier with different counts");
  races_named_arrive(w, number);
  if (++b.arrived == threads) {
    b.arrived = 0;
    block_release(b.waiting);
  } else if (wait) {
    b.waiting.push(w->current);
    block_wait(w, w->current, names[number]);
  }
  if (wait) races_named_leave(w, number);
}
