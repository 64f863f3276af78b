// row_state.cuh: a Row is the state that threads compute from the elements of a row. States are always merged in the
// same order, so that answers are reproducible bit for bit.
//
// A row.cuh defines `template <class Real> struct Row`, trivially copyable, with these members:
//   kMaps:               whether each element has an answer, or the row has a single one.
//   start()              sets the state of a row without elements.
//   join(v, j, step, side)  adds elements of the row to the state: `side` contiguous elements from j on, as many from
//                        j + step on, and so on (`side` is 1 by default). A thread adds its elements in order.
//   merge(row)           adds another state to this one.
//   meet(team)           optional: merges all states of a team at once, by sums and maxima of all threads.
//   finish(seen, weights)  prepares the answers, once all elements are added; makes `weights` refer to this row.
//   give(x, j, weights)  returns the answer of element j, whose value is x, or the answer of the row.
//   give_vector(y, x, j, weights)  optional: the answers of Count elements from j on, a multiple of Count.
// Tuned kernels use Row<float>, the reference and the general kernel Row<double>. Weights are the other inputs of an
// answer: tensors, or a problem's constants. Weights are initialised by WEIGHTS if sizes are macros, and by
// WEIGHTS_OF(s) if sizes are members of s. Operators without Weights include weightless_row.cuh. Weights may have a
// member ask(row, length, steps), which loads ahead what an answer needs: step 1 before the row's elements are loaded,
// step 2 after them.
//
// The elements of a row are INNER apart in memory. If INNER is 1, rows may also be interleaved in chunks of CHUNK
// elements, as the channels of a batch of images are.
#pragma once
#include "epilogue.cuh"

// Seen contains what finish needs to know about a row: its length, its number, and whether this is the row's first
// thread.
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
// ANSWER_AXES are the sizes of the output's axes after the first; if rows have a single answer, only the second is
// used.
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

// AnswerPlace locates an answer for epilogues. If each element has an answer, answers have three axes: outer index,
// element, inner index; or image, channel, place. If each row has a single answer, answers have two axes.
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
    // A tensor of the output's shape has the output's alignment, so vectors never cross the end of its rows.
    template <unsigned Axes>
    __device__ __forceinline__ long long side_by_side() const {
        return Axes == (Maps ? 7 : 3) ? 1ll << 40 : at.size[kAxis];
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        return Axes == (Maps ? 7 : 3) ? answer : at.template index<Axes>();
    }
};

// place_in locates the i-th answer in memory, given the sizes of the axes after the first.
template <bool Maps>
__device__ __forceinline__ AnswerPlace<Maps> place_in(long long second, long long third, long long i) {
    if constexpr (Maps)
        return {i, {{i / third / second, i / third % second, i % third}, {1, second, third}}};
    else
        return {i, {{i / third, i % third}, {1, third}}};
}

// answered_as applies the epilogue to an answer and converts it to the stored type.
template <class T, class AnyEpilogue, class Real, class AnyPlace>
__device__ __forceinline__ T answered_as(const AnyEpilogue& epilogue, Real answer, const AnyPlace& place) {
    if constexpr (AnyEpilogue::kIsNone)
        return to_answer<T>(answer);
    else
        return to_answer<T>(epilogue.of(static_cast<float>(answer), place));
}

// merged merges the states of two lanes that are `apart` lanes apart, with the lower lane's state first, so that both
// lanes get the same result.
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
