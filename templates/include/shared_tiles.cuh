// shared_tiles.cuh: assigns output tiles of a matrix product to blocks. Blocks take whole tiles one after the other,
// but the last tiles may be too few for all blocks. With SHARING, blocks therefore split the k loops of the last
// tiles, so that all blocks finish at the same time.
//
// The k steps of the last tiles form one sequence, of which every block gets an equal part. A block's part may end in
// the middle of a tile; the block then stores its partial sums in a workspace (LeftSums). The block that computes the
// last k steps of a tile waits for the partial sums of the other blocks and adds them up in a fixed order. A block
// works through its part from the end to the beginning, so that no block waits for a block that starts later.
//
// SHARING is the number of blocks whose tiles read the same columns of B at the same time, so that the L2 holds these
// columns for all of them. If SHARING is 0, no tile is split.
#pragma once
#include "gemm_tiles.cuh"
#include "vector_access.cuh"

template <class Work>
struct TakenTiles {
    int index;      // of the current tile
    Stages stages;  // of the current tile
    int from, to;   // rest of the block's part of the shared sequence

    __device__ __forceinline__ TakenTiles() : index(blockIdx.x), from(0), to(0) {
        if (SHARING > 0) from = border(group()), to = border(group() + 1);
        settle();
    }
    __device__ __forceinline__ bool more() const { return SHARING > 0 ? stages.end > 0 : index < Tiles<Work>::all(); }
    __device__ __forceinline__ void next() {
        if (SHARING > 0 && index >= whole()) to -= stages.end - stages.first;
        if (SHARING == 0 || index < whole()) index += gridDim.x;
        settle();
    }
    // for_each_before calls f for each block that computes earlier k steps of the current tile.
    template <class F>
    __device__ __forceinline__ void for_each_before(const F& f) const {
        const int begins = (index - whole()) / kInStep * Work::kStages;
        for (int g = group(); border(g) > begins; --g) f((g - 1) * kInStep + blockIdx.x % kInStep);
    }

   private:
    __device__ __forceinline__ static int groups() { return gridDim.x / kInStep; }
    __device__ __forceinline__ static int group() { return blockIdx.x / kInStep; }
    // whole returns the number of tiles that are not split.
    __device__ __forceinline__ static int whole() {
        const int all = Tiles<Work>::all(), blocks = gridDim.x;
        return all < blocks ? 0 : (all / blocks - 1) * blocks;
    }
    // border returns where the part of a group of blocks begins in the sequence of the split tiles' k steps.
    __device__ __forceinline__ static int border(int group) {
        return static_cast<long long>((Tiles<Work>::all() - whole()) / kInStep * Work::kStages) * group / groups();
    }
    // settle computes the block's range of k steps in the current tile.
    __device__ __forceinline__ void settle() {
        if (SHARING == 0) {
            if (more()) stages = Tiles<Work>::stages(index);
        } else if (index < whole()) {
            stages = {0, Work::kStages};
        } else {
            const int unit = (to - 1) / Work::kStages, begins = unit * Work::kStages;
            index = whole() + unit * kInStep + blockIdx.x % kInStep;
            stages = to > from ? Stages{from > begins ? from - begins : 0, to - begins} : Stages{0, 0};
        }
    }
};

// LeftSums is the workspace for partial sums of one tile per block. A flag for each warp says whether its sums are
// stored; an earlier launch clears the flags.
struct LeftSums {
    float* sums;
    int* there;
    static constexpr int kWarps = 8, kOfWarp = ROW_BLOCKS * COLUMNS / 2 * 32;

    __device__ __forceinline__ void leave(const Sums (&tile)[ROW_BLOCKS], int warp, int warps) const {
        float* const to = sums + static_cast<long long>(blockIdx.x * warps + warp) * kOfWarp + threadIdx.x % 32 * 4;
#pragma unroll
        for (int i = 0; i < ROW_BLOCKS * COLUMNS / 2; i += 4) store_vector<4>(to + i * 32, &tile[i / (COLUMNS / 2)][i % (COLUMNS / 2)]);
        __threadfence();
        __syncwarp();
        if (threadIdx.x % 32 == 0) static_cast<volatile int*>(there)[blockIdx.x * kWarps + warp] = 1;
    }
    __device__ __forceinline__ void add(Sums (&tile)[ROW_BLOCKS], int block, int warp, int warps) const {
        if (threadIdx.x % 32 == 0) {
            while (static_cast<volatile int*>(there)[block * kWarps + warp] == 0) continue;
            __threadfence();
        }
        __syncwarp();
        const float4* const left = reinterpret_cast<const float4*>(sums + static_cast<long long>(block * warps + warp) * kOfWarp) + threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < ROW_BLOCKS * COLUMNS / 2; i += 4) {
            const float4 four = __ldcg(left + i * 8);
            float* const to = &tile[i / (COLUMNS / 2)][i % (COLUMNS / 2)];
            to[0] += four.x, to[1] += four.y, to[2] += four.z, to[3] += four.w;
        }
    }
    // clear resets the flags of all warps; an earlier launch calls it.
    __device__ __forceinline__ static void clear(int* there, int blocks) {
        for (int i = threadIdx.x; i < blocks * kWarps; i += blockDim.x) there[i] = 0;
    }
};
