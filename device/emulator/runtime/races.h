// races.h: what the runtime tells the search for data races (race_clocks.h) of what orders a kernel's threads. In
// programs that do not look for races it is nothing.
#pragma once

struct Worker;
struct Block;
struct Launch;
struct RaceBlock;

#ifdef AUTOTUNE_RACES
static void races_prepare();
static void races_launch(const Launch& launch);
static void races_settle();
static void races_block_prepare(Worker* w, Block* b, size_t dynamic_bytes);
static void races_block_reset(Block* b);
static void races_block_barrier(Block* b);
static void races_warp_meet(Block* b, int warp, unsigned lanes);
static void races_named_arrive(Worker* w, int number);
static void races_named_leave(Worker* w, int number);
static void races_group_met(Worker* w, int first, int count, bool grid);
static void races_mbarrier_made(void* barrier, const void* pc);
static void races_mbarrier_arrive(void* barrier, const void* pc);
static void races_mbarrier_wait(void* barrier, const void* pc);
static void races_bulk_issue(void* destination, void* barrier, const void* pc);
static void races_copy(void* destination, int bytes, const void* pc);
#else
static inline void races_prepare() {}
static inline void races_launch(const Launch&) {}
static inline void races_settle() {}
static inline void races_block_prepare(Worker*, Block*, size_t) {}
static inline void races_block_reset(Block*) {}
static inline void races_block_barrier(Block*) {}
static inline void races_warp_meet(Block*, int, unsigned) {}
static inline void races_named_arrive(Worker*, int) {}
static inline void races_named_leave(Worker*, int) {}
static inline void races_group_met(Worker*, int, int, bool) {}
static inline void races_mbarrier_made(void*, const void*) {}
static inline void races_mbarrier_arrive(void*, const void*) {}
static inline void races_mbarrier_wait(void*, const void*) {}
static inline void races_bulk_issue(void*, void*, const void*) {}
static inline void races_copy(void*, int, const void*) {}
#endif
