// rows_apart.cuh: kernels for few long rows (rows.cuh), each of which is shared by SPLIT blocks. The first launch
// stores the partial result of every block, and the second launch merges the partial results of each row in a fixed
// order. If each element has an output, a third launch computes the outputs, one vector per thread.
#pragma once
#define KEEP again
#include "dependent_launch.cuh"
#include "rows.cuh"

#ifndef ABREAST
#define ABREAST 0  // 1: all rows share their weights
#endif

__device__ __forceinline__ void take_apart(const Element* x, float* states) {
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    Kept kept;
    Row<float> state;
    state.start();
    take_row(state, of, kept, x);
    state = merge_team(state);
    if (of.there && of.member == 0) reinterpret_cast<Row<float>*>(states)[of.row * SPLIT + blockIdx.x % SPLIT] = state;
    begin_dependents();
}

// merged_parts merges the partial results of a row's blocks and returns the result.
__device__ __forceinline__ Row<float> merged_parts(const float* states, long long row, int member) {
    Row<float> state;
    state.start();
    for (int part = member; part < SPLIT; part += TEAM) state.merge(reinterpret_cast<const Row<float>*>(states)[row * SPLIT + part]);
    return merge_team(state);
}

// merge_apart merges the partial results of one row per block, and stores the result over the first of them.
__device__ __forceinline__ void merge_apart(float* states) {
    wait_for_launches();
    const Row<float> state = merged_parts(states, blockIdx.x, threadIdx.x);
    if (threadIdx.x == 0) reinterpret_cast<Row<float>*>(states)[static_cast<long long>(blockIdx.x) * SPLIT] = state;
    begin_dependents();
}

// answer_apart computes the outputs of one vector per thread. answer_apart begins at the end of the tensor, whose
// elements may still be in the L2.
template <class T, class AnyEpilogue>
__device__ __forceinline__ void answer_apart(const Element* x, const float* states, T* y, Weights weights, const AnyEpilogue& epilogue) {
    constexpr int kParts = (kVectors + TEAM - 1) / TEAM, kBand = ABREAST ? (kParts < 8 ? kParts : 8) : kParts;
    const unsigned block = gridDim.x - 1 - blockIdx.x, band = block / (kBand * OUTER), within = block % (kBand * OUTER);
    const unsigned wide = min(kBand, kParts - static_cast<int>(band) * kBand);
    const Vectors of(within / wide, band * kBand + within % wide);
    float v[VEC];
    of.load<true>(v, x, 0);
    wait_for_launches();
    Row<float> state = reinterpret_cast<const Row<float>*>(states)[of.row * SPLIT];
    state.finish({LENGTH, of.row, of.from == 0}, weights);
    of.give(state, v, y, weights, epilogue, 0);
}

// give_apart computes the outputs if rows are columns in memory or have a single output; answer_apart handles all
// other cases.
template <class T, class AnyEpilogue = NoEpilogue>
__device__ __forceinline__ void give_apart(const Element* x, const float* states, T* y, Weights weights, const AnyEpilogue& epilogue = {}) {
    if constexpr (Row<float>::kMaps && !kColumns) return answer_apart(x, states, y, weights, epilogue);
    constexpr int kParts = Row<float>::kMaps ? SPLIT : 1;
    const Vectors of(blockIdx.x / kParts, blockIdx.x % kParts);
    wait_for_launches();
    Row<float> state = merged_parts(states, of.row, of.member);
    if (!of.there) return;
    state.finish({LENGTH, of.row, of.from == 0}, weights);
    if constexpr (Row<float>::kMaps)
        give_row(state, of, Kept(), x, y, weights, epilogue);
    else if (of.member == 0)
        y[of.row] = answered_as<T>(epilogue, state.give(0.0f, 0, weights), answer_place<false>(of.row, of.row, 0));
}
