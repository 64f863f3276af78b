// rows.cuh: a frame for operators that take all elements of a row together, as softmax, norms and
// reductions do. The operator's row.cuh says what a Row does with its elements (row_state.cuh).
//
// A team of threads has a row. Rows of a tensor may begin anywhere, so a row is read as the
// vectors, aligned in memory, that cover it. Only the first and the last hang over its ends.
//
//   global -> registers   UNROLL vectors a thread at once; all of them where registers keep the row
//   registers -> Row      a state a thread, then one a team: by shuffles, then shared memory
//   Row -> global         where each element has an answer, from where the row was kept
//
// The macros: TEAM threads a row in a block of THREADS, SPLIT blocks a row, VEC elements a vector,
// UNROLL, and KEEP: where a row is until its state is known. `again` reads it a second time.
#pragma once
#include "element.cuh"
#include "row_state.cuh"

enum Keep { registers, shared, again };

#if LENGTH > 0x3fffffff
typedef long long Offset;
#else
typedef int Offset;
#endif
constexpr bool kAligned = LENGTH % VEC == 0;  // every row's begin is
constexpr int kVectors = (LENGTH + (kAligned ? 0 : VEC - 1) + VEC - 1LL) / VEC;
constexpr int kItems = (kVectors + TEAM * SPLIT - 1) / (TEAM * SPLIT);  // vectors of a thread
constexpr bool kFull = kAligned && kVectors == kItems * TEAM * SPLIT;
constexpr int kUnroll = KEEP == registers || UNROLL > kItems ? kItems : UNROLL;

// Vectors are those of a row. A thread has kItems of them, TEAM apart.
struct Vectors {
    int lead;  // elements before the row in its first vector
    const Element* first;

    __device__ __forceinline__ Vectors(const Element* x, long long row) : lead(kAligned ? 0 : row * LENGTH % VEC), first(x + row * LENGTH - lead) {}

    __device__ __forceinline__ Offset place(int i) const { return static_cast<Offset>(i) * VEC - lead; }
    // whole tells whether a thread's item k, vector i, lies within the row.
    __device__ __forceinline__ bool whole(int i, int k) const {
        if (kFull || (!kAligned && SPLIT == 1 && k > 0 && k < kItems - 2)) return true;
        return kAligned ? i < kVectors : place(i) >= 0 && place(i) + VEC <= LENGTH;
    }
    // at_ends calls use(e, j) for the elements of a vector that hangs over an end.
    template <class Use>
    __device__ __forceinline__ void at_ends(int i, Use use) const {
        if constexpr (!kAligned)
#pragma unroll
            for (int e = 0; e < VEC; ++e)
                if (place(i) + e >= 0 && place(i) + e < LENGTH) use(e, place(i) + e);
    }
    __device__ __forceinline__ void load(float (&v)[VEC], int i, int k) const {
        if (whole(i, k))
            load_elements<VEC>(v, first + static_cast<long long>(i) * VEC);
        else
            at_ends(i, [&](int e, Offset j) { v[e] = to_float(first[lead + j]); });
    }
    template <class Row>
    __device__ __forceinline__ void join(Row& row, const float (&v)[VEC], int i, int k) const {
        if (whole(i, k))
            row.join(v, place(i), 1);
        else
            at_ends(i, [&](int e, Offset j) {
                const float one[1] = {v[e]};
                row.join(one, j, 1);
            });
    }
    // give answers each element of a vector, in y.
    template <class Row, class Weights>
    __device__ __forceinline__ void give(const Row& row, const float (&v)[VEC], Element* y, const Weights& weights, int i, int k) const {
        if (whole(i, k)) {
            float answers[VEC];
#pragma unroll
            for (int e = 0; e < VEC; ++e) answers[e] = row.give(v[e], place(i) + e, weights);
            store_elements<VEC>(y + static_cast<long long>(i) * VEC - lead, answers);
        } else {
            at_ends(i, [&](int e, Offset j) { y[j] = from_float<Element>(row.give(v[e], j, weights)); });
        }
    }
};

// Kept are a thread's vectors between the two times that it needs them: in registers, or in
// shared memory, where each thread finds its own alone.
struct Kept {
    float own[KEEP == registers ? kItems : 1][VEC];
    Element* staged;

    __device__ __forceinline__ void put(const float (&v)[VEC], int k) {
#pragma unroll
        for (int e = 0; KEEP == registers && e < VEC; ++e) own[k][e] = v[e];
        if (KEEP == shared) store_elements<VEC>(staged + (k * THREADS + static_cast<int>(threadIdx.x)) * VEC, v);
    }
    __device__ __forceinline__ void get(float (&v)[VEC], const Vectors& of, int i, int k) const {
#pragma unroll
        for (int e = 0; KEEP == registers && e < VEC; ++e) v[e] = own[k][e];
        if (KEEP == shared) load_elements<VEC>(v, staged + (k * THREADS + static_cast<int>(threadIdx.x)) * VEC);
        if (KEEP == again) of.load(v, i, k);
    }
};

// by_groups calls group(k, count) for all items of a thread, kUnroll at once; count is a constant.
template <int N> struct Count { static constexpr int value = N; };
template <class Group>
__device__ __forceinline__ void by_groups(Group group) {
    constexpr int kRest = kItems % kUnroll;
#pragma unroll 1
    for (int k = 0; k + kUnroll <= kItems; k += kUnroll) group(k, Count<kUnroll>());
    if constexpr (kRest > 0) group(kItems - kRest, Count<kRest>());
}

// take_row joins a thread's vectors, from the one of that number on, to the state of its row.
template <class Row>
__device__ __forceinline__ void take_row(Row& row, const Vectors& of, Kept& kept, int from) {
    by_groups([&](int first, auto count) {
        float v[count.value][VEC];
#pragma unroll
        for (int u = 0; u < count.value; ++u) of.load(v[u], from + (first + u) * TEAM, first + u);
#pragma unroll
        for (int u = 0; u < count.value; ++u) {
            kept.put(v[u], first + u);
            of.join(row, v[u], from + (first + u) * TEAM, first + u);
        }
    });
}

// give_row answers them; y is the row's begin.
template <class Row, class Weights>
__device__ __forceinline__ void give_row(const Row& row, const Vectors& of, const Kept& kept, Element* y, const Weights& weights, int from) {
    by_groups([&](int first, auto count) {
        float v[count.value][VEC];
#pragma unroll
        for (int u = 0; u < count.value; ++u) kept.get(v[u], of, from + (first + u) * TEAM, first + u);
#pragma unroll
        for (int u = 0; u < count.value; ++u) of.give(row, v[u], y, weights, from + (first + u) * TEAM, first + u);
    });
}
