// mbarrier.cuh, emulated by the runtime's barriers (mbarriers.h).
#pragma once

inline void mbarrier_init(Mbarrier* barrier, int arrivals) { autotune_mbarrier_init(barrier, arrivals); }
inline void mbarrier_arrive(Mbarrier* barrier) { autotune_mbarrier_arrive(barrier, 0); }
inline void mbarrier_expect(Mbarrier* barrier, int bytes) { autotune_mbarrier_arrive(barrier, bytes); }
inline void mbarrier_wait(Mbarrier* barrier, int parity) { autotune_mbarrier_wait(barrier, parity); }
