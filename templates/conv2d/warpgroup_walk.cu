// conv2d on Hopper's warpgroup products, for up to 16 input channels and wide rows (sm_90a). The products and stores
// are those of warpgroup_gemm.cu, but each block walks down a strip of columns. Each input row of a strip is loaded
// only once, into a ring of patches in shared memory, and is used for KERNEL_H rows of outputs.
//
// A block works on one strip and a share of the rows of all images. Neighbouring blocks work on neighbouring strips,
// and walk down at the same pace. Producers, consumer warpgroups and store warps are those of warpgroup_conv.cuh. The
// ring is the pipeline between producers and consumers: each patch has an mbarrier for full and another for empty, so
// that producers can run AHEAD rows ahead of consumers.
//
// The data flow:
//   1. Positions are counted in the virtual plane (virtual_plane.cuh). The tile of row y in
//      strip k is COLUMNS * PIECES positions from y * PITCH + k * STRIP - LEAD on,
//      so the next row's tile is PITCH further on.
//   2. A patch is one input row of the strip: the positions of a tile and the halo of its taps.
//      Tap (r, c) of tile y reads patch y + r * DILATION_H, shifted by c * DILATION_W pixels.
//   3. A tile computes a run of outputs for each channel. Runs begin and end at 32-byte
//      sectors, since storing a sector in two parts is expensive. Row y may begin in the
//      sector in which row y-1 ends: the first strip's tile of row y computes all of that
//      sector, so it begins LEAD positions early. In the virtual plane, the last outputs
//      of a row lie right before the first outputs of the next row.
//
// Tunables and their trade-offs:
//   COLUMNS, PIECES: positions per product, products per tile: wide strips have long runs and little
//                    halo, but take shared memory and registers; the sums of a product go to the
//                    store buffer while the next products run.
//   AHEAD:           patches beyond the KERNEL_H rows that a tile reads: 1: a row is loaded
//                    while another is multiplied; 2: its load starts one tile earlier.
//   PRODUCER_WARPS   8: more loads in flight; 4: more registers for the consumers.
//   STORE_WARPS      2: two warps of the producer warpgroups only store; 0: all of them load, and
//                    the consumers store.
//   PINGPONG         1: one consumer warpgroup multiplies while the other is in its
//                    epilogue; 0: both run freely.
#define ALIGNMENT 8

#include "warpgroup_conv.cuh"

namespace {

// A row's first run begins up to SLACK outputs before the row, which correspond to LEAD positions of the virtual plane.
static_assert(kRowJump >= 0 && LEAD + PADDING_W <= PITCH && SLACK <= W_OUT, "rows are too short for strips");

// The pipeline is a ring of patches, each of which is an input row of the strip.
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

    // arrive arrives at a patch's barrier once for a warp, when all of its lanes are done with the patch.
    __device__ __forceinline__ static void arrive(Mbarrier* barriers, int number) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(barriers + number % RING);
    }
};

// TileScheduler is persistent: a block walks down a share of the rows of all images, in one strip.
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

// PatchSchedule lists the patches that the tiles read, in order: kReach rows for the first tile, then one row for each
// further tile.
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

// produce is the loop of the producer warps. A block numbers its patches in the order in which it reads them.
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

// Layout maps a tile's positions to places in the store buffer. The first LEAD positions lie before the strip: in the
// leftmost strip they are the end of the output row before.
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

// ConsumerTiles combines the tile scheduler and the ring of patches for a consumer. `patch` is the number of the tile's
// first patch.
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
