// stream.cuh: blocks that walk down a strip of the output (strip.cuh) in a pipeline. The input rows of later steps are
// loaded while a step computes, by asynchronous copies of the threads or, when COPY_ENGINE is set, by Hopper's copy
// engine.
//
//   Stream stream(x, shared, outside);        starts the first loads
//   stream_rows(stream, y, [&](const float (&span)[SPAN], int i) {
//       ... add the span of the band's row i to the thread's windows ...
//       stream.store_row(y, r, outputs);      when the windows of its row r end
//   });
//
// Macros used besides those of strip.cuh are the tunables GATHER and COPY_ENGINE.
#pragma once
#include "copy_stream.cuh"
#include "engine_stream.cuh"

#if COPY_ENGINE
typedef EngineStream Stream;
#else
typedef CopyStream Stream;
#endif

// stream_rows is the mainloop: it goes down the block's strip step by step, and in each step down the rows of each
// thread's band.
template <class Join>
__device__ __forceinline__ void stream_rows(Stream& stream, float* y, Join join) {
    for (; stream.more(); stream.end(y)) {
        stream.begin();
#pragma unroll
        for (int i = 0; i < BAND; ++i) {
            if (!row_is_used<ROWS>(i)) continue;
            float span[SPAN];
            stream.load_row(span, i);
            join(span, i);
        }
    }
    stream.finish();
}
