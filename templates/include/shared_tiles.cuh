// shared_tiles.cuh: which tiles a block takes, one after the other, and which stages of each
// (gemm_tiles.cuh). Blocks take whole tiles in turn. With SHARING the last tiles, which would leave
// some blocks without one, are shared: their stages form one row, and every block has as many of it
// as another, give or take one. So all blocks end at a time, however many tiles there are.
//
// A block goes through its part of that row from its end to its beginning. First comes the beginning of a
// tile, whose sums it leaves in a workspace (LeftSums). Last comes the rest of another. The block that has
// a tile's last stages waits for the sums of the blocks before it. It adds them up, always in the same
// order. It waits for no block that may start after it, and those left their sums first of all.
//
//   SHARING  blocks in step, and those of a cluster at least: their tiles lie below each other, and they are at the
//            same stages of the same columns at a time, so that the L2 has those. 0: blocks take whole tiles alone
#pragma once
#include "gemm_tiles.cuh"
#include "vector_access.cuh"

template <class Work>
struct TakenTiles {
    int index;      // of the tile
    Stages stages;  // of it
    int from, to;   // what is left of the block's part of the shared row

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
    // for_each_before calls for each block that has stages of this tile before this block's.
    template <class F>
    __device__ __forceinline__ void for_each_before(const F& f) const {
        const int begins = (index - whole()) / kInStep * Work::kStages;
        for (int g = group(); border(g) > begins; --g) f((g - 1) * kInStep + blockIdx.x % kInStep);
    }

   private:
    __device__ __forceinline__ static int groups() { return gridDim.x / kInStep; }
    __device__ __forceinline__ static int group() { return blockIdx.x / kInStep; }
    // whole tiles come first: all rounds in which each block has one, but for the last.
    __device__ __forceinline__ static int whole() {
        const int all = Tiles<Work>::all(), blocks = gridDim.x;
        return all < blocks ? 0 : (all / blocks - 1) * blocks;
    }
    // border is where in the row of shared stages a group's part begins.
    __device__ __forceinline__ static int border(int group) {
        return static_cast<long long>((Tiles<Work>::all() - whole()) / kInStep * Work::kStages) * group / groups();
    }
    // settle finds the stages of the tile at hand, and among the shared ones the tile.
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

// LeftSums are what blocks leave of tiles that others end: a tile's sums a block, a warp's side by side, and
// whether a warp's are there. A launch before sets that to zero.
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
    // clear is a block's, in a launch before.
    __device__ __forceinline__ static void clear(int* there, int blocks) {
        for (int i = threadIdx.x; i < blocks * kWarps; i += blockDim.x) there[i] = 0;
    }
};
