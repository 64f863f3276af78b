// rows_stream.cuh: rows (rows.cuh) of some kilobytes, by blocks that stay (sm_90 on). The copy engine brings a
// block's next rows to shared memory while it answers one: bytes under way cost no registers, and blocks neither
// begin nor end between rows.
//
//   global -> shared     a row, STAGES of them under way
//   shared -> registers  all of a row's vectors, and its state; then the next row may come
//   registers -> global  the answers
#pragma once
#define KEEP registers
#include "bulk_copy.cuh"
#include "rows.cuh"
static_assert(TEAM == THREADS && SPLIT == 1, "a block has one row at a time");

// Ring has STAGES rows in shared memory.
struct Ring {
    static constexpr int kBytes = LENGTH * sizeof(Element);
    unsigned char* staged;
    Mbarrier* full;
    int slot = 0, parity = 0;

    __device__ __forceinline__ Element* row() const { return reinterpret_cast<Element*>(staged + slot * kBytes); }
    // fetch brings a row to the slot at hand.
    __device__ __forceinline__ void fetch(const Element* x, long long row) const {
        if (threadIdx.x != 0 || row >= OUTER) return;
        mbarrier_expect(full + slot, kBytes);
        bulk_load(staged + slot * kBytes, x + row * LENGTH, kBytes, full + slot);
    }
    __device__ __forceinline__ void next() {
        if (++slot == STAGES) slot = 0, parity ^= 1;
    }
};

template <class T>
__device__ __forceinline__ void answer_in_stream(const Element* x, T* y, const Weights& weights) {
    extern __shared__ __align__(128) unsigned char staged[];
    __shared__ Mbarrier full[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) mbarrier_init(full + i, 1);
        publish_to_async_proxy();
    }
    __syncthreads();
    Ring ring = {staged, full};
    for (int i = 0; i < STAGES; ++i, ring.next()) ring.fetch(x, blockIdx.x + static_cast<long long>(i) * gridDim.x);
    ring.parity = 0;
    for (long long row = blockIdx.x; row < OUTER; row += gridDim.x, ring.next()) {
        const Vectors of(row, 0);
        Kept kept;
        Row<float> state;
        state.start();
        mbarrier_wait(ring.full + ring.slot, ring.parity);
        take_row(state, of, kept, ring.row() - of.at);
        __syncthreads();  // all know the state of the row before
        state = merge_team(state);
        ring.fetch(x, row + static_cast<long long>(STAGES) * gridDim.x);
        Weights its = weights;
        state.finish({LENGTH, row, of.from == 0}, its);
        give_row(state, of, kept, x, y, [&](int) { return its; });
    }
}
