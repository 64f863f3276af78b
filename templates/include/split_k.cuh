// split_k.cuh: split-K: SPLITS blocks share a tile's k loop, for products with fewer tiles than a GPU has
// multiprocessors. Each block stores partial sums in a workspace. A second launch adds them up, always in the same
// order, so that results are reproducible.
//
// With SPLITS = 1 there is no workspace and no second launch.
#pragma once
#include "dependent_launch.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "finite.cuh"

// Stages is the range of a tile's k steps that one of its SPLITS blocks computes.
struct Stages {
    int first, end;
};

// Stored is the type of a tile's stored sums: float if another launch adds them up.
#if SPLITS > 1
typedef float Stored;
#else
typedef Element Stored;
#endif

template <int InTile>
__device__ __forceinline__ constexpr int first_stage(int split) {
    return split * (InTile / SPLITS) + split * (InTile % SPLITS) / SPLITS;
}

template <int InTile>
__device__ __forceinline__ Stages stages_of(int split) {
    static_assert(InTile >= SPLITS, "each split has a stage");
    return {first_stage<InTile>(split), first_stage<InTile>(split + 1)};
}

// sum_splits adds up the partial sums of kSummed outputs per block of 256 threads. If Mends is set, `plain`
// recomputes outputs that are not finite (mended.cuh). The function apply(sums, first) of Finish applies the epilogue
// to contiguous sums, where `first` is the index of the first output.
constexpr int kSummed = 1024;

// sum_vectors reads Width sums per access; Width divides the number of outputs.
template <int Width, bool Mends, class T, class Plain, class Finish>
__device__ __forceinline__ void sum_vectors(const float* partial_sums, T* y, long long outputs, const Plain& plain,
                                            const Finish& finish) {
#pragma unroll
    for (int from = 0; from < kSummed; from += 256 * Width) {
        const long long first = blockIdx.x * static_cast<long long>(kSummed) + from + threadIdx.x * Width;
        if (first >= outputs) return;
        float parts[SPLITS][Width];
#pragma unroll
        for (int split = 0; split < SPLITS; ++split) load_vector<Width>(parts[split], partial_sums + split * outputs + first);
#pragma unroll
        for (int split = 1; split < SPLITS; ++split)
#pragma unroll
            for (int i = 0; i < Width; ++i) parts[0][i] += parts[split][i];
        if constexpr (Finish::kIsNone) {
            store_elements<Width>(y + first, parts[0]);
        } else {
            float finished[Width];
#pragma unroll
            for (int i = 0; i < Width; ++i) finished[i] = parts[0][i];
            finish.apply(finished, first);
            store_elements<Width>(y + first, finished);
        }
        if constexpr (Mends)
            for (int i = 0; i < Width; ++i)
                if (!is_finite(parts[0][i])) y[first + i] = plain(first + i);
    }
}

template <bool Mends = false, class T, class Plain = int, class Finish = NoEpilogue>
__device__ __forceinline__ void sum_splits(const float* partial_sums, T* y, long long outputs, const Plain& plain = 0,
                                           const Finish& finish = {}) {
    wait_for_launches();
    long long row = outputs;
    if constexpr (!Finish::kIsNone) row = finish.side_by_side();
    if (row % 4 == 0)
        sum_vectors<4, Mends>(partial_sums, y, outputs, plain, finish);
    else if (row % 2 == 0)
        sum_vectors<2, Mends>(partial_sums, y, outputs, plain, finish);
    else
        sum_vectors<1, Mends>(partial_sums, y, outputs, plain, finish);
}
