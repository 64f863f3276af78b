// conv2d by Hopper's wgmma, as an implicit matrix product, for up to 16 input channels (sm_90a). The kernel is made
// for convolutions that write more than they read, and so are limited by write bandwidth.
//
// As in implicit_gemm.cu, the input lies in shared memory once, and each tap reads it at a constant offset. Producer
// warps load input tiles, consumer warpgroups multiply and run the epilogue, and store warps store
// (warpgroup_conv.cuh).
//
// A tile has COLUMNS * PIECES neighbouring pixels of the padded input (virtual_plane.cuh). Pixels in the padding
// after a row's end are multiplied, but not stored. A channel's stores begin at 32-byte sectors, since storing a
// sector in two parts is slow.
//
// Each input row is loaded KERNEL_H times; warpgroup_walk.cu avoids this where rows are wide.
//
// Tunables:
//   COLUMNS, PIECES: pixels per wgmma, and wgmmas per tile and tap
//   STAGES:          input tiles in shared memory
//   PRODUCER_WARPS:  8: more loads in flight; 4: more registers for the consumers
//   STORE_WARPS:     2: two warps only store; 0: the consumers store
//   PINGPONG:        1: one consumer warpgroup multiplies while the other is in its epilogue; 0: both run freely
//   ALIGNMENT:       alignment of stores in floats; 8 stores whole sectors

#include "warpgroup_conv.cuh"

namespace {

constexpr int kTilesInImage = TILES / N;
static_assert(RUN >= 8, "rows are too short for this tile");

// The patch consists of KERNEL_H rows of SPAN pixels. With MERGED, rows of a patch that overlap are stored only once.
constexpr int kTapRow = MERGED ? DILATION_H * PITCH : SPAN;

// Pipeline is the ring buffer of STAGES input tiles between producers and consumers.
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

// Tile computes RUN outputs of each channel from POSITIONS pixels of the padded input. Stores begin at a 32-byte
// sector, which may be up to SLACK pixels before the tile's first output (run_shift).
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

// produce is the loop of the producer warps.
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

// Layout maps a tile's pixels to places in the store buffer. Pixels of the padding at the end of a row are dropped.
// Inner says that no output row ends in the tile, so that most pixels need no check.
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

// ConsumerTiles combines tile scheduler and pipeline for a consumer warpgroup.
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
