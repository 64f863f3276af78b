// conv2d on Hopper's warpgroup products, as an implicit matrix product, for up to 16 input channels (sm_90a): made for
// convolutions that write much more than they read, and so are limited by the write bandwidth.
//
// The idea is that of implicit_gemm.cu: the input lies in shared memory once, and each tap reads it at a constant
// offset. Warpgroup products read the input from shared memory directly and asynchronously. Warps are specialised:
// producers load, consumer warpgroups multiply and write the epilogue, store warps store (warpgroup_conv.cuh). Warps
// synchronise only at named barriers, which say that a stage of the pipeline is full or empty, or that half of a store
// buffer is full or free. Producers can run ahead of consumers by the stages of the pipeline, and consumers ahead of
// store warps by the store buffers.
//
// The data flow:
//   1. A patch, a stage of the pipeline, is KERNEL_H stretches of the virtual plane
//      (virtual_plane.cuh).
//   2. COLUMNS * PIECES neighbouring positions of the virtual plane are multiplied;
//      positions after a row's end are no outputs and are not stored.
//   3. A tile is a run of RUN pixels of the flat output plane for each channel, whatever
//      the width of rows. A channel's runs begin at 32-byte sectors: storing a sector
//      in two parts is so expensive that runs of 768 bytes would take 50 % longer.
//
// Each input row is loaded KERNEL_H times; warpgroup_walk.cu avoids this where rows are wide.
//
// Tunables and their trade-offs:
//   COLUMNS, PIECES: positions per product, products per tile: more positions give longer runs and less halo,
//                    but take shared memory and registers.
//   STAGES:          stages of the pipeline (3: loads start one tile earlier; 2: leaves room for
//                    longer runs).
//   PRODUCER_WARPS   8: more loads in flight; 4: more registers for the consumers.
//   STORE_WARPS      2: two warps of the producer warpgroups only store; 0: all of them load, and
//                    the consumers store.
//   PINGPONG         1: one consumer warpgroup multiplies while the other is in its
//                    epilogue; 0: both run freely.
//   ALIGNMENT:       alignment of runs, in floats: 8 for whole sectors, at the price of some
//                    positions that are multiplied but not stored; 4 multiplies none in vain.

#include "warpgroup_conv.cuh"

namespace {

constexpr int kTilesInImage = TILES / N;
static_assert(RUN >= 8, "rows are too short for this tile");

// The patch consists of KERNEL_H stretches of SPAN pixels. Stretches that overlap much become one stretch.
constexpr int kTapRow = MERGED ? DILATION_H * PITCH : SPAN;

// Pipeline is the ring of STAGES patches between producers and consumers.
struct Pipeline {
    char* patches;
    __device__ __forceinline__ char* patch(int stage) const { return patches + stage * PATCH_BYTES; }
    __device__ __forceinline__ static void producer_acquire(int stage) { named_barrier_wait(kEmpty + stage, kThreads); }
    __device__ __forceinline__ static void producer_commit(int stage) {
        publish_to_async_proxy();
        named_barrier_arrive(kFull + stage, kThreads);
    }
    __device__ __forceinline__ static void consumer_wait(int stage) { named_barrier_wait(kFull + stage, kThreads); }
    __device__ __forceinline__ static void consumer_release(int stage) { named_barrier_arrive(kEmpty + stage, kThreads); }

    static constexpr int kFull = kFreeBarrier, kEmpty = kFull + STAGES, kThreads = kConsumerThreads + kProducerThreads;
};

// Tile computes RUN outputs of each channel from POSITIONS positions of the virtual plane. Output planes begin anywhere
// in a 32-byte sector of memory. To begin at a sector, each channel's run starts up to SLACK pixels early (run_shift).
struct Tile {
    int image;
    int first;  // pixel of the flat output plane where unshifted runs begin
    int start;  // pixel where the multiplied positions begin
    int y, x;   // its row and column
};

__device__ __forceinline__ Tile tile_at(int index) {
    Tile tile;
    tile.image = index / kTilesInImage;
    tile.first = index % kTilesInImage * RUN;
    tile.start = tile.first > SLACK ? tile.first - SLACK : 0;
    tile.y = tile.start / W_OUT;
    tile.x = tile.start % W_OUT;
    return tile;
}

// TileScheduler is persistent: a block takes every gridDim.x-th tile.
struct TileScheduler {
    int index;
    __device__ __forceinline__ TileScheduler() : index(blockIdx.x) {}
    __device__ __forceinline__ bool more() const { return index < TILES; }
    __device__ __forceinline__ bool last() const { return index + gridDim.x >= TILES; }
    __device__ __forceinline__ void next() { index += gridDim.x; }
    __device__ __forceinline__ Run run() const {
        const Tile tile = tile_at(index);
        return {tile.image, tile.first, tile.first + RUN};
    }
};

__device__ __forceinline__ void load_patch(char* patch, const float* planes, const Tile& tile, int thread) {
    const int start = (tile.y - PADDING_H) * PITCH + tile.x - PADDING_W;
#pragma unroll 1
    for (int pixel = thread; pixel < PATCH; pixel += kProducerThreads) {
        const int stretch = MERGED ? 0 : pixel / SPAN;
        int offset;
        const bool inside = input_offset(start + pixel + stretch * (DILATION_H * PITCH - SPAN), offset);
        copy_pixel(patch, pixel, planes + (inside ? offset : 0), inside);
    }
}

// produce is the loop of the producer warps: with a third stage, they start to load the tile after next before they
// convert the next one.
__device__ __forceinline__ void produce(const Pipeline& pipeline, const float* inputs, int thread, float power, float* largest) {
    constexpr int ahead = STAGES - 2;
    unsigned most = 0;
    const TileScheduler tiles;
    int asked = 0;
    for (int done = 0, index = tiles.index; index < TILES; ++done, index += gridDim.x) {
        for (; asked <= done + ahead; ++asked) {
            const int next = tiles.index + asked * gridDim.x;
            if (next < TILES) {
                const int stage = asked % STAGES;
                if (asked >= STAGES) pipeline.producer_acquire(stage);
                const Tile tile = tile_at(next);
                load_patch(pipeline.patch(stage), inputs + tile.image * (static_cast<long long>(C) * kInPlane), tile,
                           thread);
            }
            async_copy_commit();
        }
        async_copy_wait<ahead>();
        most = max(most, convert_patch(pipeline.patch(done % STAGES), thread, power));
        pipeline.producer_commit(done % STAGES);
    }
    leave(largest, most);
}

// Layout maps a tile's positions to places in the store buffer; `first` holds the places of the tile's first position
// in the lane's two rows. At the end of an output row, positions that are no outputs are dropped and the next row moves
// up. Inner says that no row ends in the tile, and that the tile's first position is SLACK positions before its
// unshifted run. With Inner, only positions near the tile's ends need a check.
template <bool Inner>
struct Layout {
    int x, first[2];
    __device__ __forceinline__ static constexpr bool always(int position) {
        return Inner && position >= SLACK && position + 8 <= RUN;
    }
    __device__ __forceinline__ int at(int r, int position) const {
        bool output = true;
        if (!Inner) {
            const int column = x + position;
            const int rows = POSITIONS <= PITCH ? column >= PITCH : column / PITCH;
            output = column - rows * PITCH < W_OUT;
            position -= rows * kRowJump;
        }
        const int place = first[r] + position;
        return output && place < RUN ? place : -1;
    }
};

// ConsumerTiles combines the tile scheduler and the pipeline for a consumer.
struct ConsumerTiles : TileScheduler {
    Pipeline pipeline;
    int stage;
    __device__ __forceinline__ explicit ConsumerTiles(const Pipeline& pipeline) : pipeline(pipeline), stage(0) {}
    __device__ __forceinline__ void next() {
        TileScheduler::next();
        stage = stage + 1 < STAGES ? stage + 1 : 0;
    }
    __device__ __forceinline__ void consumer_wait() const { pipeline.consumer_wait(stage); }
    __device__ __forceinline__ const char* tap_row(int r) const { return pipeline.patch(stage) + r * kTapRow * 16; }
    __device__ __forceinline__ void consumer_release() const {
        if (index + STAGES * gridDim.x < TILES) pipeline.consumer_release(stage);
    }
    __device__ __forceinline__ bool inner() const {
        const Tile tile = tile_at(index);
        return tile.x + POSITIONS <= W_OUT && tile.first >= SLACK;
    }
    template <bool Inner>
    __device__ __forceinline__ Layout<Inner> layout(const int (&shifts)[2]) const {
        const Tile tile = tile_at(index);
        const int back = tile.start - tile.first;
        return {tile.x, {back + shifts[0], back + shifts[1]}};
    }
};

__device__ __forceinline__ void convolve(const float* x, const float* weight, float* largest, const float* bias, float* y,
                                         const PowerScale& input, const Epilogue& epilogue) {
    extern __shared__ __align__(128) uint4 memory[];
    const Pipeline pipeline = {reinterpret_cast<char*>(memory)};
    float* const store_buffer = reinterpret_cast<float*>(pipeline.patch(STAGES));

    const Role role;
    if (role.consumes()) {
        more_registers<kConsumerRegisters>();
        consume_tiles(ConsumerTiles(pipeline), role, y, store_buffer, weight, bias, input, epilogue);
    } else {
        fewer_registers<kProducerRegisters>();
        if (role.stores())
            store_tiles(TileScheduler(), role, y, store_buffer);
        else
            produce(pipeline, role.inputs(x), role.producer_thread(), input.power, largest);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv2d_warpgroup_gemm(const float* __restrict__ x, const float* __restrict__ weight, float* largest, const float* found,
                          const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    PowerScale input(0);
    if (input_power(input, x, found)) convolve(x, weight, largest, bias, y, input, {EPILOGUE_ARGUMENTS});
}
