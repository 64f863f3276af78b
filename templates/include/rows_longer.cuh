// rows_longer.cuh: rows (rows.cuh) that are longer than all shared memory, one at a time, each read from
// memory once. The blocks have its pieces in turn, and all run at once.
//
//   global -> shared       the copy engine brings the first pieces of a block to places of their own, while
//                          the row before is answered; all others go through PASSING places
//   shared -> registers    the next HELD pieces stay there
//   L2 -> shared           those that found no room, the last of them first, through the same places
//   states -> Row          when those of all blocks are there, in one order
//   shared, registers -> global    the answers
#pragma once
#define KEEP shared
#include "row_pieces.cuh"
#include "told_states.cuh"

constexpr int kStay = PLACES - PASSING;
constexpr int kHeldPieces = HELD;

// Share are the block's pieces of each row.
struct Share {
    int count;  // of them
    int lost;   // from which on they found no room
    int passes; // of a row through the passing places
    __device__ __forceinline__ Share() : count((kPieces - static_cast<int>(blockIdx.x) + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x)) {
        lost = min(count, kStay + kHeldPieces);
        passes = max(count - kStay, 0) + count - lost;
    }
    __device__ __forceinline__ Piece piece(long long row, int i) const { return Piece(row, static_cast<int>(blockIdx.x) + i * static_cast<int>(gridDim.x)); }
    // passing gives which piece goes through a passing place as the row's pass-th: all behind those that stay,
    // then what is lost, from the last on.
    __device__ __forceinline__ int passing(int pass) const { return pass < count - kStay ? kStay + pass : count - 1 - (pass - (count - kStay)); }
};

struct Places {
    Element* staged;
    Mbarrier* arrived;
    const Element* x;
    Share share;
    long long first_row = 0;  // whose passes are counted
    int begun = 0;            // passes of it
    unsigned passed = 0;      // passes that are over, of all rows

    __device__ __forceinline__ Element* place(int p) const { return staged + p * (kInPiece * VEC); }
    // keep starts to bring a piece to its own place.
    __device__ __forceinline__ void keep(long long row, int i) const {
        if (threadIdx.x == 0 && row < OUTER && i < min(kStay, share.count)) share.piece(row, i).bring(place(i), x, arrived + i, true);
    }
    // pass starts to bring the next that goes through the passing places; `number` counts them over all rows.
    __device__ __forceinline__ void pass(unsigned number) {
        if (begun == share.passes) ++first_row, begun = 0;
        if (share.passes == 0 || first_row >= OUTER) return;
        const int i = share.passing(begun), p = kStay + static_cast<int>(number % PASSING);
        if (threadIdx.x == 0) share.piece(first_row, i).bring(place(p), x, arrived + p, i < share.lost || begun >= share.count - kStay);
        ++begun;
    }
    // await gives the place of the pass at hand, once its piece is there.
    __device__ __forceinline__ const Element* await() const {
        const int p = kStay + static_cast<int>(passed % PASSING);
        mbarrier_wait(arrived + p, passed / PASSING % 2);
        return place(p);
    }
    // leave frees that place, which the next piece takes.
    __device__ __forceinline__ void leave() {
        __syncthreads();  // all have read it
        pass(passed + PASSING);
        ++passed;
    }
};

__device__ __forceinline__ void clear_longer(float* states) { clear_told(states, static_cast<long long>(OUTER) * BLOCKS); }

__device__ __forceinline__ void answer_longer(const Element* x, float* states, Element* y, const Weights& weights) {
    extern __shared__ __align__(128) unsigned char staged[];
    __shared__ Mbarrier arrived[PLACES];
    prepare_places(arrived);
    Told* const told = told_in(states);
    Places places{reinterpret_cast<Element*>(staged), arrived, x, Share()};
    const Share& share = places.share;
    for (int i = 0; i < kStay; ++i) places.keep(0, i);
    for (int p = 0; p < PASSING; ++p) places.pass(p);
    for (long long row = 0; row < OUTER; ++row) {
        Row<float> state;
        state.start();
        for (int i = 0; i < min(kStay, share.count); ++i) {
            mbarrier_wait(arrived + i, static_cast<int>(row % 2));
            share.piece(row, i).join(state, places.place(i));
        }
        float held[kHeldPieces > 0 ? kHeldPieces : 1][kOwn][VEC];
#pragma unroll
        for (int h = 0; h < kHeldPieces; ++h) {
            if (kStay + h >= share.count) break;
            const Element* const from = places.await();
            const Piece piece = share.piece(row, kStay + h);
            piece.each([&](int i, int v) {
                load_elements<VEC>(held[h][i], from + v * VEC);
                state.join(held[h][i], piece.place + v * VEC, 1);
            });
            places.leave();
        }
        for (int i = kStay + kHeldPieces; i < share.count; ++i) {
            share.piece(row, i).join(state, places.await());
            places.leave();
        }
        state = merge_team(state);
        Told* const told_here = told + row * BLOCKS * kWords;
        if (threadIdx.x == 0) tell(told_here + blockIdx.x * kWords, state);
        __syncthreads();  // merge_team's memory is free
        state = all_told<BLOCKS>(told_here);
        Weights its = weights;
        state.finish({LENGTH, row, blockIdx.x == 0 && threadIdx.x == 0}, its);
        for (int i = 0; i < min(kStay, share.count); ++i) {
            share.piece(row, i).give(state, places.place(i), y, its);
            __syncthreads();  // all have read the place
            places.keep(row + 1, i);
        }
#pragma unroll
        for (int h = 0; h < kHeldPieces; ++h) {
            if (kStay + h >= share.count) break;
            const Piece piece = share.piece(row, kStay + h);
            piece.each([&](int i, int v) { piece.answer(state, held[h][i], v, y, its); });
        }
        for (int i = share.count - 1; i >= share.lost; --i) {
            share.piece(row, i).give(state, places.await(), y, its);
            places.leave();
        }
        __syncthreads();  // merge_team's memory is free
    }
}
