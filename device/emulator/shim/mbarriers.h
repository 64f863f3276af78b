// mbarriers.h: barriers in shared memory and the loads that report to them.
// emulated/mbarrier.cuh and emulated/bulk_copy.cuh use it.
//
// A load's bytes are read when it is issued and written when a thread comes to wait
// at its barrier, or when all that run wait for something; until then the
// destination holds NaNs, as in async.h.
#pragma once

extern "C" {
void autotune_mbarrier_init(void* barrier, int arrivals);
// Arrives, and announces that many bytes.
void autotune_mbarrier_arrive(void* barrier, int bytes);
void autotune_mbarrier_wait(void* barrier, int parity);
// Takes 16 bytes for destination; value holds them.
void autotune_bulk_issue(void* destination, const void* value, void* barrier);
}

// Source and destination must be aligned to 16 bytes; whole chunks are touched as
// such, for the sanitizers to see.
inline void autotune_bulk_load(void* destination, const void* source, int bytes, void* barrier) {
  assert(bytes > 0 && bytes % 16 == 0 && "a bulk load moves a multiple of 16 bytes");
  uint4 nothing;
  __builtin_memset(&nothing, 0xff, sizeof nothing);
  for (int i = 0; i < bytes / 16; ++i) {
    const uint4 value = static_cast<const uint4*>(source)[i];
    static_cast<uint4*>(destination)[i] = nothing;
    autotune_bulk_issue(static_cast<uint4*>(destination) + i, &value, barrier);
  }
}
