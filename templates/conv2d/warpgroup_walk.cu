// conv2d by Hopper's wgmma, for up to 16 input channels and wide rows (sm_90a). Products and stores are those of
// warpgroup_gemm.cu, but each block computes a strip of columns from top to bottom. Each input row of a strip is
// loaded only once, into a ring buffer in shared memory, and is used for KERNEL_H rows of outputs.
//
// A block computes a range of rows of one strip. Producers, consumers and store warps are those of
// warpgroup_conv.cuh. Each input row in the ring buffer has a full and an empty mbarrier, so that producers can be
// AHEAD rows ahead of consumers.
//
// Pixels are numbered in the padded input (virtual_plane.cuh), where rows are PITCH pixels apart. Tap (r, c) of
// output row y reads the strip's input row y + r * DILATION_H, shifted by c * DILATION_W pixels. Stores begin and end
// at 32-byte sectors. If output row y begins in the sector in which row y-1 ends, the first strip's tile of row y
// stores the whole sector, and so begins LEAD pixels early.
//
// Tunables:
//   COLUMNS, PIECES: pixels per wgmma, and wgmmas per tile and tap
//   AHEAD:           input rows in shared memory beyond the KERNEL_H rows that a tile reads
//   PRODUCER_WARPS:  8: more loads in flight; 4: more registers for the consumers
//   STORE_WARPS:     2: two warps only store; 0: the consumers store
//   PINGPONG:        1: one consumer warpgroup multiplies while the other is in its epilogue; 0: both run freely
#define ALIGNMENT 8

#include "warpgroup_conv.cuh"

namespace {

static_assert(kRowJump >= 0 && LEAD + PADDING_W <= PITCH && SLACK <= W_OUT, "rows are too short for strips");

// The pipeline is a ring buffer of patches, each of which is an input row of the strip.
constexpr int kReach = TAP_REACH + 1;  // input rows that a tile's taps read
constexpr int kRows = N * H_OUT;

struct Ring {
    char* patches;
    Mbarrier *full, *empty;
    __device__ __forceinline__ char* patch(int number) const { return patches + number % RING * PATCH_BYTES; }
    __device__ __forceinline__ void producer_acquire(int number) const {
        if (number >= RING) mbarrier_wait(empty + number % RING, number / RING - 1 & 1);
    }
    __device__ __forceinline__ void producer_commit(int number) const {
        publish_to_async_proxy();
        arrive(full, number);
    }
    __device__ __forceinline__ void consumer_wait(int number) const {
        mbarrier_wait(full + number % RING, number / RING & 1);
    }
    __device__ __forceinline__ void consumer_release(int number) const { arrive(empty, number); }

    // arrive arrives at a patch's barrier once for a warp, when all of its lanes have finished with the patch.
    __device__ __forceinline__ static void arrive(Mbarrier* barriers, int number) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(barriers + number % RING);
    }
};

// TileScheduler is persistent: a block computes a range of the rows of all images, in one strip.
struct TileScheduler {
    int strip, row, end;
    __device__ __forceinline__ TileScheduler() {
        const int share = blockIdx.x / STRIPS, shares = gridDim.x / STRIPS;
        strip = blockIdx.x % STRIPS;
        row = static_cast<long long>(kRows) * share / shares;
        end = static_cast<long long>(kRows) * (share + 1) / shares;
    }
    __device__ __forceinline__ bool more() const { return row < end; }
    __device__ __forceinline__ bool last() const { return row + 1 == end; }
    __device__ __forceinline__ bool leaves() const {  // whether the next row is not the one below
        return last() || row % H_OUT == H_OUT - 1;
    }
    __device__ __forceinline__ void next() { ++row; }
    __device__ __forceinline__ Run run() const {
        const int y = row % H_OUT, first = y * W_OUT + strip * STRIP;
        const int end = strip < STRIPS - 1 ? first + STRIP : (y + 1) * W_OUT;
        return {row / H_OUT, first, end < PLANE ? end : PLANE + ALIGNMENT};  // the plane's last ends with it
    }
};

// PatchSchedule lists the input rows that a block loads: kReach rows for the first tile, then one row per tile.
struct PatchSchedule : TileScheduler {
    int missing;  // patches that the tile still lacks beside the current one
    __device__ __forceinline__ PatchSchedule() : missing(TAP_REACH) {}
    __device__ __forceinline__ int image() const { return row / H_OUT; }
    __device__ __forceinline__ int input_row() const { return row % H_OUT + TAP_REACH - missing - PADDING_H; }
    __device__ __forceinline__ void next() {
        if (missing > 0) {
            --missing;
            return;
        }
        missing = leaves() ? TAP_REACH : 0;
        TileScheduler::next();
    }
};

__device__ __forceinline__ void load_patch(char* patch, const float* inputs, const PatchSchedule& walk, int thread) {
    const float* const planes = inputs + walk.image() * (static_cast<long long>(C) * kInPlane);
    const int start = walk.input_row() * PITCH + walk.strip * STRIP - LEAD - PADDING_W;
#pragma unroll 1
    for (int pixel = thread; pixel < PATCH; pixel += kProducerThreads) {
        int offset;
        const bool inside = input_offset(start + pixel, offset);
        copy_pixel(patch, pixel, planes + (inside ? offset : 0), inside);
    }
}

// produce is the loop of the producer warps.
__device__ __forceinline__ void produce(const Ring& ring, const float* inputs, int thread, float power, float* largest) {
    constexpr int under_way = AHEAD - 1;  // patches whose loads have started, beyond the one that is converted
    PatchSchedule next;
    unsigned most = 0;
    for (int done = 0, asked = 0;; ++done) {
        for (int i = done > 0 ? under_way : 0; i <= under_way; ++i) {
            if (next.more()) {
                ring.producer_acquire(asked);
                load_patch(ring.patch(asked++), inputs, next, thread);
                next.next();
            }
            async_copy_commit();
        }
        if (done == asked) break;
        async_copy_wait<under_way>();
        most = max(most, convert_patch(ring.patch(done), thread, power));
        ring.producer_commit(done);
    }
    leave(largest, most);
}

// Layout maps a tile's pixels to places in the store buffer. The first LEAD pixels of the leftmost strip are the end
// of the previous output row.
struct Layout {
    int first[2];
    bool leftmost;
    __device__ __forceinline__ static constexpr bool always(int position) {
        return position >= LEAD && position + 8 + SLACK - LEAD <= STORE_PITCH;
    }
    __device__ __forceinline__ int at(int r, int position) const {
        int place = first[r] + position;
        if (always(position)) return place;
        if (leftmost && position < LEAD) place = position < LEAD - kRowJump ? place + kRowJump : -1;
        return place < STORE_PITCH ? place : -1;
    }
};

// ConsumerTiles combines tile scheduler and ring buffer for a consumer warpgroup. `patch` is the number of the tile's
// first input row.
struct ConsumerTiles : TileScheduler {
    Ring ring;
    int patch;
    __device__ __forceinline__ explicit ConsumerTiles(const Ring& ring) : ring(ring), patch(0) {}
    __device__ __forceinline__ void next() {
        patch += leaves() ? kReach : 1;
        TileScheduler::next();
    }
    __device__ __forceinline__ void consumer_wait() const { ring.consumer_wait(patch + TAP_REACH); }
    __device__ __forceinline__ const char* tap_row(int r) const { return ring.patch(patch + r * DILATION_H); }
    __device__ __forceinline__ void consumer_release() const {
        const int done = leaves() ? kReach : 1;
        for (int i = 0; i < done; ++i) ring.consumer_release(patch + i);
    }
    __device__ __forceinline__ static constexpr bool inner() { return true; }
    template <bool Inner>
    __device__ __forceinline__ Layout layout(const int (&shifts)[2]) const {
        return {{shifts[0] - LEAD, shifts[1] - LEAD}, strip == 0};
    }
};

__device__ __forceinline__ void convolve(const float* x, const float* weight, float* largest, const float* bias, float* y,
                                         const PowerScale& input, const Epilogue& epilogue) {
    extern __shared__ __align__(128) uint4 memory[];
    char* const patches = reinterpret_cast<char*>(memory);
    float* const store_buffer = reinterpret_cast<float*>(patches + RING * PATCH_BYTES);
    Mbarrier* const barriers = reinterpret_cast<Mbarrier*>(patches + RING * PATCH_BYTES + STORE_BYTES);
    const Ring ring = {patches, barriers, barriers + RING};
    if (threadIdx.x < RING) {
        mbarrier_init(ring.full + threadIdx.x, kProducerThreads / 32);
        mbarrier_init(ring.empty + threadIdx.x, kConsumerThreads / 32);
        publish_to_async_proxy();
    }
    __syncthreads();

    const Role role;
    if (role.consumes()) {
        more_registers<kConsumerRegisters>();
        consume_tiles(ConsumerTiles(ring), role, y, store_buffer, weight, bias, input, epilogue);
    } else {
        fewer_registers<kProducerRegisters>();
        if (role.stores())
            store_tiles(TileScheduler(), role, y, store_buffer);
        else
            produce(ring, role.inputs(x), role.producer_thread(), input.power, largest);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    conv2d_warpgroup_walk(const float* __restrict__ x, const float* __restrict__ weight, float* largest, const float* found,
                          const float* __restrict__ bias, float* __restrict__ y EPILOGUE_PARAMETERS) {
    PowerScale input(0);
    if (input_power(input, x, found)) convolve(x, weight, largest, bias, y, input, {EPILOGUE_ARGUMENTS});
}
