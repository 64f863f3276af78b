// rows_ahead.cuh: long rows (rows.cuh), each read from memory once, while those before it are answered.
// The tensor is pieces of PIECE bytes in the order of its rows, and the blocks have them in turn. All
// blocks run at once. So only as many rows are under way as there is shared memory for, and none of them
// needs the L2.
//
//   global -> shared    the copy engine brings a piece as soon as one of the block's PLACES is free
//   shared -> Row       a state a piece, which the block tells all others
//   states -> Row       when those of all pieces of a row are there, in one order
//   shared -> global    the answers of a piece, which leaves its place
//
// A block takes two thirds of what it holds before it waits for the first of that. So others have had
// the time of a piece or more to tell their states, and neither reading nor writing stops at a meeting.
#pragma once
#define KEEP shared
#include "row_pieces.cuh"
#include "told_states.cuh"

constexpr int kTaken = PLACES - PLACES / 3;  // pieces that are taken before the first of them is awaited

// Ring are the block's places, and the pieces that go through them in turn.
struct Ring {
    Element* staged;
    Mbarrier* arrived;
    const Element* x;
    long long all;

    __device__ __forceinline__ long long which(int k) const { return blockIdx.x + static_cast<long long>(k) * gridDim.x; }
    __device__ __forceinline__ bool has(int k) const { return which(k) < all; }
    __device__ __forceinline__ long long row(int k) const { return which(k) / kPieces; }
    __device__ __forceinline__ int number(int k) const { return which(k) % kPieces; }
    __device__ __forceinline__ Element* place(int k) const { return staged + k % PLACES * (kInPiece * VEC); }
    // begin starts to bring the block's piece k.
    __device__ __forceinline__ void begin(int k) const {
        if (threadIdx.x == 0 && has(k)) Piece(row(k), number(k)).bring(place(k), x, arrived + k % PLACES, true);
    }
    // take tells the state of a piece.
    __device__ __forceinline__ void take(int k, Told* told) const {
        const Piece piece(row(k), number(k));
        mbarrier_wait(arrived + k % PLACES, k / PLACES % 2);
        Row<float> state;
        state.start();
        piece.join(state, place(k));
        state = merge_team(state);
        if (threadIdx.x == 0) tell(told + which(k) * kWords, state);
        __syncthreads();  // merge_team's memory is free
    }
};

// clear_ahead makes room for what blocks tell each other, in a launch before.
__device__ __forceinline__ void clear_ahead(float* states) { clear_told(states, static_cast<long long>(OUTER) * kPieces); }

__device__ __forceinline__ void answer_ahead(const Element* x, float* states, Element* y, const Weights& weights) {
    extern __shared__ __align__(128) unsigned char staged[];
    __shared__ Mbarrier arrived[PLACES];
    prepare_places(arrived);
    Told* const told = told_in(states);
    const Ring ring{reinterpret_cast<Element*>(staged), arrived, x, static_cast<long long>(OUTER) * kPieces};
    for (int k = 0; k < PLACES; ++k) ring.begin(k);
    Row<float> state;
    Weights its = weights;
    long long row = -1;
    for (int given = 0, taken = 0; ring.has(given); ++given) {
        if (ring.row(given) != row) {
            row = ring.row(given);
            while (ring.has(taken) && taken < given + PLACES && (taken < given + kTaken || ring.row(taken) == row)) ring.take(taken++, told);
            state = all_told<kPieces>(told + row * kPieces * kWords);
            its = weights;
            state.finish({LENGTH, row, ring.number(given) == 0 && threadIdx.x == 0}, its);
        }
        Piece(row, ring.number(given)).give(state, ring.place(given), y, its);
        __syncthreads();  // all have read the place
        ring.begin(given + PLACES);
    }
}
