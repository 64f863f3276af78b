// row_pieces.cuh: rows (rows.cuh) as pieces of PIECE bytes, which the copy engine brings to shared memory.
// A piece lies side by side: the last of a row, or of a chunk of it, may be shorter.
#pragma once
#include "bulk_copy.cuh"
#include "rows.cuh"

constexpr int kInPiece = PIECE / 16, kOwn = kInPiece / THREADS;  // vectors of a piece, and a thread's
constexpr int kInChunk = (CHUNK / VEC + kInPiece - 1LL) / kInPiece, kPieces = LENGTH / CHUNK * kInChunk;  // pieces of a chunk, and of a row
static_assert(TEAM == THREADS && !kColumns && CHUNK % VEC == 0 && LENGTH % CHUNK == 0, "a piece is vectors of one row");
static_assert(VEC * sizeof(Element) == 16 && kInPiece % THREADS == 0, "threads have equal parts of a piece");

struct Piece {
    long long place, address;  // of its first element, in its row and in the tensor
    int vectors;

    __device__ __forceinline__ Piece(long long row, int number) {
        const int chunk = number / kInChunk, first = number % kInChunk * kInPiece;  // a vector of the chunk
        place = static_cast<long long>(chunk) * CHUNK + static_cast<long long>(first) * VEC;
        address = row * CHUNK + static_cast<long long>(chunk) * CHUNK * (kChunked ? OUTER : 1) + static_cast<long long>(first) * VEC;
        vectors = min(kInPiece, static_cast<int>(CHUNK / VEC) - first);
    }
    // each calls use(i, v) for the thread's vectors: its i-th is the piece's v-th.
    template <class Use>
    __device__ __forceinline__ void each(Use use) const {
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
            if (CHUNK / VEC % kInPiece == 0 || static_cast<int>(threadIdx.x) + i * THREADS < vectors) use(i, static_cast<int>(threadIdx.x) + i * THREADS);
    }
    // bring starts to copy it to shared memory. The L2 may give it up first, if it is not read again.
    __device__ __forceinline__ void bring(Element* to, const Element* x, Mbarrier* arrived, bool once) const {
        mbarrier_expect(arrived, vectors * 16);
        if (once)
            bulk_load_once(to, x + address, vectors * 16, arrived);
        else
            bulk_load(to, x + address, vectors * 16, arrived);
    }
    // join takes all of it into the threads' states, and give answers it, from where it was brought.
    template <class Row>
    __device__ __forceinline__ void join(Row& state, const Element* staged) const {
        each([&](int, int v) {
            float elements[VEC];
            load_elements<VEC>(elements, staged + v * VEC);
            state.join(elements, place + v * VEC, 1);
        });
    }
    template <class Row>
    __device__ __forceinline__ void give(const Row& state, const Element* staged, Element* y, const Weights& weights) const {
        each([&](int, int v) {
            float elements[VEC];
            load_elements<VEC>(elements, staged + v * VEC);
            answer(state, elements, v, y, weights);
        });
    }
    // answer gives what a vector of it becomes.
    template <class Row>
    __device__ __forceinline__ void answer(const Row& state, const float (&elements)[VEC], int v, Element* y, const Weights& weights) const {
        float answers[VEC];
        give_vector(state, answers, elements, place + v * VEC, weights, 0);
        store_elements<VEC, true>(y + address + v * VEC, answers);
    }

private:
    // bulk_load_once is bulk_load of what the L2 may give up first.
    __device__ __forceinline__ static void bulk_load_once(void* shared, const void* global, int bytes, Mbarrier* barrier) {
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
};

// prepare_places makes the barriers of a block's places.
__device__ __forceinline__ void prepare_places(Mbarrier (&arrived)[PLACES]) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < PLACES; ++i) mbarrier_init(arrived + i, 1);
        publish_to_async_proxy();
    }
    __syncthreads();
}
