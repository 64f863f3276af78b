// told_states.cuh: how blocks that share a row (rows.cuh) exchange partial results without a counter or a fence. Each
// 32-bit word is stored together with a valid flag as one 64-bit word. A block that reads a result polls until all of
// its words are valid.
#pragma once
#include "rows.cuh"

typedef unsigned long long Told;
constexpr int kWords = sizeof(Row<float>) / 4;  // of a state

union StateWords {
    Row<float> row;
    unsigned words[kWords];
    __device__ __forceinline__ StateWords() {}
};

// told_in casts a workspace of floats to 64-bit words.
__device__ __forceinline__ Told* told_in(float* states) { return reinterpret_cast<Told*>(states); }

// clear_told clears the partial results of `parts` parts of rows, in an earlier launch.
__device__ __forceinline__ void clear_told(float* states, long long parts) {
    for (long long i = blockIdx.x * static_cast<long long>(THREADS) + threadIdx.x; i < parts * kWords; i += static_cast<long long>(gridDim.x) * THREADS) told_in(states)[i] = 0;
}

__device__ __forceinline__ void tell(Told* to, const Row<float>& state) {
    StateWords of;
    of.row = state;
#pragma unroll
    for (int w = 0; w < kWords; ++w) static_cast<volatile Told*>(to)[w] = 1ull << 32 | of.words[w];
}

// heard waits for a partial result of another block and returns it. Loading all words at once takes a single round
// trip to the L2.
__device__ __forceinline__ Row<float> heard(const Told* from) {
    Told words[kWords];
    bool all;
    do {
        all = true;
#pragma unroll
        for (int w = 0; w < kWords; ++w) words[w] = static_cast<const volatile Told*>(from)[w];
#pragma unroll
        for (int w = 0; w < kWords; ++w) all = all && words[w] >> 32 != 0;
    } while (!all);
    StateWords of;
#pragma unroll
    for (int w = 0; w < kWords; ++w) of.words[w] = static_cast<unsigned>(words[w]);
    return of.row;
}

// all_told waits for the partial results of all parts of a row and merges them in a fixed order; all threads get the
// result.
template <int Parts>
__device__ __forceinline__ Row<float> all_told(const Told* parts) {
    Row<float> state;
    state.start();
    for (int part = threadIdx.x; part < Parts; part += THREADS) state.merge(heard(parts + part * kWords));
    return merge_team(state);
}
