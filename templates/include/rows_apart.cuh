// rows_apart.cuh: few long rows (rows.cuh). SPLIT blocks have a row. One launch leaves their states, and
// one merges those of a row, always in the same order. Where elements have answers, as many blocks as a row
// has vectors give them: short ones keep reading and writing side by side better than few that stay.
#pragma once
#define KEEP again
#include "dependent_launch.cuh"
#include "rows.cuh"

#ifndef ABREAST
#define ABREAST 0  // rows share weights
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

// merged_parts gives the state of a row.
__device__ __forceinline__ Row<float> merged_parts(const float* states, long long row, int member) {
    Row<float> state;
    state.start();
    for (int part = member; part < SPLIT; part += TEAM) state.merge(reinterpret_cast<const Row<float>*>(states)[row * SPLIT + part]);
    return merge_team(state);
}

// merge_apart leaves it where that of the first part was. A block has a row.
__device__ __forceinline__ void merge_apart(float* states) {
    wait_for_launches();
    const Row<float> state = merged_parts(states, blockIdx.x, threadIdx.x);
    if (threadIdx.x == 0) reinterpret_cast<Row<float>*>(states)[static_cast<long long>(blockIdx.x) * SPLIT] = state;
    begin_dependents();
}

// answer_apart answers a vector a thread, from the tensor's end on: what was read last may be in the L2
// still. Rows that share weights go abreast, a band of blocks each.
template <class T, class AnyEpilogue>
__device__ __forceinline__ void answer_apart(const Element* x, const float* states, T* y, Weights weights, const AnyEpilogue& epilogue) {
    constexpr int kParts = (kVectors + TEAM - 1) / TEAM, kBand = ABREAST ? (kParts < 8 ? kParts : 8) : kParts;
    const unsigned block = gridDim.x - 1 - blockIdx.x, band = block / (kBand * OUTER), within = block % (kBand * OUTER);
    // The last band has fewer parts.
    const unsigned wide = min(kBand, kParts - static_cast<int>(band) * kBand);
    const Vectors of(within / wide, band * kBand + within % wide);
    float v[VEC];
    of.load<true>(v, x, 0);
    wait_for_launches();
    Row<float> state = reinterpret_cast<const Row<float>*>(states)[of.row * SPLIT];
    state.finish({LENGTH, of.row, of.from == 0}, weights);
    of.give(state, v, y, weights, epilogue, 0);
}

// give_apart answers what is not answered by a vector a thread: columns, and rows that have one answer, which the
// block of their first part gives.
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
