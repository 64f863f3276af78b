// race_clocks.h finds data races: accesses of two threads to the same bytes, one of them a write, that nothing orders.
//
// The kernel is compiled with -fsanitize=thread, so that each access calls a function of race_hooks.h. The
// sanitizer's own library is not linked: what follows knows a GPU's threads, and takes its place.
//
// For each word of four bytes that a kernel may write (shared memory, outputs, workspaces, __device__ variables)
// there is a cell: who wrote last, and two threads that read since. An access conflicts with these unless it comes
// after them:
//
// - Within a block each thread has a clock. A thread knows how far the others' clocks had come when it last met
//   them: at __syncthreads all, at a warp operation its lanes, at named barriers and mbarriers those that arrived.
// - Between blocks the clock is the block's alone: how many fences its threads have passed. Whoever reads, by an
//   atomic or volatile access, what a thread of that block wrote so after the fence, knows all before the fence.
//   Any thread of a block learns for all of it.
// - Barriers of a cluster or grid let blocks know all of each other.
//
// Where this is not exact, it takes accesses for ordered. A store that leaves the memory as it was is no race: the
// store follows the call that announces it, so that a conflict is judged at the next call.
#pragma once

static const int64_t kRaceWords = 60 << 20;         // that are looked at, a job
static const int64_t kRaceAccesses = 400 << 20;     // likewise, those to other memory included
static const size_t kRaceTensorBytes = 32u << 20;   // likewise, of tensors
static const size_t kRaceKnownBytes = 256u << 20;   // what blocks may know of others
static const size_t kRaceMemory = size_t(6) << 30;  // addresses that all this takes, at most

struct RaceRecord {
  uint32_t generation;  // of the memory's contents: another one is no conflict
  uint32_t block, clock, fences, pc;
  uint16_t thread;
  uint8_t bytes;  // of the word, a bit each; 0: nobody
  bool atomic;
};

struct RaceCell {
  RaceRecord write, reads[2];  // reads by different threads, the last one first
  uint32_t sync;               // of a word that threads meet at: its number in race.syncs
};

// RaceSync is what can be known from a barrier or an atomic variable.
struct RaceSync {
  RaceCell* cell;
  uint32_t generation;
  uint32_t base, fences;  // of the threads of its block: see RaceThread
  uint32_t* clocks;       // likewise; null: nothing
  uint32_t* known;        // of other blocks; null: nothing
  uint32_t version;       // of known
};

struct RaceThread {
  uint32_t clock;
  uint32_t base;     // it knows what the block's threads did at clocks before
  uint32_t fences;   // and before so many fences of the block
  uint32_t* clocks;  // and what each did up to its clock here
};

struct RaceBlock {
  RaceThread* threads;
  int room, count;
  uint32_t generation, index, fences;
  uint32_t* known;  // of each block of the launch: what it did before so many fences
  uint32_t known_size;
  bool knows, meets;  // anything of others; threads of several warps by clocks
  const RaceSync* learned;  // last, and its version
  uint32_t learned_version;
  RaceCell *statics, *dynamic;
  size_t statics_bytes, dynamic_bytes;  // that there are cells for
  RaceSync named[16];
};

// RaceRegion is memory that blocks share, with its cells.
struct RaceRegion {
  uintptr_t first;
  size_t bytes;
  RaceCell* cells;
  const char* tensor;  // null: the program's variables
};

// RaceDoubt is a conflict whose store has not happened yet.
struct RaceDoubt {
  uintptr_t word;
  uint32_t held;
  RaceRecord mine, other;
  bool other_writes;
  RaceRegion* region;
};

struct Races {
  bool on;
  RaceRegion regions[kArguments + 1];
  int region_count;
  size_t tensor_bytes_left_out;
  uint32_t generation, launch_generation;  // the last one given, that of global memory
  const Launch* launch;
  int64_t left, accesses_left;  // words that are still looked at in this launch, and accesses
  int64_t started, looked, blocks;  // blocks of the launch that ran out of them
  RaceSync* syncs;
  uint32_t sync_count, sync_room;
  size_t known_bytes;
  RaceDoubt doubts[16];
  int doubt_count;
  int launches;  // begun
};

static Races race;

static RaceCell* race_cells(size_t bytes) {
  const size_t size = (bytes / 4 + 2) * sizeof(RaceCell);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) report_unable("no memory to look for races");
  return static_cast<RaceCell*>(memory);
}

static void race_region(uintptr_t first, size_t bytes, const char* tensor) {
  if (bytes == 0) return;
  race.regions[race.region_count++] = {first, bytes, race_cells(bytes), tensor};
}

// The program's variables, the kernel's among them: what is written of the executable itself.
static int race_variables(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum && race.region_count < kArguments; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W)) race_region(info->dlpi_addr + part.p_vaddr, part.p_memsz, nullptr);
  }
  return 1;  // the first object is the executable
}

static void races_prepare() {
  size_t left = kRaceTensorBytes;
  for (int i = 0; i < job.tensor_count; ++i) {
    const Tensor& t = job.tensors[i];
    if (role_read_only(t.role) || t.elements == 0) continue;
    const size_t bytes = tensor_bytes(t), looked = bytes < left ? bytes : left;
    race_region(reinterpret_cast<uintptr_t>(t.data), looked, t.name);
    left -= looked;
    race.tensor_bytes_left_out += bytes - looked;
  }
  dl_iterate_phdr(race_variables, nullptr);
}

// How far races were looked for, as a member of the answer.
static void race_looked(Text& line) {
  line.add("\"looked\":{\"first_blocks\":%lld,\"of\":%lld,\"bytes_left_out\":%zu}", (long long)race.looked, (long long)race.blocks, race.tensor_bytes_left_out);
}

// Looks no further in this launch. Where no other kernel follows, that is the end.
static void races_stop() {
  if (!race.on) return;
  race.on = false;
  race.looked = race.started;
  race.blocks = race.launch->blocks();
  if (job.launch_count > 1) return;
  Text line;
  line.add("{\"status\":\"ok\",\"launches\":%d,", race.launches);
  race_looked(line);
  line.add("}\n");
  report_write(line.data, line.size);
  _exit(0);
}

static void races_launch(const Launch& launch) {
  race.launch = &launch;
  race.on = true;
  race.launch_generation = ++race.generation;
  ++race.launches;
  const int64_t launches = int64_t(job.launch_count) * (job.checks > 1 ? job.checks : 1);
  race.left = kRaceWords / launches;
  race.accesses_left = kRaceAccesses / launches;
  race.started = 0;
  race.doubt_count = 0;
  for (uint32_t i = 0; i < race.sync_count; ++i) {
    free(race.syncs[i].clocks);
    free(race.syncs[i].known);
  }
  race.sync_count = 0;
  race.known_bytes = 0;
}

// --- blocks ---

static void* race_new(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (!memory) report_unable("no memory to look for races");
  return memory;
}

// Makes room for what is known of a block's threads and shared memory.
static void races_block_prepare(Worker* w, Block* b, size_t dynamic_bytes) {
  if (!b->races) b->races = static_cast<RaceBlock*>(race_new(1, sizeof(RaceBlock)));
  RaceBlock* r = b->races;
  if (!r->statics) {
    r->statics = race_cells(w->variables.size);
    r->statics_bytes = w->variables.size;
  }
  if (dynamic_bytes > r->dynamic_bytes) {
    if (r->dynamic) munmap(r->dynamic, (r->dynamic_bytes / 4 + 2) * sizeof(RaceCell));
    r->dynamic = race_cells(dynamic_bytes);
    r->dynamic_bytes = dynamic_bytes;
  }
  if (b->count > r->room) {
    for (int i = 0; i < r->room; ++i) free(r->threads[i].clocks);
    free(r->threads);
    for (RaceSync& s : r->named) free(s.clocks), s.clocks = nullptr;
    r->threads = static_cast<RaceThread*>(race_new(size_t(b->count), sizeof(RaceThread)));
    for (int i = 0; i < b->count; ++i) r->threads[i].clocks = static_cast<uint32_t*>(race_new(size_t(b->count), sizeof(uint32_t)));
    r->room = b->count;
  }
  r->count = b->count;
}

// All threads of the block know what all did until now.
static void race_all_met(RaceBlock* r) {
  uint32_t most = 0;
  for (int i = 0; i < r->count; ++i)
    if (r->threads[i].clock > most) most = r->threads[i].clock;
  for (int i = 0; i < r->count; ++i) r->threads[i].clock = r->threads[i].base = most + 1;
}

// A block that is about to run has its index and new shared memory.
static void races_block_reset(Block* b) {
  RaceBlock* r = b->races;
  const uint3 g = race.launch->grid;
  r->index = uint32_t(b->index.x + uint64_t(g.x) * (b->index.y + uint64_t(g.y) * b->index.z));
  r->generation = ++race.generation;
  r->fences = 0;
  r->meets = false;
  race_all_met(r);
  for (int i = 0; i < r->count; ++i) r->threads[i].fences = 0;
  const uint32_t blocks = uint32_t(race.launch->blocks());
  if (blocks > r->known_size) {
    free(r->known);
    r->known = static_cast<uint32_t*>(race_new(blocks, sizeof(uint32_t)));
    r->known_size = blocks;
  } else if (r->knows) {
    memset(r->known, 0, r->known_size * sizeof(uint32_t));
  }
  r->knows = false;
  r->learned = nullptr;
  ++race.started;
}

static void races_block_barrier(Block* b) {
  races_settle();
  race_all_met(b->races);
}

// --- meetings of some threads ---

static void race_most(uint32_t* to, const uint32_t* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = to[i] > from[i] ? to[i] : from[i];
}

// What each lane of a warp brought is known to all of them. It is done before the work, whose accesses one lane
// makes for all, and after it.
static void races_warp_meet(Block* b, int warp, unsigned lanes) {
  races_settle();
  RaceBlock* r = b->races;
  RaceThread* threads = r->threads + warp * 32;
  const int from = r->meets ? 0 : warp * 32, upto = r->meets || warp * 32 + 32 > r->count ? r->count : warp * 32 + 32;
  static uint32_t all[1024];
  uint32_t base = 0, fences = 0;
  memset(all + from, 0, size_t(upto - from) * sizeof(uint32_t));
  for (unsigned left = lanes; left; left &= left - 1) {
    const RaceThread& t = threads[__builtin_ctz(left)];
    race_most(all + from, t.clocks + from, upto - from);
    if (t.base > base) base = t.base;
    if (t.fences > fences) fences = t.fences;
  }
  for (unsigned left = lanes; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    all[warp * 32 + lane] = threads[lane].clock;
  }
  // The lane that worked may have left the warp.
  const int worker_thread = int(worker()->current - b->threads);
  if (worker()->block == b && worker_thread / 32 == warp) all[worker_thread] = r->threads[worker_thread].clock;
  for (unsigned left = lanes; left; left &= left - 1) {
    RaceThread& t = threads[__builtin_ctz(left)];
    memcpy(t.clocks + from, all + from, size_t(upto - from) * sizeof(uint32_t));
    t.base = base;
    t.fences = fences;
    ++t.clock;
  }
}

static void race_arrive(RaceSync& s, RaceBlock* r, int thread) {
  RaceThread& t = r->threads[thread];
  if (!s.clocks) s.clocks = static_cast<uint32_t*>(race_new(1024, sizeof(uint32_t)));
  race_most(s.clocks, t.clocks, r->count);
  s.clocks[thread] = t.clock;
  if (t.base > s.base) s.base = t.base;
  if (t.fences > s.fences) s.fences = t.fences;
  ++t.clock;
}

static void race_leave(const RaceSync& s, RaceBlock* r, int thread) {
  RaceThread& t = r->threads[thread];
  if (!s.clocks) return;
  race_most(t.clocks, s.clocks, r->count);
  if (s.base > t.base) t.base = s.base;
  if (s.fences > t.fences) t.fences = s.fences;
  r->meets = true;
}

static void races_named_arrive(Worker* w, int number) {
  races_settle();
  race_arrive(w->block->races->named[number], w->block->races, int(w->current - w->block->threads));
}
static void races_named_leave(Worker* w, int number) {
  race_leave(w->block->races->named[number], w->block->races, int(w->current - w->block->threads));
}

// --- what blocks know of each other ---

static uint32_t* race_known_new() {
  const size_t bytes = size_t(race.launch->blocks()) * sizeof(uint32_t);
  race.known_bytes += bytes;
  if (race.known_bytes > kRaceKnownBytes) return races_stop(), nullptr;
  return static_cast<uint32_t*>(race_new(bytes, 1));
}

// What a block did before its last fence, and what it knows of others, can be known from s.
static void race_publish(RaceSync& s, RaceBlock* r) {
  if (r->fences == 0 && !r->knows) return;
  if (!s.known && !(s.known = race_known_new())) return;
  if (r->knows && !(r->learned == &s && r->learned_version == s.version)) race_most(s.known, r->known, int(r->known_size < race.launch->blocks() ? r->known_size : race.launch->blocks()));
  if (r->fences > s.known[r->index]) s.known[r->index] = r->fences;
  ++s.version;
}

static void race_learn(const RaceSync& s, RaceBlock* r, RaceThread& t) {
  if (!s.known) return;
  if (s.known[r->index] > t.fences) t.fences = s.known[r->index];
  if (r->learned == &s && r->learned_version == s.version) return;
  race_most(r->known, s.known, int(race.launch->blocks()));
  r->knows = true;
  r->learned = &s;
  r->learned_version = s.version;
}

// All blocks of a group that met know all of each other.
static void races_group_met(Worker* w, int first, int count, bool grid) {
  races_settle();
  for (int i = first; i < first + count; ++i) {
    Block* b = w->blocks[i];
    race_all_met(b->races);
    ++b->races->fences;
  }
  if (grid) race.launch_generation = ++race.generation;
  const int cluster = w->cluster_blocks;
  for (int i = first; i < first + count && cluster > 1; ++i) {
    RaceBlock* mine = w->blocks[i]->races;
    for (int k = i / cluster * cluster; k < i / cluster * cluster + cluster; ++k)
      if (k != i) {
        RaceBlock* other = w->blocks[k]->races;
        mine->known[other->index] = other->fences;
        if (other->knows) race_most(mine->known, other->known, int(race.launch->blocks()));
      }
    mine->knows = true;
    mine->learned = nullptr;
  }
}

// --- accesses ---

// RacePlace is memory that is looked at, from an address on.
struct RacePlace {
  RaceCell* cells;  // null: it is not
  uint32_t generation;
  RaceBlock* owner;  // of shared memory
  RaceRegion* region;
  size_t room;  // bytes from there on that have cells
};

static inline bool race_within(uintptr_t address, uintptr_t first, size_t bytes) { return address - first < bytes; }

static RacePlace race_shared(RaceBlock* r, RaceCell* cells, size_t offset, size_t bytes) { return {cells + offset / 4, r->generation, r, nullptr, bytes - offset}; }

static inline RacePlace race_place(Worker* w, uintptr_t address) {
  const RacePlace nowhere = {nullptr, 0, nullptr, nullptr, 0};
  const AutotuneContext& c = autotune_context;
  if (race_within(address, reinterpret_cast<uintptr_t>(&c), sizeof c)) return nowhere;
  if (w->fiber->stack && race_within(address, reinterpret_cast<uintptr_t>(w->fiber->stack), w->fiber->size)) return nowhere;
  const uintptr_t variables = reinterpret_cast<uintptr_t>(w->variables.first);
  if (race_within(address, variables, w->variables.size)) return race_shared(w->block->races, w->block->races->statics, address - variables, w->variables.size);
  const uintptr_t dynamic = reinterpret_cast<uintptr_t>(c.dynamic_shared);
  if (race_within(address, dynamic, w->block->dynamic_bytes)) return race_shared(w->block->races, w->block->races->dynamic, address - dynamic, w->block->dynamic_bytes);
  for (int i = 0; i < race.region_count; ++i) {
    RaceRegion& r = race.regions[i];
    if (race_within(address, r.first, r.bytes)) return {r.cells + (address - r.first) / 4, race.launch_generation, nullptr, &r, r.bytes - (address - r.first)};
  }
  for (int i = w->block->cluster_first; w->cluster_blocks > 1 && i < w->block->cluster_first + w->cluster_blocks; ++i) {
    Block* b = w->blocks[i];
    if (b == w->block) continue;
    const uintptr_t others = reinterpret_cast<uintptr_t>(b->dynamic_shared), kept = reinterpret_cast<uintptr_t>(b->kept);
    if (race_within(address, others, b->dynamic_bytes)) return race_shared(b->races, b->races->dynamic, address - others, b->dynamic_bytes);
    if (race_within(address, kept, w->variables.size)) return race_shared(b->races, b->races->statics, address - kept, w->variables.size);
  }
  return nowhere;
}

// Whether what a record tells comes before the running thread's access.
static inline bool race_before(const RaceRecord& old, const RaceBlock* r, int thread) {
  if (old.block != r->index) return r->knows && old.fences < r->known[old.block];
  const RaceThread& t = r->threads[thread];
  return old.thread == thread || old.clock < t.base || old.clock <= t.clocks[old.thread] || old.fences < t.fences;
}

static inline bool race_conflict(const RaceRecord& old, const RaceRecord& mine, const RaceBlock* r) {
  return old.generation == mine.generation && (old.bytes & mine.bytes) && !(old.atomic && mine.atomic) && !race_before(old, r, mine.thread);
}

static void race_found(const RaceRecord& mine, bool writes, const RaceRecord& other, bool other_writes, uintptr_t word, const RaceRegion* region);

static void races_settle() {
  for (int i = 0; i < race.doubt_count; ++i) {
    const RaceDoubt& d = race.doubts[i];
    uint32_t now;
    memcpy(&now, reinterpret_cast<const void*>(d.word), sizeof now);
    uint32_t mask = 0;
    for (int byte = 0; byte < 4; ++byte)
      if (d.mine.bytes >> byte & 1) mask |= 0xffu << 8 * byte;
    if ((now ^ d.held) & mask) race_found(d.mine, true, d.other, d.other_writes, d.word, d.region);
  }
  race.doubt_count = 0;
}

static void race_write(RaceCell& cell, const RaceRecord& mine, RaceBlock* r, const RacePlace& place, uintptr_t word) {
  const RaceRecord* other = race_conflict(cell.write, mine, r) ? &cell.write : nullptr;
  for (int i = 0; i < 2 && !other; ++i)
    if (race_conflict(cell.reads[i], mine, r)) other = &cell.reads[i];
  if (!other) {
    cell.write = mine;
    return;
  }
  if (race.doubt_count == int(sizeof race.doubts / sizeof race.doubts[0])) return;
  RaceDoubt& d = race.doubts[race.doubt_count++];
  d.word = word;
  memcpy(&d.held, reinterpret_cast<const void*>(word), sizeof d.held);
  d.mine = mine;
  d.other = *other;
  d.other_writes = other == &cell.write;
  d.region = place.region;
}

static void race_read(RaceCell& cell, const RaceRecord& mine, RaceBlock* r, const RacePlace& place, uintptr_t word) {
  if (race_conflict(cell.write, mine, r)) race_found(mine, false, cell.write, true, word, place.region);
  RaceRecord& last = cell.reads[0];
  const bool same = last.generation == mine.generation && last.block == mine.block && last.thread == mine.thread && last.atomic == mine.atomic;
  // A thread that comes after the last reader stands for it too.
  if (!same && last.generation == mine.generation && !(race_before(last, r, mine.thread) && (last.bytes & ~mine.bytes) == 0)) cell.reads[1] = last;
  last = mine;
}

enum RaceKind { kRaceRead, kRaceWrite, kRaceUpdate };

// A thread is about to access memory; pc is where.
static void race_access(uintptr_t address, size_t bytes, RaceKind kind, bool atomic, const void* pc) {
  if (race.doubt_count) races_settle();
  if (!race.on || !autotune_context.running) return;
  if (--race.accesses_left == 0) return races_stop();
  Worker* w = worker();
  const RacePlace place = race_place(w, address);
  if (!place.cells) return;
  if (bytes > place.room) bytes = place.room;
  RaceBlock* r = w->block->races;
  const int thread = int(w->current - w->block->threads);
  RaceRecord mine = {place.generation, r->index, r->threads[thread].clock, r->fences, uint32_t(reinterpret_cast<uintptr_t>(pc)), uint16_t(thread), 0, atomic};
  uintptr_t word = address & ~uintptr_t(3);
  for (RaceCell* cell = place.cells; word < address + bytes; ++cell, word += 4) {
    unsigned covered = 15;
    if (word < address) covered &= 15u << (address - word);
    if (word + 4 > address + bytes) covered &= 15u >> (word + 4 - address - bytes);
    mine.bytes = uint8_t(covered);
    if (kind == kRaceRead) race_read(*cell, mine, r, place, word);
    else race_write(*cell, mine, r, place, word);
    if (--race.left == 0) return races_stop();
  }
}

// --- atomics and barriers in memory ---

// The place where threads meet that access these bytes by atomics; null: nobody can have published anything there.
static RaceSync* race_sync(const RacePlace& place, bool make) {
  if (!place.cells) return nullptr;
  const uint32_t generation = place.owner ? place.owner->generation : 0;
  RaceCell* cell = place.cells;
  const bool known = cell->sync < race.sync_count && race.syncs[cell->sync].cell == cell;
  if (known && race.syncs[cell->sync].generation == generation) return &race.syncs[cell->sync];
  if (!make) return nullptr;
  if (!known && race.sync_count == race.sync_room) {
    race.sync_room = race.sync_room ? 2 * race.sync_room : 256;
    race.syncs = static_cast<RaceSync*>(realloc(race.syncs, race.sync_room * sizeof(RaceSync)));
    if (!race.syncs) report_unable("no memory to look for races");
    Worker* w = worker();
    for (int i = 0; i < w->group; ++i) w->blocks[i]->races->learned = nullptr;  // they have moved
  }
  if (!known) {
    cell->sync = race.sync_count++;
    memset(&race.syncs[cell->sync], 0, sizeof(RaceSync));
  }
  RaceSync& s = race.syncs[cell->sync];
  s.cell = cell;
  s.generation = generation;
  s.base = s.fences = 0;
  if (s.clocks) memset(s.clocks, 0, 1024 * sizeof(uint32_t));
  if (s.known) memset(s.known, 0, size_t(race.launch->blocks()) * sizeof(uint32_t));
  ++s.version;
  return &s;
}

static void race_fence() {
  if (race.doubt_count) races_settle();
  if (autotune_context.running) ++worker()->block->races->fences;
}

// An atomic or volatile access is about to happen. One that reads learns what others published there; one that
// writes publishes.
static void race_atomic(const volatile void* at, size_t bytes, RaceKind kind, bool fence, const void* pc) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  race_access(address, bytes, kind, true, pc);
  if (!race.on || !autotune_context.running) return;
  Worker* w = worker();
  RaceBlock* r = w->block->races;
  if (fence && kind != kRaceRead) ++r->fences;
  RaceSync* s = race_sync(race_place(w, address), kind != kRaceRead && (r->fences > 0 || r->knows));
  if (!s) return;
  if (kind != kRaceWrite) race_learn(*s, r, r->threads[w->current - w->block->threads]);
  if (kind != kRaceRead) race_publish(*s, r);
}

// mbarriers: who waits knows what those did that arrived, and what was loaded.
static void races_mbarrier_made(void* barrier, const void* pc) { race_access(reinterpret_cast<uintptr_t>(barrier), 8, kRaceWrite, false, pc); }

static void races_mbarrier_arrive(void* barrier, const void* pc) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(barrier);
  race_access(address, 8, kRaceRead, true, pc);
  if (!race.on) return;
  Worker* w = worker();
  const RacePlace place = race_place(w, address);
  RaceBlock* r = w->block->races;
  RaceSync* s = race_sync(place, true);
  if (!s) return;
  if (place.owner == r) return race_arrive(*s, r, int(w->current - w->block->threads));
  ++r->fences;  // of another block of the cluster
  race_publish(*s, r);
}

static void races_mbarrier_wait(void* barrier, const void* pc) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(barrier);
  race_access(address, 8, kRaceRead, true, pc);
  if (!race.on) return;
  Worker* w = worker();
  RaceBlock* r = w->block->races;
  const int thread = int(w->current - w->block->threads);
  RaceSync* s = race_sync(race_place(w, address), false);
  if (!s) return;
  race_leave(*s, r, thread);
  race_learn(*s, r, r->threads[thread]);
}

static void races_bulk_issue(void* destination, void* barrier, const void* pc) {
  race_access(reinterpret_cast<uintptr_t>(destination), 16, kRaceWrite, false, pc);
  races_mbarrier_arrive(barrier, pc);
}

static void races_copy(void* destination, int bytes, const void* pc) { race_access(reinterpret_cast<uintptr_t>(destination), size_t(bytes), kRaceWrite, false, pc); }

// --- the report ---

static void race_side(Text& line, const char* name, const RaceRecord& r, bool writes) {
  const uint3 g = race.launch->grid, d = race.launch->block;
  line.add(",\"%s\":{\"writes\":%s,\"atomic\":%s,\"pc\":%u,\"block\":[%u,%u,%u],\"thread\":[%u,%u,%u]}", name, writes ? "true" : "false", r.atomic ? "true" : "false", r.pc,
           r.block % g.x, r.block / g.x % g.y, r.block / g.x / g.y, r.thread % d.x, r.thread / d.x % d.y, r.thread / d.x / d.y);
}

// Says what raced and ends the program: of many conflicts the first one is enough. The places are code addresses,
// which the parent knows the lines of.
static void race_found(const RaceRecord& mine, bool writes, const RaceRecord& other, bool other_writes, uintptr_t word, const RaceRegion* region) {
  Worker* w = worker();
  const uintptr_t address = word + unsigned(__builtin_ctz(mine.bytes & other.bytes));
  int bytes = 0;
  for (unsigned left = mine.bytes; left; left &= left - 1) ++bytes;
  Text line;
  line.add("{\"status\":\"wrong_result\",\"message\":\"\",\"race\":{\"kernel\":\"");
  if (report_kernel) report_escape(line, report_kernel);
  const uintptr_t variables = reinterpret_cast<uintptr_t>(w->variables.first);
  const bool is_static = !region && race_within(address, variables, w->variables.size);
  line.add("\",\"space\":\"%s\",\"bytes\":%d,\"address\":%llu", region ? region->tensor ? "tensor" : "variable" : is_static ? "static" : "shared", bytes,
           (unsigned long long)(region && region->tensor ? address - region->first : is_static ? address - variables : address));
  if (region && region->tensor) {
    line.add(",\"tensor\":\"");
    report_escape(line, region->tensor);
    line.add("\"");
  }
  race_side(line, "by", mine, writes);
  race_side(line, "with", other, other_writes);
  line.add("}}\n");
  report_write(line.data, line.size);
  _exit(0);
}

