// stream.cuh: blocks that compute a strip of the output from top to bottom (strip.cuh). While a step computes, the
// input rows of later steps are loaded, by asynchronous copies or, with COPY_ENGINE, by bulk copies.
//
//   Stream stream(x, shared, outside);        starts the first loads
//   stream_rows(stream, y, [&](const float (&span)[SPAN], int i) {
//       ... add input row i, whose columns are in span, to the thread's windows ...
//       stream.store_row(y, r, outputs);      when the windows of its row r end
//   });
#pragma once
#include "copy_stream.cuh"
#include "engine_stream.cuh"

#if COPY_ENGINE
typedef EngineStream Stream;
#else
typedef CopyStream Stream;
#endif

// stream_rows is the main loop over the steps of the block's strip and the input rows of each step.
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
