// swizzled_operands.cuh: mapped_operands.cuh's boxes of matrices of floats, which the copy
// engine rounds to TF32 on the way, ties to even.
//
// Products take columns along k, as they lie in such boxes; rows along k too, or rows that
// lie side by side (ROWS_ALONG_K = 0), which go by way of the consumers' registers. For those
// a box has, of eight elements of k, elements 0, 4, 1, 5, 2, 6, 3, 7 after each other: the four
// that neighbouring lanes load lie two rows apart then, and share no banks.
//
// With ROWS_EXACT they are not rounded yet: rows go by way of the registers then, and are there.
//
// A stage is DEPTH steps of 16, DEPTH even: rows and columns in boxes of 32 elements of k,
// and rows that lie side by side in boxes of 32 rows.
#pragma once
#include "mapped_operands.cuh"
#include "wgmma_swizzled.cuh"

#ifndef ROWS_EXACT
#define ROWS_EXACT 0
#endif
constexpr int kLineBytes = 128, kAtomDepth = 32;  // elements of k in a line
constexpr int kAtoms = DEPTH * kStepDepth / kAtomDepth;
constexpr int kEighths = DEPTH * kStepDepth / 8;         // products of a stage
constexpr int kRowsBoxBytes = kEighths * 8 * 128;        // of rows side by side
static_assert(DEPTH % 2 == 0 && PLANES == DEPTH, "whole boxes of 32 elements of k");
static_assert(STAGE_BYTES % 1024 == 0 && STAGE_A_BYTES % 1024 == 0, "boxes begin at multiples of 1024 bytes");

struct SwizzledProducts {
    static constexpr bool kFromRegisters = !ROWS_ALONG_K || ROWS_EXACT;

    template <class Work>
    __device__ __forceinline__ static void start(Sums (&sums)[ROW_BLOCKS], const char* stage, const char* columns, int /*index*/, int block, int column) {
        const char* const b = columns + column * 128;
#if ROWS_ALONG_K && !ROWS_EXACT
        const char* const a = stage + block * kBlockRows * 128;
        wgmma_fence();
#pragma unroll
        for (int e = 0; e < kEighths; ++e) {
            const SwizzledRows right(b + e / 4 * TILE_N * 128, e % 4);
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r)
                wgmma_swizzled<COLUMNS>(sums[r], SwizzledRows(a + e / 4 * TILE_M * 128 + r * kBlockRows * 128, e % 4), right);
        }
#else
        // Registers must be left alone while products read them: one half of the stage is
        // loaded while those of the other are under way.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            constexpr int eighths = kEighths / 2;
            unsigned a[eighths][ROW_BLOCKS][4];
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r) {
                const int row = warp_row<SwizzledProducts>(block, r) + threadIdx.x % 32 / 4, k = threadIdx.x % 4;
#pragma unroll
                for (int e = 0; e < eighths; ++e)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        a[e][r][i] = element(stage, row + i % 2 * 8, half * eighths + e, k + i / 2 * 4);
            }
            wgmma_fence();
#pragma unroll
            for (int e = 0; e < eighths; ++e) {
                const int eighth = half * eighths + e;
                const SwizzledRows right(b + eighth / 4 * TILE_N * 128, eighth % 4);
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r) wgmma_swizzled<COLUMNS>(sums[r], a[e][r], right);
            }
            if (half == 0) {
                wgmma_commit();
                wgmma_wait_groups<1>();
            }
        }
#endif
    }

    // element is a row's, of an eighth.
    __device__ __forceinline__ static unsigned element(const char* boxes, int row, int eighth, int k) {
#if ROWS_ALONG_K
        const int piece = eighth % 4 * 2 + k / 4 ^ row % 8;
        return round_to_tf32(*reinterpret_cast<const float*>(boxes + eighth / 4 * TILE_M * 128 + row * 128 + piece * 16 + k % 4 * 4));
#else
        const int at = eighth * 8 + k % 4 * 2 + k / 4, piece = row % 32 / 4 ^ at % 8;  // in the box's order
        return *reinterpret_cast<const unsigned*>(boxes + row / 32 * kRowsBoxBytes + at * 128 + piece * 16 + row % 4 * 4);
#endif
    }
};

struct Tf32Boxes {
    typedef SwizzledProducts Products;

    template <class Work>
    __device__ __forceinline__ static void load(char* stage, const MappedOperands& operands, const Tile& tile, int k, Mbarrier* full) {
        const int row = tile.m * TILE_M, column = tile.n * TILE_N;
        const int rows = Work::rows_of(tile.group), columns = Work::columns_of(tile.group);
#if !ROWS_ALONG_K
#pragma unroll
        for (int i = 0; i < TILE_M / 32; ++i)
            tensor_load(stage + i * kRowsBoxBytes, operands.rows, {row + i * 32, 0, 0, k / 8, rows}, full);
#endif
#pragma unroll
        for (int atom = 0; atom < kAtoms; ++atom) {
            const int at = k + atom * kAtomDepth;
#if ROWS_ALONG_K
            tensor_load(stage + atom * TILE_M * 128, operands.rows, {at, row, rows}, full);
#endif
            tensor_load(stage + STAGE_A_BYTES + atom * TILE_N * 128, operands.columns, {at, column, columns}, full);
        }
    }
};
