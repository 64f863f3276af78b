// async_copy.cuh, emulated: the destination of a copy holds NaNs until the thread waits for the copy (async.h).
#pragma once

template <int Bytes>
inline void async_copy_partial(void* shared, const void* global, int present) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    autotune_async_copy<Bytes>(shared, global, present);
}
inline void async_copy_commit() { autotune_async_commit(); }
template <int Groups> inline void async_copy_wait() { autotune_async_wait(Groups); }
inline void async_copy_wait_all() {
    autotune_async_commit();
    autotune_async_wait(0);
}
