// mbarriers.h: barriers that live in the kernel's shared memory, 8 bytes each, and
// the bulk loads under way. See the shim's mbarriers.h for what this shows.
#pragma once

struct Mbarrier {
  uint16_t expected;  // arrivals a phase; 0 or all ones: nobody made this barrier
  uint16_t pending;
  int32_t bytes_and_phase;  // bytes still to come, times two, plus the phase's parity

  int parity() const { return bytes_and_phase & 1; }
  int bytes() const { return bytes_and_phase >> 1; }
};
static_assert(sizeof(Mbarrier) == 8, "a kernel leaves 8 bytes for an mbarrier");

struct BulkChunk {
  void* destination;
  Mbarrier* barrier;
  unsigned char value[16];
};

// The loads of a block that have not landed, in the order of their issue.
struct BulkLoads {
  BulkChunk* items;
  int size, room;
};

static Mbarrier* mbarrier_made(void* barrier) {
  Mbarrier* b = static_cast<Mbarrier*>(barrier);
  if (b->expected == 0 || b->expected == 0xffff) report_end("crashed", "an mbarrier is used that mbarrier_init did not make");
  return b;
}

static void mbarrier_complete(Mbarrier* b) {
  if (b->pending != 0 || b->bytes() != 0) return;
  b->pending = b->expected;
  b->bytes_and_phase ^= 1;
  Worker* w = worker();  // the barrier may be another block's of the cluster
  for (int rank = 0; rank < w->cluster_blocks; ++rank) block_release(w->blocks[w->block->cluster_first + rank]->at_mbarriers);
}

extern "C" void autotune_mbarrier_init(void* barrier, int arrivals) {
  if (arrivals <= 0 || arrivals >= 0xffff) report_end("crashed", "an mbarrier is made for 1 to 65534 arrivals");
  Mbarrier* b = static_cast<Mbarrier*>(barrier);
  races_mbarrier_made(barrier, __builtin_return_address(0));
  b->expected = b->pending = uint16_t(arrivals);
  b->bytes_and_phase = 0;
}

extern "C" void autotune_mbarrier_arrive(void* barrier, int bytes) {
  Mbarrier* b = mbarrier_made(barrier);
  if (b->pending == 0) report_end("crashed", "more arrivals at an mbarrier than it was made for");
  races_mbarrier_arrive(barrier, __builtin_return_address(0));
  --b->pending;
  b->bytes_and_phase += bytes * 2;
  mbarrier_complete(b);
}

static BulkLoads* bulk_loads(Worker* w) {
  Block* b = w->block;
  if (!b->bulk_loads) b->bulk_loads = static_cast<BulkLoads*>(calloc(1, sizeof(BulkLoads)));
  return b->bulk_loads;
}

extern "C" void autotune_bulk_issue(void* destination, const void* value, void* barrier) {
  races_bulk_issue(destination, barrier, __builtin_return_address(0));
  BulkLoads* loads = bulk_loads(worker());
  if (loads->size == loads->room) {
    loads->room = loads->room ? loads->room * 2 : 256;
    loads->items = static_cast<BulkChunk*>(realloc(loads->items, size_t(loads->room) * sizeof(BulkChunk)));
  }
  BulkChunk& chunk = loads->items[loads->size++];
  chunk.destination = destination;
  chunk.barrier = mbarrier_made(barrier);
  memcpy(chunk.value, value, sizeof chunk.value);
}

// Lets the loads of a block land that report to b.
static void bulk_loads_land(BulkLoads* loads, Mbarrier* b) {
  int kept = 0;
  for (int i = 0; i < loads->size; ++i) {
    const BulkChunk& chunk = loads->items[i];
    if (chunk.barrier != b) {
      loads->items[kept++] = chunk;
      continue;
    }
    memcpy(chunk.destination, chunk.value, sizeof chunk.value);
    b->bytes_and_phase -= 2 * int(sizeof chunk.value);
  }
  loads->size = kept;
}

// Lets all loads land that report to b: those of the cluster's other blocks, too.
static void bulk_loads_land(Mbarrier* b) {
  Worker* w = worker();
  for (int rank = 0; rank < w->cluster_blocks; ++rank)
    if (BulkLoads* loads = w->blocks[w->block->cluster_first + rank]->bulk_loads) bulk_loads_land(loads, b);
  mbarrier_complete(b);
}

extern "C" void autotune_mbarrier_wait(void* barrier, int parity) {
  Mbarrier* b = mbarrier_made(barrier);
  Worker* w = worker();
  while (b->parity() == parity) {
    bulk_loads_land(b);
    if (b->parity() != parity) break;
    w->block->at_mbarriers.push(w->current);
    block_wait(w, w->current, "an mbarrier");
  }
  races_mbarrier_wait(barrier, __builtin_return_address(0));
}

// When no thread of the block can go on, time passes until all loads are there.
static void bulk_loads_land_all(Worker* w) {
  while (w->block->bulk_loads && w->block->bulk_loads->size > 0) bulk_loads_land(w->block->bulk_loads->items[0].barrier);
}

// A block must not end before what it loads is there.
static void bulk_loads_ended(const Block* b) {
  if (b->bulk_loads && b->bulk_loads->size > 0) report_end("crashed", "a block ends while bulk loads are under way to it");
}
