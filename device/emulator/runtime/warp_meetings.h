// warp_meetings.h: what the lanes of a warp do together; see the shim's warps.h.
#pragma once

static void warp_mismatch(const Thread* mine, const Thread* other) __attribute__((noreturn));
static void warp_mismatch(const Thread* mine, const Thread* other) {
  Text text;
  const uint3 block = autotune_context.block_index;  // a lane that exits may be the one that runs
  text.add("block (%u,%u,%u), thread (%u,%u,%u)", block.x, block.y, block.z, mine->index.x, mine->index.y, mine->index.z);
  text.add(" is at %s with mask 0x%08x while thread (%u,%u,%u) of its warp is at %s with mask 0x%08x", mine->waits_at, mine->mask,
           other->index.x, other->index.y, other->index.z, other->waits_at, other->mask);
  report_end("crashed", text.data);
}

// Lets the lanes of `needed` go on, all of which wait at the same operation.
static void warp_complete(Block* b, int warp, unsigned needed, AutotuneWarpWork work) {
  void* lanes[32];
  Thread* threads = b->threads + warp * 32;
  for (unsigned left = needed; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    lanes[lane] = threads[lane].brought;
  }
  races_warp_meet(b, warp, needed);
  if (work) {
    // It is code of the kernel's file, and must not be interrupted: see groups.h.
    int& steps = autotune_context.steps;
    const int held = steps;
    steps = INT_MIN;
    work(lanes, needed);
    steps = held;
    races_warp_meet(b, warp, needed);
  }
  b->warps[warp].waiting &= ~needed;
  for (unsigned left = needed; left; left &= left - 1) threads[__builtin_ctz(left)].waits_at = nullptr;
}

extern "C" void autotune_warp_meet(unsigned mask, const char* operation, void* brought, AutotuneWarpWork work) {
  Worker* w = worker();
  Block* b = w->block;
  Thread* t = w->current;
  const int number = int(t - b->threads), warp = number / 32, lane = number % 32;
  Warp& state = b->warps[warp];
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
    Thread* threads = b->threads + warp * 32;
    for (unsigned left = needed; left; left &= left - 1) {
      const Thread* other = &threads[__builtin_ctz(left)];
      if (other->mask != mask || strcmp(other->waits_at, operation) != 0) warp_mismatch(t, other);
    }
    warp_complete(b, warp, needed, work);
    for (unsigned left = needed & ~(1u << lane); left; left &= left - 1) b->ready.push(&threads[__builtin_ctz(left)]);
    return;
  }
  block_wait(w, t, operation);
}

extern "C" unsigned autotune_warp_alive() {
  const Worker* w = worker();
  return w->block->warps[(w->current - w->block->threads) / 32].alive;
}

extern "C" void* autotune_products(unsigned long bytes) {
  Thread* t = worker()->current;
  if (!t->products) t->products = calloc(1, bytes);
  return t->products;
}

extern "C" void autotune_products_wait() {
  Worker* w = worker();
  w->block->at_products.push(w->current);
  block_wait(w, w->current, "wgmma_wait");
}

static void products_reset(Thread* t) { memset(t->products, 0, 2 * sizeof(int)); }

// A lane that exits may be the last that its warp's others wait for.
static void warp_exit(Block* b, int number) {
  const int warp = number / 32;
  Warp& state = b->warps[warp];
  state.alive &= ~(1u << (number % 32));
  Thread* threads = b->threads + warp * 32;
  for (unsigned left = state.waiting; left; left &= left - 1) {
    Thread* t = &threads[__builtin_ctz(left)];
    const unsigned needed = t->mask & state.alive;
    if ((state.waiting & needed) != needed) continue;
    for (unsigned others = needed; others; others &= others - 1) {
      const Thread* other = &threads[__builtin_ctz(others)];
      if (other->mask != t->mask || strcmp(other->waits_at, t->waits_at) != 0) warp_mismatch(t, other);
    }
    warp_complete(b, warp, needed, t->work);
    for (unsigned others = needed; others; others &= others - 1) b->ready.push(&threads[__builtin_ctz(others)]);
    left &= ~needed;
    if (!left) break;
  }
}
