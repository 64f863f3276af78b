// shared_tiles.cuh: computes the order of a block's tiles, and which stages of each tile the block computes
// (gemm_tiles.cuh). Blocks take whole tiles in turn. With SHARING, blocks share the last tiles, of which there are too
// few for all blocks: the stages of these tiles form one sequence, and every block gets an equal part of that sequence,
// give or take one stage. With shared tiles, all blocks end at the same time, whatever the number of tiles.
//
// A block goes through its part of the sequence from the end to the beginning. The stages that a block computes first
// are the beginning of a tile, whose sums the block stores in a workspace (LeftSums). The last stages of a block's part
// are the end of another tile, whose first stages other blocks compute. The block that computes a tile's last stages
// waits for the sums of the blocks that compute its earlier stages, and adds them up, always in the same order. No
// block waits for a block that may start later, and a block computes and stores the sums for which other blocks wait
// before its other sums.
//
//   SHARING: number of blocks (a multiple of CLUSTER) whose tiles lie below each other, so that they
//            read the same columns at the same time, and the L2 holds the columns for all of them.
//            If SHARING is 0, no tile is shared by blocks.
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
    // for_each_before calls f for each block that computes earlier stages of the current tile.
    template <class F>
    __device__ __forceinline__ void for_each_before(const F& f) const {
        const int begins = (index - whole()) / kInStep * Work::kStages;
        for (int g = group(); border(g) > begins; --g) f((g - 1) * kInStep + blockIdx.x % kInStep);
    }

   private:
    __device__ __forceinline__ static int groups() { return gridDim.x / kInStep; }
    __device__ __forceinline__ static int group() { return blockIdx.x / kInStep; }
    // whole returns the number of tiles that are not shared: those of all rounds in which each block has a tile, except
    // for the last round.
    __device__ __forceinline__ static int whole() {
        const int all = Tiles<Work>::all(), blocks = gridDim.x;
        return all < blocks ? 0 : (all / blocks - 1) * blocks;
    }
    // border returns the first stage of the part that a group of blocks has in the sequence of all stages of shared
    // tiles.
    __device__ __forceinline__ static int border(int group) {
        return static_cast<long long>((Tiles<Work>::all() - whole()) / kInStep * Work::kStages) * group / groups();
    }
    // settle computes which stages of the current tile the block computes and, if blocks share the tile, the tile's
    // index.
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

// LeftSums stores the sums of tiles that another block will finish: the sums of one tile per block, contiguous for each
// warp, and a flag per warp that says whether its sums are stored; an earlier launch clears these flags.
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
    // clear clears the flags of all warps; one block of an earlier launch calls it.
    __device__ __forceinline__ static void clear(int* there, int blocks) {
        for (int i = threadIdx.x; i < blocks * kWarps; i += blockDim.x) there[i] = 0;
    }
};
