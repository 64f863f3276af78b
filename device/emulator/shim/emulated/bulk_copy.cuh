// bulk_copy.cuh, emulated: the destination of a bulk load holds NaNs until a thread waits for the load's mbarrier
// (mbarriers.h). An emulated bulk store finishes at once.
#pragma once

inline void bulk_load(void* shared, const void* global, int bytes, Mbarrier* barrier) {
    autotune_bulk_load(shared, global, bytes, barrier);
}
inline void bulk_store(void* global, const void* shared, int bytes) {
    char* to = static_cast<char*>(global);
    const char* from = static_cast<const char*>(shared);
    for (int i = 0; i < bytes; ++i) to[i] = from[i];
}
template <bool Streaming>
inline void bulk_store_hinted(void* global, const void* shared, int bytes) {
    bulk_store(global, shared, bytes);
}
inline void bulk_store_commit() {}
template <int Groups = 0> inline void bulk_store_wait_read() {}
