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
#include "bulk_copy.cuh"
#include "told_states.cuh"
static_assert(TEAM == THREADS && kAligned && !kChunked && !kColumns, "a piece is vectors of one row, side by side");

constexpr int kInPiece = PIECE / 16, kOwn = kInPiece / THREADS;  // vectors of it, and a thread's
constexpr int kPieces = (LENGTH / VEC + kInPiece - 1LL) / kInPiece;  // of a row
constexpr int kTaken = PLACES - PLACES / 3;  // before the first of them is awaited
static_assert(VEC * sizeof(Element) == 16 && kInPiece % THREADS == 0, "threads have equal parts of a piece");

// Piece is one of the tensor's.
struct Piece {
    long long row;
    int number, vectors;  // in its row; how many it has
    __device__ __forceinline__ explicit Piece(long long which) : row(which / kPieces), number(which % kPieces), vectors(min(kInPiece, static_cast<int>(LENGTH / VEC - static_cast<long long>(number) * kInPiece))) {}
    __device__ __forceinline__ long long place() const { return static_cast<long long>(number) * kInPiece * VEC; }
    __device__ __forceinline__ long long address() const { return row * LENGTH + place(); }
    // each calls use(v) for the thread's vectors.
    template <class Use>
    __device__ __forceinline__ void each(Use use) const {
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
            if (LENGTH / VEC % kInPiece == 0 || static_cast<int>(threadIdx.x) + i * THREADS < vectors) use(threadIdx.x + i * THREADS);
    }
};

// bulk_load_once is bulk_load of what the L2 may give up first.
__device__ __forceinline__ void bulk_load_once(void* shared, const void* global, int bytes, Mbarrier* barrier) {
#if defined AUTOTUNE_EMULATOR
    bulk_load(shared, global, bytes, barrier);
#else
    asm volatile(
        "{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy;}"
        :
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(global), "r"(bytes), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
        : "memory");
#endif
}

// Ring are the block's places, and the pieces that go through them in turn.
struct Ring {
    Element* staged;
    Mbarrier* arrived;
    const Element* x;
    long long all;

    __device__ __forceinline__ long long which(long long k) const { return blockIdx.x + k * gridDim.x; }
    __device__ __forceinline__ Element* place(long long k) const { return staged + static_cast<int>(k % PLACES) * (PIECE / static_cast<int>(sizeof(Element))); }
    // begin starts to bring the block's piece k.
    __device__ __forceinline__ void begin(long long k) const {
        if (threadIdx.x != 0 || which(k) >= all) return;
        const Piece piece(which(k));
        mbarrier_expect(arrived + k % PLACES, piece.vectors * 16);
        bulk_load_once(place(k), x + piece.address(), piece.vectors * 16, arrived + k % PLACES);
    }
    // take tells the state of a piece.
    __device__ __forceinline__ void take(long long k, Told* told) const {
        const Piece piece(which(k));
        mbarrier_wait(arrived + k % PLACES, k / PLACES % 2);
        Row<float> state;
        state.start();
        piece.each([&](int v) {
            float elements[VEC];
            load_elements<VEC>(elements, place(k) + v * VEC);
            state.join(elements, piece.place() + v * VEC, 1);
        });
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
    Told* const told = told_in(states);
    const Ring ring{reinterpret_cast<Element*>(staged), arrived, x, static_cast<long long>(OUTER) * kPieces};
    if (threadIdx.x == 0) {
        for (int i = 0; i < PLACES; ++i) mbarrier_init(arrived + i, 1);
        publish_to_async_proxy();
    }
    __syncthreads();
    for (int k = 0; k < PLACES; ++k) ring.begin(k);
    Row<float> state;
    Weights its = weights;
    long long row = -1, taken = 0;
    for (long long given = 0; ring.which(given) < ring.all; ++given) {
        const Piece piece(ring.which(given));
        if (piece.row != row) {
            row = piece.row;
            while (taken < given + PLACES && ring.which(taken) < ring.all && (taken < given + kTaken || ring.which(taken) / kPieces == row)) ring.take(taken++, told);
            state = all_told<kPieces>(told + row * kPieces * kWords);
            its = weights;
            state.finish({LENGTH, row, piece.number == 0 && threadIdx.x == 0}, its);
        }
        piece.each([&](int v) {
            float elements[VEC], answers[VEC];
            load_elements<VEC>(elements, ring.place(given) + v * VEC);
            give_vector(state, answers, elements, piece.place() + v * VEC, its, 0);
            store_elements<VEC, true>(y + piece.address() + v * VEC, answers);
        });
        __syncthreads();  // all have read the place
        ring.begin(given + PLACES);
    }
}
