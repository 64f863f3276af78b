// scaled_dot_product_attention for bf16 or fp16 by Hopper's wgmma (sm_90a), fused as in FlashAttention-3.
//
// One thread loads tiles by TMA: Q once, then K and V, up to STAGES tiles ahead. A consumer warpgroup has 64 queries,
// and keeps their scores with a tile of keys in registers. The exponentials of the scores are the operand A that
// multiplies V. The scores of the next tile are started before V is multiplied, so that tensor cores are busy while
// exponentials are computed. online_softmax.cuh explains the softmax.
//
// QUERY_BYTES is the size of a consumer's queries in shared memory, KEY_BYTES and VALUE_BYTES those of a tile of K
// and V.
//
// Tunables:
//   consumers: warpgroups with 64 queries each
//   tile_keys: keys per tile
//   stages:    pipeline stages
//   stays:     1: blocks are persistent and take one tile of queries after the other; 0: each block has one tile
//   turns:     1: two consumers alternate, so that one multiplies while the other computes exponentials
#include "async_proxy.cuh"
#include "dependent_launch.cuh"
#include "named_barrier.cuh"
#include "online_softmax.cuh"
#include "tensor_map.cuh"
#include "wgmma.cuh"

namespace {

constexpr int kConsumerThreads = 128 * CONSUMERS;
constexpr int kBoxBytes = TILE_KEYS * 128;  // 64 elements of the width, of a tile's keys or values
constexpr int kQueryBoxBytes = 64 * 128;
constexpr WgmmaType kFactors = kOfBf16 ? wgmma_of_bf16 : wgmma_of_fp16;
constexpr int kTurns = 1;  // two named barriers, one for each consumer's turn
constexpr bool kLate = PADDED_V > 128;  // scale many averages while the next products run, few averages before

// Ring is a ring buffer of STAGES tiles of K or V, which are numbered from the block's first to its last.
struct Ring {
    char* memory;
    Mbarrier* barriers;  // all full barriers, then all empty ones
    int bytes;
    __device__ __forceinline__ char* stage(int tile) const { return memory + tile % STAGES * bytes; }
    __device__ __forceinline__ Mbarrier* full(int tile) const { return barriers + tile % STAGES; }
    __device__ __forceinline__ Mbarrier* empty(int tile) const { return barriers + STAGES + tile % STAGES; }
    __device__ __forceinline__ void initialise() const {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(barriers + i, 1);
            mbarrier_init(barriers + STAGES + i, 4 * CONSUMERS);  // one arrival per warp
        }
    }
    template <int Boxes>
    __device__ __forceinline__ void load(int tile, const TensorMap* map, int key, int group) const {
        mbarrier_wait(empty(tile), tile / STAGES & 1 ^ 1);
        mbarrier_expect(full(tile), Boxes * kBoxBytes);
#pragma unroll
        for (int i = 0; i < Boxes; ++i) {
            const int at[3] = {i * 64, key, group};
            tensor_load(stage(tile) + i * kBoxBytes, map, at, full(tile));
        }
    }
    __device__ __forceinline__ void wait(int tile) const { mbarrier_wait(full(tile), tile / STAGES & 1); }
    // release must be called by all lanes of a warp that has read a tile.
    __device__ __forceinline__ void release(int tile) const {
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(tile));
    }
};

typedef float Products[TILE_KEYS / 2];
typedef float Averages[PADDED_V / 2];
typedef unsigned Weights[TILE_KEYS / 16][4];

// by_columns casts the accumulators of 16 rows to an array of blocks of eight columns.
template <int Sums>
__device__ __forceinline__ float (&by_columns(float (&sums)[Sums]))[Sums / 4][4] {
    return reinterpret_cast<float (&)[Sums / 4][4]>(sums);
}

// multiply_keys starts the wgmmas that compute the scores of a consumer's queries with a tile of keys.
__device__ __forceinline__ void multiply_keys(Products& products, const char* queries, const char* keys) {
    wgmma_fence();
    wgmma<kFactors, TILE_KEYS>(products, SwizzledLines<true>(queries, 0, 0), SwizzledLines<true>(keys, 0, 0), false);
#pragma unroll
    for (int step = 1; step < PADDED / 16; ++step)
        wgmma<kFactors, TILE_KEYS>(products, SwizzledLines<true>(queries + step / 4 * kQueryBoxBytes, step % 4, 0),
                                   SwizzledLines<true>(keys + step / 4 * kBoxBytes, step % 4, 0));
    wgmma_commit();
}

// add_values starts the wgmmas that add softmax weights times a tile of V to the outputs.
__device__ __forceinline__ void add_values(Averages& sums, const Weights& weights, const char* values) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < TILE_KEYS / 16; ++step)
        wgmma<kFactors, PADDED_V>(sums, weights[step], SwizzledLines<false>(values, step, kBoxBytes));
    wgmma_commit();
}

__device__ __forceinline__ void pack(Weights& weights, const Products& products) {
#pragma unroll
    for (int i = 0; i < TILE_KEYS / 16; ++i) pack_weights(weights[i], products + 8 * i, products + 8 * i + 4);
}

// Decrease scales down the outputs so far, or sets them to zero for the first tile of keys.
struct Decrease {
    float less[2];
    bool raised, fresh;
    __device__ __forceinline__ void operator()(Averages& sums) const {
        if (raised || fresh)
#pragma unroll
            for (int i = 0; i < PADDED_V / 2; ++i) sums[i] = fresh ? 0.0f : sums[i] * less[i / 2 % 2];
    }
};

// Turns lets two consumers start their wgmmas alternately.
struct Turns {
    int consumer;
    __device__ __forceinline__ explicit Turns(int consumer) : consumer(consumer) {
        if (TURNS && consumer == 1) named_barrier_arrive(kTurns, 256);
    }
    __device__ __forceinline__ void wait() const {
        if (TURNS) named_barrier_wait(kTurns + consumer, 256);
    }
    __device__ __forceinline__ void hand_over() const {
        if (TURNS) named_barrier_arrive(kTurns + 1 - consumer, 256);
    }
    // end completes the named barrier at which the second consumer has arrived after its last turn.
    __device__ __forceinline__ void end() const {
        if (consumer == 0) wait();
    }
};

// Work describes the index-th tile of queries: its rows, and the number of tiles of keys to which they attend.
struct Work {
    Rows rows;
    int tiles;
    __device__ __forceinline__ explicit Work(int index) : rows(ROWS, index), tiles((rows.met(ROWS) + TILE_KEYS - 1) / TILE_KEYS) {}
    __device__ __forceinline__ static int all() { return (QUERIES + ROWS - 1) / ROWS * HEADS * BATCH; }
};

// Queries are a consumer's queries in shared memory, and the index of their tile, which is Work::all() if no tile is
// left.
struct Queries {
    char* memory;
    Mbarrier *full, *empty;
    volatile int* index;
    __device__ __forceinline__ void load(const TensorMap* map, const Work& work, int row) const {
        mbarrier_expect(full, QUERY_BYTES);
#pragma unroll
        for (int i = 0; i < PADDED / 64; ++i) {
            const int at[3] = {i * 64, work.rows.first + row, work.rows.batch * HEADS + work.rows.head};
            tensor_load(memory + i * kQueryBoxBytes, map, at, full);
        }
    }
    // All lanes of a warp must call release when the warp's wgmmas no longer read the queries.
    __device__ __forceinline__ void release() const {
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty);
    }
};

// Shared locates the parts of a block's shared memory.
struct Shared {
    char* memory;
    __device__ __forceinline__ Mbarrier* barriers() const { return reinterpret_cast<Mbarrier*>(memory + CONSUMERS * QUERY_BYTES + STAGES * (KEY_BYTES + VALUE_BYTES)); }
    __device__ __forceinline__ Ring keys() const { return {memory + CONSUMERS * QUERY_BYTES, barriers(), KEY_BYTES}; }
    __device__ __forceinline__ Ring values() const { return {memory + CONSUMERS * QUERY_BYTES + STAGES * KEY_BYTES, barriers() + 2 * STAGES, VALUE_BYTES}; }
    __device__ __forceinline__ Queries queries(int consumer) const {
        Mbarrier* const mine = barriers() + 4 * STAGES + 4 * consumer;  // the last two places are the index and padding
        return {memory + consumer * QUERY_BYTES, mine, mine + 1, reinterpret_cast<volatile int*>(mine + 2)};
    }
    __device__ __forceinline__ void initialise() const {
        keys().initialise();
        values().initialise();
        for (int i = 0; i < CONSUMERS; ++i) {
            mbarrier_init(queries(i).full, 1);
            mbarrier_init(queries(i).empty, 4);
        }
    }
};

// next_tile assigns tiles of queries to persistent blocks by an atomic counter.
__device__ __forceinline__ int next_tile(int* taken) { return STAYS ? static_cast<int>(gridDim.x) + atomicAdd(taken, 1) : Work::all(); }

struct Maps {
    const TensorMap *queries, *keys, *values;
};

__device__ __forceinline__ void produce(const Shared& shared, const Maps& maps, int* taken) {
    prefetch_tensor_map(maps.queries);
    prefetch_tensor_map(maps.keys);
    prefetch_tensor_map(maps.values);
    const Ring keys = shared.keys(), values = shared.values();
    int count = 0, parity = 1;
    for (int index = blockIdx.x, next; index < Work::all(); index = next, parity ^= 1) {
        next = next_tile(taken);
        const Work work(index);
        const int group = static_cast<int>(work.rows.group_kv());
        for (int tile = 0; tile < work.tiles; ++tile, ++count) {
            keys.load<PADDED / 64>(count, maps.keys, tile * TILE_KEYS, group);
            for (int i = 0; tile == 0 && i < CONSUMERS; ++i) {
                const Queries queries = shared.queries(i);
                mbarrier_wait(queries.empty, parity);
                *queries.index = index;
                queries.load(maps.queries, work, 64 * i);
            }
            values.load<PADDED_V / 64>(count, maps.values, tile * TILE_KEYS, group);
        }
    }
    for (int i = 0; STAYS && i < CONSUMERS; ++i) {
        const Queries queries = shared.queries(i);
        mbarrier_wait(queries.empty, parity);
        *queries.index = Work::all();
        mbarrier_arrive(queries.full);
    }
}

__device__ __forceinline__ void consume(const Shared& shared, const AttentionPlain& plain, Element* y) {
    const int row = threadIdx.x / 32 * 16;  // the warp's first row in the block
    const Turns turns(threadIdx.x / 128);
    const Queries queries = shared.queries(threadIdx.x / 128);
    const Ring keys = shared.keys(), values = shared.values();
    Products products;
    Averages sums = {};
    Weights weights;
    OnlineSoftmax softmax;
    Decrease decrease = {};
    int count = 0, parity = 0, tile = 0;
    mbarrier_wait(queries.full, parity);
    Work work(*queries.index);
    keys.wait(count);
    turns.wait();
    multiply_keys(products, queries.memory, keys.stage(count));
    turns.hand_over();
    wgmma_wait(products);
    keys.release(count);
    if (work.tiles == 1) queries.release();
    softmax.weigh(by_columns(products), work.rows, row, 0, plain.mask, decrease.less);
    pack(weights, products);
    while (true) {
        const bool ends = tile + 1 == work.tiles;
        int index = Work::all();
        if (STAYS && ends) {
            mbarrier_wait(queries.full, parity ^= 1);
            index = *queries.index;
        }
        if (ends && index >= Work::all()) break;
        keys.wait(count + 1);
        turns.wait();
        multiply_keys(products, queries.memory, keys.stage(count + 1));
        if (kLate) decrease(sums);
        values.wait(count);
        add_values(sums, weights, values.stage(count));
        turns.hand_over();
        wgmma_wait<1>(products);
        keys.release(count + 1);
        const OnlineSoftmax ended = softmax;
        const Rows done = work.rows;
        tile = ends ? 0 : tile + 1;
        if (ends) work = Work(index), softmax = OnlineSoftmax();
        if (tile + 1 == work.tiles) queries.release();
        decrease.raised = softmax.weigh(by_columns(products), work.rows, row, tile * TILE_KEYS, plain.mask, decrease.less);
        decrease.fresh = ends;
        wgmma_wait(sums);
        values.release(count++);
        if (ends) ended.store(by_columns(sums), done, row, plain, y);
        if (!kLate) decrease(sums);
        pack(weights, products);
    }
    turns.end();
    if (kLate) decrease(sums);
    values.wait(count);
    add_values(sums, weights, values.stage(count));
    wgmma_wait(sums);
    softmax.store(by_columns(sums), work.rows, row, plain, y);
}

}  // namespace

extern "C" __global__ void scaled_dot_product_attention_warpgroup_clear(float* __restrict__ taken) {
    begin_dependents();
    *reinterpret_cast<int*>(taken) = 0;
}

extern "C" __global__ void __launch_bounds__(kConsumerThreads + 128, 1)
    scaled_dot_product_attention_warpgroup(const __grid_constant__ TensorMap queries, const __grid_constant__ TensorMap keys,
                                           const __grid_constant__ TensorMap values, float* taken, const Element* __restrict__ q,
                                           const Element* __restrict__ k, const Element* __restrict__ v, const Element* __restrict__ mask,
                                           Element* __restrict__ y) {
    extern __shared__ __align__(1024) uint4 memory[];
    const Shared shared = {reinterpret_cast<char*>(memory)};
    if (threadIdx.x == 0) {
        shared.initialise();
        publish_to_async_proxy();
    }
    wait_for_launches();
    __syncthreads();
    if (threadIdx.x >= kConsumerThreads) {
        if (CONSUMERS > 1) fewer_registers<CONSUMERS == 2 ? 40 : 32>();
        if (threadIdx.x == kConsumerThreads) produce(shared, {&queries, &keys, &values}, reinterpret_cast<int*>(taken));
    } else {
        if (CONSUMERS > 1) more_registers<CONSUMERS == 2 ? 232 : 160>();
        consume(shared, {q, k, v, mask}, y);
    }
}
