// async.h: copies that are under way. emulated/async_copy.cuh uses it.
//
// A copy's bytes are read when it is issued and written when the thread waits
// for its group; until then its destination holds NaNs. A kernel that forgets to
// wait, or waits for one group too few, or overwrites a stage that others still
// read, so computes NaNs here instead of being right by luck.
#pragma once

extern "C" {
// Takes a copy to `bytes` bytes at destination; value holds them.
void autotune_async_issue(void* destination, const void* value, int bytes);
void autotune_async_commit();
// Waits until at most `groups` of this thread's committed groups are under way.
void autotune_async_wait(int groups);
}

template <int Bytes> struct AutotuneChunk;
template <> struct AutotuneChunk<4> { typedef unsigned type; };
template <> struct AutotuneChunk<8> { typedef uint2 type; };
template <> struct AutotuneChunk<16> { typedef uint4 type; };

// Copies source_bytes bytes and zeros up to Bytes. Source and destination must be
// aligned to Bytes; whole chunks are touched as such, for the sanitizers to see.
template <int Bytes>
inline void autotune_async_copy(void* destination, const void* source, int source_bytes) {
  typedef typename AutotuneChunk<Bytes>::type Chunk;
  Chunk value = Chunk();
  if (source_bytes == Bytes) {
    value = *static_cast<const Chunk*>(source);
  } else {
    for (int i = 0; i < source_bytes; ++i)
      reinterpret_cast<unsigned char*>(&value)[i] = static_cast<const unsigned char*>(source)[i];
  }
  Chunk nothing;
  __builtin_memset(&nothing, 0xff, sizeof nothing);
  *static_cast<Chunk*>(destination) = nothing;
  autotune_async_issue(destination, &value, Bytes);
}
