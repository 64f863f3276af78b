// row_state.cuh: what threads know of a row together. Their states are merged in one order, so
// that the answer is the same bit for bit each time.
//
// A row.cuh has `template <class Real> struct Row`, trivially copied, with
//   kMaps                whether each element has an answer, or the row has one
//   start()              the state of no element
//   join(v, j, step, side)  takes in elements of the row: `side` side by side from j on, as many from j + step
//                        on, ... Without `side` it is one. Those that a thread takes in come in order
//   merge(row)           takes in another state
//   meet(team)           all states of a team at once, by sums and the most of what each has; it may be missing
//   finish(seen, weights)  what the answers need, once all elements are in; weights become the row's own
//   give(x, j, weights)  the answer of element j, x, or the row's
//   give_vector(y, x, j, weights)  those of elements from j on, a multiple of their number; it may be missing
// Kernels have it of float, the reference and the general kernel of double. Weights are what an
// answer depends on beside the row: tensors, or a problem's constants, which are WEIGHTS where sizes
// are macros and WEIGHTS_OF(s) where they are members of s. Without any it is weightless_row.cuh. They may have
// ask(row, length, steps): it loads what an answer needs, before the row's elements (1 step) and behind them (2).
//
// A row's elements lie INNER apart. Or INNER is 1, and rows lie in turns, CHUNK elements of each: so
// do the channels of a batch of images.
#pragma once
#include "epilogue.cuh"

// Seen is what finish is told of a row: how long it is, which it is, and whether this is its first thread.
struct Seen {
    long long length, row;
    bool first;
};
#include "row.cuh"

#ifndef CHUNK
#define CHUNK LENGTH
#endif
#ifndef CHUNK_OF
#define CHUNK_OF(s) (s).length  // where sizes are members of s
#endif
#ifndef ANSWER_AXES
#define ANSWER_AXES LENGTH, INNER  // the answers' axes behind the first; where a row has one, the second is the only one
#endif
#ifndef AXES_OF
#define AXES_OF(s) (s).length, (s).inner  // the same, where sizes are members of s
#endif

// Answer is the type of the problem's output.
#ifdef INDICES
typedef long long Answer;
#else
typedef Element Answer;
#endif
template <class T> __device__ __forceinline__ T to_answer(double x) { return from_float<T>(static_cast<float>(x)); }
template <class T> __device__ __forceinline__ T to_answer(float x) { return from_float<T>(x); }
template <class T> __device__ __forceinline__ T to_answer(long long index) { return index; }

// AnswerPlace is where an answer lies, for epilogues. Answers of elements have three axes: of rows, which lie side by side
// along the second, or of images, channels and places. Where rows have answers, there are two.
template <bool Maps>
struct AnswerPlace {
#ifdef HW
    static constexpr int kAxis = 2;
#else
    static constexpr int kAxis = 1;
#endif
    static constexpr unsigned kAlong = 1 << kAxis;
    long long answer;  // its index in memory
    Coordinates<Maps ? 3 : 2> at;
    __device__ __forceinline__ long long along() const { return at.at[kAxis]; }
    // A tensor like the answers begins where they do, so its vectors lie as theirs.
    template <unsigned Axes>
    __device__ __forceinline__ long long side_by_side() const {
        return Axes == (Maps ? 7 : 3) ? 1ll << 40 : at.size[kAxis];
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        return Axes == (Maps ? 7 : 3) ? answer : at.template index<Axes>();
    }
};

// place_in is that of the i-th answer, whose axes behind the first have two sizes.
template <bool Maps>
__device__ __forceinline__ AnswerPlace<Maps> place_in(long long second, long long third, long long i) {
    if constexpr (Maps)
        return {i, {{i / third / second, i / third % second, i % third}, {1, second, third}}};
    else
        return {i, {{i / third, i % third}, {1, third}}};
}

// answered_as is an answer as it is stored, behind the epilogue.
template <class T, class AnyEpilogue, class Real, class AnyPlace>
__device__ __forceinline__ T answered_as(const AnyEpilogue& epilogue, Real answer, const AnyPlace& place) {
    if constexpr (AnyEpilogue::kIsNone)
        return to_answer<T>(answer);
    else
        return to_answer<T>(epilogue.of(static_cast<float>(answer), place));
}

// merged gives a state and the one of the lane `apart`, that of the lower lane first: both
// lanes know the same then.
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
