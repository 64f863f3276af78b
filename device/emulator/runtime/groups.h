// groups.h: blocks that run at once, on one thread of the machine: those of a
// cluster, or of a whole grid that is launched cooperatively; else one alone.
//
// A block runs until none of its threads can go on, then the next one does that
// can. What they read and write of each other is ordered by the barriers of the
// group alone, as on a GPU; and one that reads shared memory of a block that has
// not started or has ended finds NaNs.
#pragma once

static void block_enter(Worker* w, Block* b) {
  Block* from = w->block;
  if (from == b) return;
  if (from && from->exited < from->count) shared_keep(w->variables, from->kept);
  w->block = b;
  autotune_context.block_index = b->index;
  autotune_context.dynamic_shared = b->dynamic_shared;
  if (b->started > 0) return shared_restore(w->variables, b->kept);
  shared_fill_static(w->variables);
  shared_fill(b->dynamic_shared, b->dynamic_bytes);
  schedule_block(b);
}

// Goes on with the next block that can; false if none can.
static bool group_move(Worker* w) {
  for (int i = 1; i < w->group; ++i) {
    Block* b = w->blocks[(w->block->number + i) % w->group];
    if (block_runnable(b)) return block_enter(w, b), true;
  }
  return false;
}

// Says what the threads of a block wait at, with how many do.
static void group_deadlock(Worker* w) {
  const Block* b = w->block;
  for (int i = 0; b->exited == b->count; ++i) b = w->blocks[i];
  const char* names[32];
  int counts[32], kinds = 0;
  for (int i = 0; i < b->count; ++i) {
    const char* name = b->threads[i].waits_at;
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
  Text text;
  text.add("deadlock: block (%u,%u,%u): ", b->index.x, b->index.y, b->index.z);
  for (int k = 0; k < kinds; ++k)
    text.add("%s%d of %d thread%s wait%s at %s", k ? ", " : "", counts[k], b->count, b->count == 1 ? "" : "s", counts[k] == 1 ? "s" : "", names[k]);
  text.add("%s that others never reach", kinds > 1 ? ", each" : "");
  if (b->exited) text.add(" (%d %s exited)", b->exited, b->exited == 1 ? "has" : "have");
  if (w->ended) text.add(" (%d of the %d blocks that run at once %s ended)", w->ended, w->group, w->ended == 1 ? "has" : "have");
  report_end("deadlock", text.data);
}

// A thread that spins lets others run: those of the next block that can, else of its
// own.
extern "C" void autotune_yield() {
  Worker* w = worker();
  Thread* t = w->current;
  Block* mine = w->block;
  Thread* next = nullptr;
  races_settle();
  if (!group_move(w)) {
    next = schedule_next(mine);
    if (!next && mine->started == mine->count) {
      sched_yield();
      return;
    }
  } else {
    next = schedule_next(w->block);
  }
  t->fiber = w->fiber;
  mine->ready.push(t);
  worker_go(w, next ? next->fiber : worker_idle_fiber(w));
  block_resume(w, t);
}

// Kernels that may spin on what other threads write call this at each of their basic
// blocks (see spinning.go).
static const int kSteps = 10000;

extern "C" void __sanitizer_cov_trace_pc() {
  AutotuneContext& c = autotune_context;
  if (++c.steps < kSteps) return;
  c.steps = 0;
  if (c.running) autotune_yield();
}

// --- barriers of grids and clusters ---

static void group_barrier_complete(GroupBarrier& b) {
  if (b.arrived == 0 || b.arrived + b.gone < b.threads) return;
  b.arrived = 0;
  ++b.round;
  Worker* w = worker();
  const bool grid = &b == &w->grid;
  races_group_met(w, grid ? 0 : int(&b - w->clusters) * w->cluster_blocks, grid ? w->group : w->cluster_blocks, grid);
  block_release(b.waiting);
}

static GroupBarrier& group_barrier(Worker* w, Scope scope) {
  if (scope == kCluster) return *w->block->cluster;
  if (!w->cooperative) report_end("crashed", "grid.sync() in a launch that is not cooperative: its blocks need not run at once; say `cooperative: true` in the launch");
  return w->grid;
}

extern "C" void autotune_wait_for_launches() { worker()->current->waited = true; }

extern "C" void autotune_group_arrive(int scope) {
  Worker* w = worker();
  Thread* t = w->current;
  GroupBarrier& b = group_barrier(w, Scope(scope));
  if (t->arrived[scope]) {
    Text text;
    report_place(text);
    text.add(" arrives at %s twice without waiting in between", b.name);
    report_end("crashed", text.data);
  }
  t->arrived[scope] = true;
  t->round[scope] = b.round;
  ++b.arrived;
  group_barrier_complete(b);
}

extern "C" void autotune_group_wait(int scope) {
  Worker* w = worker();
  Thread* t = w->current;
  GroupBarrier& b = group_barrier(w, Scope(scope));
  if (!t->arrived[scope]) {
    Text text;
    report_place(text);
    text.add(" waits at %s without having arrived", b.name);
    report_end("crashed", text.data);
  }
  t->arrived[scope] = false;
  while (b.round == t->round[scope]) {
    b.waiting.push(t);
    block_wait(w, t, b.name);
  }
}

// A cluster's barrier does not wait for threads that have exited; a grid's does.
static void group_barrier_exit(GroupBarrier& b, const Thread* t) {
  if (t->arrived[kCluster] && t->round[kCluster] == b.round) --b.arrived;
  ++b.gone;
  group_barrier_complete(b);
}

// --- shared memory of a cluster's other blocks ---

static void group_misuse(const char* what) __attribute__((noreturn));
static void group_misuse(const char* what) {
  Text text;
  text.add("%s, ", what);
  report_place(text);
  report_end("crashed", text.data);
}

// Where what is at an address of this block's shared memory is in the one of that rank.
extern "C" void* autotune_map_shared(const void* address, unsigned rank) {
  Worker* w = worker();
  Block* mine = w->block;
  if (rank >= unsigned(w->cluster_blocks)) group_misuse("map_shared_rank asks for a block that the cluster does not have");
  Block* other = w->blocks[mine->cluster_first + int(rank)];
  if (other == mine) return const_cast<void*>(address);
  if (other->exited == other->count)
    group_misuse("map_shared_rank asks for a block that has ended; a cluster.sync() before the end keeps its shared memory");
  const char* at = static_cast<const char*>(address);
  const char* dynamic = static_cast<const char*>(mine->dynamic_shared);
  if (at >= dynamic && at < dynamic + mine->dynamic_bytes) return static_cast<char*>(other->dynamic_shared) + (at - dynamic);
  const char* variables = w->variables.first;
  if (at >= variables && at < variables + w->variables.size) return other->kept + (at - variables);
  group_misuse("map_shared_rank is given an address that is not in the block's shared memory");
}

// The rank of the block that has an address in its shared memory; -1 if none.
extern "C" int autotune_shared_rank(const void* address) {
  Worker* w = worker();
  const char* at = static_cast<const char*>(address);
  for (int rank = 0; rank < w->cluster_blocks; ++rank) {
    const Block* b = w->blocks[w->block->cluster_first + rank];
    const char* dynamic = static_cast<const char*>(b->dynamic_shared);
    const char* variables = b == w->block ? w->variables.first : b->kept;
    if ((at >= dynamic && at < dynamic + b->dynamic_bytes) || (at >= variables && at < variables + w->variables.size)) return rank;
  }
  return -1;
}

// --- from the first thread to the last ---

static inline void thread_start(Worker* w, Thread* t) {
  for (bool& arrived : t->arrived) arrived = false;
  t->waited = false;
  block_resume(w, t);
}

static inline void thread_exit(Worker* w, Thread* t) {
  Block* b = w->block;
  if (w->dependent && !t->waited) {
    Text text;
    report_place(text);
    text.add(" ends without cudaGridDependencySynchronize(): a dependent launch begins before those before it have ended");
    report_end("crashed", text.data);
  }
  races_settle();
  ++b->exited;
  if (t->copies) copies_reset(t);
  if (t->products) products_reset(t);
  warp_exit(b, int(t - b->threads));
  barrier_complete(b);
  group_barrier_exit(*b->cluster, t);
  if (b->exited < b->count) return;
  bulk_loads_ended(b);
  if (++w->ended && w->group > 1) shared_lose(w->variables, b);
}

// What every stack runs: threads of a block, one after the other, then it is idle.
// It is switched to only when there is a thread to start.
static void fiber_main() {
  Worker* w = worker();
  fiber_started(&w->machine);
  Fiber* self = w->fiber;
  for (;;) {
    Block* b = w->block;
    do {
      Thread* t = &b->threads[b->order[b->started++]];
      thread_start(w, t);
      w->run(w->arguments);
      thread_exit(w, t);
    } while (b->started < b->count && !b->ready.first);
    if (!fiber_intact(self)) report_end("crashed", "the kernel's local variables outgrow the emulator's stack of a thread");
    self->next = w->idle;
    w->idle = self;
    worker_leave(w);
  }
}

static void block_reset(Block* b) {
  b->started = b->exited = 0;
  for (int i = 0; i * 32 < b->count; ++i) {
    const int lanes = b->count - i * 32;
    b->warps[i].waiting = 0;
    b->warps[i].alive = lanes >= 32 ? ~0u : (1u << lanes) - 1u;
  }
  for (Barrier& barrier : b->barriers) barrier.arrived = 0;
  races_block_reset(b);
}

static void group_barrier_reset(GroupBarrier& b, const char* name, int threads) {
  b.name = name;
  b.threads = threads;
  b.arrived = b.gone = 0;
}

// Runs all threads of the group's blocks, each of which has its index, its memory and
// its cluster's barrier.
static void group_run(Worker* w) {
  w->ended = 0;
  for (int i = 0; i < w->group; ++i) block_reset(w->blocks[i]);
  if (w->group > 1)
    for (int i = 0; i < w->group; ++i) shared_lose(w->variables, w->blocks[i]);
  w->block = nullptr;
  block_enter(w, w->blocks[0]);
  w->fiber = &w->machine;
  worker_go(w, worker_idle_fiber(w));
}
