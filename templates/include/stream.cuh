// stream.cuh: blocks that walk down a strip of the output (strip.cuh) while the
// input rows of the steps to come are on their way, by asynchronous copies of the
// threads or, when COPY_ENGINE is set, by Hopper's copy engine.
//
//   Stream stream(x, shared, outside);
//   stream_rows(stream, y, [&](const float (&span)[Stream::Span], int i) {
//       ... join the span of the band's row i to the thread's windows ...
//       stream.store_row(y, r, outputs);      when those of its row r end
//   });
//
// Beside strip.cuh's macros GATHER and COPY_ENGINE are defined.
#pragma once
#include "copy_stream.cuh"
#include "engine_stream.cuh"

#if COPY_ENGINE
typedef EngineStream Stream;
#else
typedef CopyStream Stream;
#endif

// stream_rows takes a block through its strip: each thread through the rows of its
// band, step by step.
template <class Join>
__device__ __forceinline__ void stream_rows(Stream& stream, float* y, Join join) {
    for (; stream.more(); stream.end(y)) {
        stream.begin();
#pragma unroll
        for (int i = 0; i < band_rows(ROWS); ++i) {
            if (!row_is_used<ROWS>(i)) continue;
            float span[Stream::Span];
            stream.load_row(span, i);
            join(span, i);
        }
    }
    stream.finish();
}
