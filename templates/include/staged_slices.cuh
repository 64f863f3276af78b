// staged_slices.cuh: copies the slices of a 3-D input to shared memory while a block reduces earlier slices
// (volume_pool.cuh). With COPY_ENGINE, one bulk copy loads a slice; otherwise threads issue asynchronous copies.
//
// Shared memory is a ring buffer of SLOTS slices, AHEAD of which are being copied. A block's rows of a slice are
// contiguous in the tensor, and keep their offset from 16-byte alignment. A barrier after each slice frees its slot.
//
// SLOT is the number of floats in a slot, and BAND_ROWS the number of rows of a slice that a block reads.
#pragma once
#include "async_copy.cuh"
#include "bulk_copy.cuh"
#include "volume_pool.cuh"

// StagedSlices is the base class of both ways of copying: it manages the ring buffer and locates a block's rows.
struct StagedSlices {
    static constexpr bool Cached = false; // slices are in shared memory
    static constexpr long long Total = (long long)N * C * D * H * W;
    static_assert(BlockColumns >= W_OUT, "a block stages whole rows");

    const float* x;
    float* ring;
    FreshSlices fresh;
    long long volume;      // where the volume begins in the tensor
    int begin, count;      // the first staged row, and the number of floats
    int requested, slice;  // the next slices to be requested and reduced
    int from, to;          // their slots

    __device__ __forceinline__ StagedSlices(const float* x, float* ring, const Block& block, const FreshSlices& fresh)
        : x(x), ring(ring), fresh(fresh), volume(block.volume * ((long long)D * H * W)),
          begin(max(block.row * STRIDE_H - PADDING_H, 0)), requested(fresh.first), slice(fresh.first), from(0), to(0) {
        count = (min(block.row * STRIDE_H - PADDING_H + BAND_ROWS, (int)H) - begin) * W;
    }

    // start_of returns where a block's rows of a slice begin in the tensor.
    __device__ __forceinline__ long long start_of(int its_slice) const {
        return volume + ((long long)its_slice * H + begin) * W;
    }

    static __device__ __forceinline__ int phase_of(long long start) { return W % 4 == 0 ? 0 : (int)(start & 3); }
    static __device__ __forceinline__ void advance(int& slot) { slot = slot + 1 < SLOTS ? slot + 1 : 0; }

    // take returns a pointer to the next slice, of which [row * W + column] is an element.
    __device__ __forceinline__ const float* take() {
        const float* taken = ring + from * SLOT + phase_of(start_of(slice)) - (long long)begin * W;
        ++slice;
        advance(from);
        return taken;
    }
};

#if COPY_ENGINE

struct EngineSlices : StagedSlices {
    Mbarrier* arrived; // one barrier per slot
    int parity;        // of the round that is being reduced

    __device__ __forceinline__ EngineSlices(const float* x, float* shared, const Block& block, const FreshSlices& fresh)
        : StagedSlices(x, shared + BARRIERS, block, fresh), arrived(reinterpret_cast<Mbarrier*>(shared)), parity(0) {
        if (thread_of_block() == 0) {
            for (int slot = 0; slot < SLOTS; ++slot) mbarrier_init(arrived + slot, 1);
            publish_to_async_proxy();
            for (int k = 0; k < AHEAD; ++k) request();
        }
        __syncthreads();
    }

    // request starts loading the next slice, and must be called by one thread.
    __device__ __forceinline__ void request() {
        if (fresh.is_read(requested)) {
            const long long start = start_of(requested), aligned = start - phase_of(start);
            const int wanted = phase_of(start) + count;
            int floats = round_up(wanted, 4);
            float* slot = ring + to * SLOT;
            if constexpr (Total % 4 != 0) {
                if (aligned + floats > Total) { // the end of a tensor whose size is no multiple of 16 bytes
                    floats = wanted / 4 * 4;
                    for (int k = floats; k < wanted; ++k) slot[k] = x[aligned + k];
                    publish_to_async_proxy();
                }
            }
            mbarrier_expect(arrived + to, 4 * floats);
            if (floats > 0) bulk_load(slot, x + aligned, 4 * floats, arrived + to);
        } else {
            mbarrier_arrive(arrived + to);
        }
        ++requested;
        advance(to);
    }

    __device__ __forceinline__ const float* next() {
        __syncthreads();
        if (thread_of_block() == 0) request();
        mbarrier_wait(arrived + from, parity);
        const float* taken = take();
        if (from == 0) parity ^= 1;
        return taken;
    }
};
typedef EngineSlices PipelinedSlices;

#else

struct CopiedSlices : StagedSlices {
    __device__ __forceinline__ CopiedSlices(const float* x, float* shared, const Block& block, const FreshSlices& fresh)
        : StagedSlices(x, shared, block, fresh) {
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) request();
    }

    // request starts copying the next slice. If no slice is left, request commits an empty group of copies, so that
    // waiting needs no special case.
    __device__ __forceinline__ void request() {
        if (fresh.is_read(requested)) {
            const long long start = start_of(requested);
            const int phase = phase_of(start);
            const float* aligned = x + (start - phase);
            float* slot = ring + to * SLOT;
            for (int k = thread_of_block() * 4; k < phase + count; k += Threads * 4) {
                if (Total % 4 == 0 || start - phase + k + 4 <= Total) {
                    async_copy<16>(slot + k, aligned + k);
                } else {
                    for (int e = k; e < phase + count; ++e) async_copy<4>(slot + e, aligned + e);
                }
            }
        }
        async_copy_commit();
        ++requested;
        advance(to);
    }

    __device__ __forceinline__ const float* next() {
        async_copy_wait<AHEAD - 1>();
        __syncthreads();
        request();
        return take();
    }
};
typedef CopiedSlices PipelinedSlices;

#endif
