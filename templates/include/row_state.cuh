// row_state.cuh: a Row is what threads accumulate over the elements of a row, for instance a sum. The partial results
// of threads are always merged in the same order, so that outputs are reproducible bit for bit.
//
// Tuned kernels use Row<float>; the reference kernel uses Row<double>.
//
// Weights are the other inputs of an output, such as a scale per element. Weights are initialised by WEIGHTS if sizes
// are macros, and by WEIGHTS_OF(s) if sizes are members of s. An optional member ask(row, length, steps) loads
// weights ahead.
//
// The elements of a row are INNER elements apart in memory. If INNER is 1, rows may also be interleaved in chunks of
// CHUNK elements, as the channels of a batch of images are.
//
// A row.cuh defines `template <class Real> struct Row`, trivially copyable, with these members:
//   kMaps                   whether each element has an output (as in softmax), or the row has a single one (as in sum)
//   start()                 sets the state of an empty row
//   join(v, j, step, side)  adds `side` contiguous elements from j on, as many from j + step on, and so on, in order
//   merge(row)              adds the state of another thread to this one
//   meet(team)              optional: merges the partial results of all threads of a team at once
//   finish(seen, weights)   prepares the outputs, once all elements are added
//   give(x, j, weights)     returns the output of element j, whose value is x, or the output of the row
//   give_vector(y, x, j, weights)  optional: computes the outputs of several contiguous elements from j on
#pragma once
#include "epilogue.cuh"

// Seen contains a row's length and index, and whether this is the row's first thread.
struct Seen {
    long long length, row;
    bool first;
};
#include "row.cuh"

#ifndef CHUNK
#define CHUNK LENGTH
#endif
#ifndef CHUNK_OF
#define CHUNK_OF(s) (s).length  // if sizes are members of s
#endif
#ifndef ANSWER_AXES
// ANSWER_AXES are the sizes of the output's axes after the first.
#define ANSWER_AXES LENGTH, INNER
#endif
#ifndef AXES_OF
#define AXES_OF(s) (s).length, (s).inner  // the same, if sizes are members of s
#endif

#ifdef INDICES
typedef long long Answer;
#else
typedef Element Answer;
#endif
template <class T> __device__ __forceinline__ T to_answer(double x) { return from_float<T>(static_cast<float>(x)); }
template <class T> __device__ __forceinline__ T to_answer(float x) { return from_float<T>(x); }
template <class T> __device__ __forceinline__ T to_answer(long long index) { return index; }

// AnswerPlace locates an output of a row operator in the output tensor, for epilogues.
template <bool Maps>
struct AnswerPlace {
#ifdef HW
    static constexpr int kAxis = 2;
#else
    static constexpr int kAxis = 1;
#endif
    static constexpr unsigned kAlong = 1 << kAxis;
    long long answer;  // index in memory
    Coordinates<Maps ? 3 : 2> at;
    __device__ __forceinline__ long long along() const { return at.at[kAxis]; }
    template <unsigned Axes>
    __device__ __forceinline__ long long side_by_side() const {
        return Axes == (Maps ? 7 : 3) ? 1ll << 40 : at.size[kAxis];
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        return Axes == (Maps ? 7 : 3) ? answer : at.template index<Axes>();
    }
};

// place_in returns where the i-th output is stored.
template <bool Maps>
__device__ __forceinline__ AnswerPlace<Maps> place_in(long long second, long long third, long long i) {
    if constexpr (Maps)
        return {i, {{i / third / second, i / third % second, i % third}, {1, second, third}}};
    else
        return {i, {{i / third, i % third}, {1, third}}};
}

// answered_as applies the epilogue to an output and converts it to the stored type.
template <class T, class AnyEpilogue, class Real, class AnyPlace>
__device__ __forceinline__ T answered_as(const AnyEpilogue& epilogue, Real answer, const AnyPlace& place) {
    if constexpr (AnyEpilogue::kIsNone)
        return to_answer<T>(answer);
    else
        return to_answer<T>(epilogue.of(static_cast<float>(answer), place));
}

// merged merges the partial results of two lanes whose indices differ by `apart`, always in the same order, so that
// both lanes get the same result.
template <class Row>
__device__ __forceinline__ Row merged(const Row& row, int apart) {
    union Words {
        Row row;
        unsigned words[sizeof(Row) / 4];
    } first, second;
    first.row = row;
    const bool behind = threadIdx.x & apart;
#pragma unroll
    for (int w = 0; w < static_cast<int>(sizeof(Row) / 4); ++w) {
        const unsigned mine = first.words[w], theirs = __shfl_xor_sync(0xffffffffu, mine, apart);
        first.words[w] = behind ? theirs : mine;
        second.words[w] = behind ? mine : theirs;
    }
    first.row.merge(second.row);
    return first.row;
}
