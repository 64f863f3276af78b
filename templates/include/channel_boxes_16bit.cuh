// channel_boxes_16bit.cuh: channel_boxes.cuh of bf16 and fp16: 64 elements of k in 128 bytes (swizzled_16bit.cuh).
// Where factors are scaled, they are fp16 made of floats (power_scale.cuh).
//
// Taps of a stage share its boxes. A tap's products begin some lines further on, at any line. Eight of their rows
// are eight pixels of a row of the image. The next eight lie below, a row of the box further on: a product has one
// such distance, from eight rows to the next.
#pragma once
#include "element.cuh"
#define PARTS (kOfBf16 ? one_bf16 : one_fp16)
#include "place.cuh"
#include "swizzled_16bit.cuh"

#if SCALED
typedef f16 Factor;
#else
typedef Element Factor;
#endif

struct BoxProducts {
    static constexpr bool kFromRegisters = false;
    static constexpr int kBlockBytes = kBlockRows * BOX_LINES / BOX * kLineBytes;  // of 64 rows
    static constexpr bool kShared = kStageTaps > 1;
    static constexpr int kApart = !kShared ? 0 : DOWN == 1 ? BOX_LINES : BOX_ACROSS;  // lines from eight rows to the next
    static_assert(!kShared || (RUN == 8 && IMAGES == 1 && (DOWN == 1 || DOWN == 8 || BOX_LINES == DOWN * BOX_ACROSS)), "all of a product's rows are as far apart");

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns, int /*index*/, int block, int column) {
        typedef Lines<COLUMNS_ALONG_K, TILE_N> Columns;
        typedef SwizzledLines<true, kLineBytes> Rows;
        wgmma_fence();
#pragma unroll
        for (int tap = 0; tap < kStageTaps; ++tap)
#pragma unroll
            for (int step = 0; step < DEPTH; ++step)
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r) {
                    const int further = tap / TAPS_ACROSS * TAP_STEP_H * BOX_ACROSS + tap % TAPS_ACROSS * TAP_STEP_W;
                    const char* const rows = stage + step / Columns::kSteps * (TILE_M / kBlockRows * kBlockBytes) + (block + r) * kBlockBytes;
                    wgmma_16bit<kAreBf16, COLUMNS>(sums[r], Rows(rows + further * kLineBytes, step % Columns::kSteps, kApart * kLineBytes),
                                                   Columns::at(columns + tap * (Columns::kBoxes * Columns::kBoxBytes), column, step));
                }
    }
};
