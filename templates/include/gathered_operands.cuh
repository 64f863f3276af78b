// gathered_operands.cuh: producers for slab_gemm.cuh that read operands in their original layout. PRODUCERS threads
// load elements into registers, round them or split them into bf16 parts, and store them in the shared-memory layout of
// wgmma (slab_operands.cuh).
//
// No separate launch packs the operands, but each tile rounds them again, which pays off if operands are reused little.
//
// The next stage is loaded into registers while the thread waits for a free stage in shared memory.
//
// The class Work needs these members besides those of slab_gemm.cuh:
//
//   Operands:      the constructor argument of Rows and Columns.
//   Rows, Columns: classes that read A and B, constructed from (operands, tile), with these members:
//                    kContiguous:  whether k is the contiguous axis,
//                    Line:         what a thread stores about one row of A or column of B,
//                    line(index)   returns a Line; past the end, any Line,
//                    load(line, k, values)  loads eight elements along k, and zeros past the end.
#pragma once
#include "slab_gemm.cuh"
#include "vector_access.cuh"

// Share is one thread's part of a stage: it loads and stores eight elements along k of a row or column at a time.
template <class Side, int Count>
struct Share {
    static constexpr int kHalves = 2 * DEPTH, kInAll = Count * kHalves, kItems = (kInAll + PRODUCERS - 1) / PRODUCERS;
    static constexpr int kLines = Side::kContiguous ? kItems : Count < PRODUCERS ? 1 : Count / PRODUCERS;
    static_assert(PRODUCERS % kHalves == 0 && (PRODUCERS % Count == 0 || Count % PRODUCERS == 0), "a thread keeps to its lines");

    typename Side::Line lines[kLines];

    __device__ __forceinline__ static int thread() { return threadIdx.x - kProducerThread; }
    __device__ __forceinline__ static int index(int i) {  // row or column in the tile
        const int item = thread() + i * PRODUCERS;
        return Side::kContiguous ? item / kHalves : item % Count;
    }
    __device__ __forceinline__ static int half(int i) {
        const int item = thread() + i * PRODUCERS;
        return Side::kContiguous ? item % kHalves : item / Count;
    }
    __device__ __forceinline__ static bool there(int i) { return kInAll % PRODUCERS == 0 || thread() + i * PRODUCERS < kInAll; }

    __device__ __forceinline__ Share(const Side& side, int first) {
#pragma unroll
        for (int i = 0; i < kLines; ++i) lines[i] = side.line(first + index(i));
    }
    __device__ __forceinline__ void load(const Side& side, int k, float (&v)[kItems][8]) const {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
            if (there(i)) side.load(lines[i % kLines], k + 8 * half(i), v[i]);
    }
    // store writes the loaded elements to shared memory, where slab(index, step) returns the address for a row or
    // column.
    template <class Slab>
    __device__ __forceinline__ static void store(const float (&v)[kItems][8], int apart, const Slab& slab) {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
            if (there(i)) store_half(slab(index(i), half(i) / 2), apart, half(i) % 2, v[i]);
    }
};

struct Gatherers {
    typedef SlabProducts Products;
    template <class Work>
    __device__ __forceinline__ static void produce(const Pipeline& pipeline, const typename Work::Operands& operands) {
        typedef Share<typename Work::Rows, TILE_M> RowShare;
        typedef Share<typename Work::Columns, TILE_N> ColumnShare;
        Turn turn;
        for (int index = blockIdx.x; index < Tiles<Work>::all(); index += gridDim.x) {
            const Tile tile = Tiles<Work>::at(index);
            const Stages stages = Tiles<Work>::stages(index);
            const typename Work::Rows rows(operands, tile);
            const typename Work::Columns columns(operands, tile);
            const RowShare row_share(rows, tile.m * TILE_M);
            const ColumnShare column_share(columns, tile.n * TILE_N);
            for (int s = stages.first; s < stages.end; ++s, turn.next()) {
                float a[RowShare::kItems][8], b[ColumnShare::kItems][8];
                column_share.load(columns, s * DEPTH * kStepDepth, b);
                row_share.load(rows, s * DEPTH * kStepDepth, a);
                mbarrier_wait(pipeline.empty(turn.slot), turn.parity ^ 1);
                char* const stage = pipeline.stage(turn.slot);
                ColumnShare::store(b, COLUMN_SLAB_BYTES, [=](int column, int step) { return stage + STAGE_A_BYTES + step * COLUMN_PLANE_BYTES + column * 16; });
                RowShare::store(a, kRowSlabBytes, [=](int row, int step) {
                    return stage + (row / kBlockRows * DEPTH + step) * kStepBytes + row % kBlockRows * 16;
                });
                publish_to_async_proxy();
                __syncwarp();
                if (threadIdx.x % 32 == 0) mbarrier_arrive(pipeline.full(turn.slot));
            }
        }
    }
};

template <bool Contiguous, int Depth>
struct MatrixLines {
    static constexpr bool kContiguous = Contiguous;
    typedef const float* Line;
    const float* matrix;
    int lines;

    __device__ __forceinline__ Line line(int index) const {
        const int there = index < lines ? index : lines - 1;
        return matrix + there * (Contiguous ? static_cast<long long>(Depth) : 1ll);
    }
    __device__ __forceinline__ void load(Line line, int k, float (&v)[8]) const {
        constexpr int width = Contiguous && Depth % 4 == 0 ? 4 : 1;  // elements per load
#pragma unroll
        for (int i = 0; i < 8; i += width) {
            if (Depth % (DEPTH * kStepDepth) == 0 || k + i < Depth)
                load_vector<width>(v + i, line + (k + i) * (Contiguous ? 1ll : static_cast<long long>(lines)));
            else
#pragma unroll
                for (int j = 0; j < width; ++j) v[i + j] = 0.0f;
        }
    }
};
