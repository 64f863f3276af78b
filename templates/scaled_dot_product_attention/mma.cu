// scaled_dot_product_attention for bf16 or fp16 by mma.sync (sm_80 on), fused as in FlashAttention.
//
// Tiles of K and V are copied to shared memory asynchronously, in a pipeline of STAGES stages. A warp has ROW_BLOCKS
// blocks of 16 queries, and keeps their scores with a tile of keys in registers. The softmax is online: if a row's
// maximum grows, earlier sums are scaled down. The exponentials of the scores are the operand that multiplies V. Rows
// in shared memory are padded by 16 bytes, so that ldmatrix has no bank conflicts.
//
// Tunables:
//   warps:      warps per block
//   row_blocks: blocks of 16 queries per warp
//   tile_keys:  keys per tile
//   stages:     pipeline stages
//   keep:       1: the queries stay in registers; 0: they are loaded again for every tile
#include "async_copy.cuh"
#include "element_mma.cuh"
#include "ldmatrix.cuh"
#include "online_softmax.cuh"
#ifndef WARPS
#define WARPS 4
#define ROW_BLOCKS 1
#define TILE_KEYS 64
#define STAGES 2
#define KEEP 0
#endif

namespace {

constexpr int kThreads = 32 * WARPS;
constexpr int kSteps = PADDED / 16, kBlocksV = PADDED_V / 8;          // of the width: 16 to multiply, 8 of values

// copy_lines starts copying `lines` rows of Width elements of Q, K or V; rows beyond the last one become zeros.
template <int Lines, int Width, int Padded, int Pitch>
__device__ __forceinline__ void copy_lines(Element* to, const Element* from, int lines) {
    constexpr int pieces = Padded / 8;
#pragma unroll 4
    for (int i = threadIdx.x; i < Lines * pieces; i += kThreads) {
        const int line = i / pieces, piece = i % pieces;
        const bool valid = line < lines && piece * 8 < Width;
        async_copy<16>(to + line * Pitch + piece * 8, from + (valid ? static_cast<long long>(line) * Width + piece * 8 : 0), valid);
    }
}

// load_fragments loads 16 x 16 elements as one mma.sync operand A or as two operands B.
template <bool Transposed = false>
__device__ __forceinline__ void load_fragments(unsigned (&r)[4], const Element* lines, int pitch, bool rows) {
    const int lane = threadIdx.x % 32, low = lane / 8 % 2 * 8, high = lane / 16 * 8;
    ldmatrix<4, Transposed>(r, lines + (lane % 8 + (rows ? low : high)) * pitch + (rows ? high : low));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    scaled_dot_product_attention_mma(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                                     const Element* __restrict__ mask, Element* __restrict__ y) {
    extern __shared__ __align__(16) uint4 memory[];
    Element* const queries = reinterpret_cast<Element*>(memory);
    const Rows rows(ROWS, blockIdx.x);
    const AttentionPlain plain = {q, k, v, mask};
    const long long group = rows.group_kv();
    k += group * KEYS * WIDTH;
    v += group * KEYS * WIDTH_V;
    const int met = rows.met(ROWS), tiles = (met + TILE_KEYS - 1) / TILE_KEYS;
    const auto load = [&](int tile) {
        if (tile < tiles) {
            Element* const stage = queries + ROWS * PITCH + tile % STAGES * STAGE;
            const int first = tile * TILE_KEYS;
            copy_lines<TILE_KEYS, WIDTH, PADDED, PITCH>(stage, k + static_cast<long long>(first) * WIDTH, KEYS - first);
            copy_lines<TILE_KEYS, WIDTH_V, PADDED_V, PITCH_V>(stage + TILE_KEYS * PITCH, v + static_cast<long long>(first) * WIDTH_V, KEYS - first);
        }
        async_copy_commit();
    };
    copy_lines<ROWS, WIDTH, PADDED, PITCH>(queries, q + rows.first_row() * WIDTH, QUERIES - rows.first);
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) load(tile);

    const int mine = threadIdx.x / 32 * 16 * ROW_BLOCKS;  // the warp's first row in the block
    unsigned kept[KEEP ? ROW_BLOCKS : 1][KEEP ? kSteps : 1][4];
    OnlineSoftmax softmax[ROW_BLOCKS];
    float sums[ROW_BLOCKS][kBlocksV][4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        async_copy_wait<STAGES - 2>();
        __syncthreads();  // the tile has arrived, and all warps have read the one before
        load(tile + STAGES - 1);
        const Element* const keys = queries + ROWS * PITCH + tile % STAGES * STAGE;
        const Element* const values = keys + TILE_KEYS * PITCH;
        if (KEEP && tile == 0) {
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r)
#pragma unroll
                for (int step = 0; step < kSteps; ++step) load_fragments(kept[KEEP ? r : 0][KEEP ? step : 0], queries + (mine + 16 * r) * PITCH + step * 16, PITCH, true);
        }

        float products[ROW_BLOCKS][TILE_KEYS / 8][4] = {};
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            unsigned a[ROW_BLOCKS][4];
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r) {
                if constexpr (KEEP)
                    for (int i = 0; i < 4; ++i) a[r][i] = kept[r][step][i];
                else
                    load_fragments(a[r], queries + (mine + 16 * r) * PITCH + step * 16, PITCH, true);
            }
#pragma unroll
            for (int n = 0; n < TILE_KEYS / 16; ++n) {
                unsigned b[4];
                load_fragments(b, keys + n * 16 * PITCH + step * 16, PITCH, false);
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r) {
                    multiply_elements(products[r][2 * n], a[r], {b[0], b[1]});
                    multiply_elements(products[r][2 * n + 1], a[r], {b[2], b[3]});
                }
            }
        }
#pragma unroll
        for (int r = 0; r < ROW_BLOCKS; ++r) {
            float less[2];
            if (!softmax[r].weigh(products[r], rows, mine + 16 * r, tile * TILE_KEYS, mask, less)) continue;
#pragma unroll
            for (int j = 0; j < kBlocksV; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[r][j][i] *= less[i / 2];
        }
#pragma unroll
        for (int n = 0; n < TILE_KEYS / 16; ++n) {
            unsigned a[ROW_BLOCKS][4];
#pragma unroll
            for (int r = 0; r < ROW_BLOCKS; ++r) pack_weights(a[r], products[r][2 * n], products[r][2 * n + 1]);
#pragma unroll
            for (int j = 0; j < kBlocksV / 2; ++j) {
                unsigned b[4];
                load_fragments<true>(b, values + n * 16 * PITCH_V + j * 16, PITCH_V, true);
#pragma unroll
                for (int r = 0; r < ROW_BLOCKS; ++r) {
                    multiply_elements(sums[r][2 * j], a[r], {b[0], b[1]});
                    multiply_elements(sums[r][2 * j + 1], a[r], {b[2], b[3]});
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; ++r) softmax[r].store(sums[r], rows, mine + 16 * r, plain, y);
}
