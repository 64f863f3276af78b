// rows.cuh: the common code of kernels for operators that combine all elements of a row, such as softmax, norms and
// reductions. The operator's row.cuh defines the computation as a class Row (row_state.cuh).
//
// A team of TEAM threads computes a row. A row is read as the aligned vectors that cover it; only the first and the
// last vector may extend beyond the row's ends. If the elements of a row are INNER elements apart, a vector is one
// element, and the threads of a warp read adjacent columns.
//
// The other macros: THREADS is the number of threads per block, SPLIT the number of blocks per row, VEC the number of
// elements per vector, UNROLL the number of vectors that a thread loads at once.
//
// KEEP says where a row stays until its sum or maximum is known: in registers, in shared memory, or nowhere. With
// KEEP = again, a row is read a second time, from its end to its beginning, since its last elements are still in the
// L2. With KEEP = partly, a thread keeps HELD vectors in registers and KEPT vectors in shared memory, and reads the
// rest again.
#pragma once
#include "extremes.cuh"
#include "row_state.cuh"

enum Keep { registers, shared, again, partly };

#ifndef HELD
#define HELD 0
#endif
#ifndef ONCE
#define ONCE 0  // 1: the L2 evicts inputs first that are kept on the chip
#endif
#ifndef GIVEN
#define GIVEN 0  // 1: the states are already known
#endif

#if LENGTH > 0x3fffffff
typedef long long Offset;
typedef unsigned long long Along;  // offset from a row's first vector; unsigned divisions by constants are faster
#else
typedef int Offset;
typedef unsigned Along;
#endif
constexpr bool kColumns = INNER > 1, kAligned = LENGTH % VEC == 0, kChunked = CHUNK < LENGTH;
constexpr int kRows = THREADS / TEAM;  // in a block
constexpr int kVectors = (LENGTH + (kAligned ? 0 : VEC - 1) + VEC - 1LL) / VEC;
constexpr int kItems = (kVectors + TEAM * SPLIT - 1) / (TEAM * SPLIT);  // vectors per thread
constexpr bool kFull = kAligned && kVectors == kItems * TEAM * SPLIT;
constexpr bool kAgain = KEEP == again || KEEP == partly;  // then inputs shall stay in the L2, and answers shall not
constexpr int kHeld = HELD < kItems ? HELD : kItems, kLoaded = kItems - kHeld;
constexpr int kApart = kColumns ? TEAM : TEAM * SPLIT;  // between a thread's vectors
constexpr int kUnroll = KEEP == registers || UNROLL > kLoaded ? kLoaded : UNROLL;
static_assert(VEC == 1 || !kColumns, "a vector of a column is one element");
static_assert(!kChunked || (CHUNK % VEC == 0 && !kColumns), "a vector lies in one piece of a row");

// load_once loads elements that are not read again, with a hint that the L2 may evict them first.
template <int Elements>
__device__ __forceinline__ void load_once(float* to, const Element* from) {
    constexpr int kWords = Elements * sizeof(Element) / 4;
    if constexpr (kWords == 0) {
        load_elements<Elements>(to, from);
    } else if constexpr (kOf16Bits) {
        float pairs[kWords];
        load_vector_streaming<kWords>(pairs, reinterpret_cast<const float*>(from));
        unpack_pairs<Element, kWords>(to, pairs);
    } else {
        load_vector_streaming<kWords>(to, reinterpret_cast<const float*>(from));
    }
}

// give_vector computes the outputs of a vector's elements, from element j on.
template <class Row>
__device__ __forceinline__ void give_vector(const Row& row, float (&y)[VEC], const float (&x)[VEC], long long j, const Weights& weights, long) {
#pragma unroll
    for (int e = 0; e < VEC; ++e) y[e] = row.give(x[e], j + e, weights);
}
template <class Row>
__device__ __forceinline__ auto give_vector(const Row& row, float (&y)[VEC], const float (&x)[VEC], long long j, const Weights& weights, int)
    -> decltype(row.give_vector(y, x, j, weights)) {
    if constexpr (kAligned)
        row.give_vector(y, x, j, weights);
    else
        give_vector(row, y, x, j, weights, 0L);
}

// answer_place locates the output of element j of a row for epilogues.
template <bool Maps>
__device__ __forceinline__ AnswerPlace<Maps> answer_place(long long answer, long long row, long long j) {
#ifndef HW
    if constexpr (Maps) return {answer, {{row / INNER, j, row % INNER}, {1, LENGTH, INNER}}};
#endif
    return place_in<Maps>(ANSWER_AXES, answer);
}
#ifdef HW
constexpr bool kTogether = HW % VEC == 0;  // the answers of a vector belong to one channel
#else
constexpr bool kTogether = true;
#endif

// Vectors locates the vectors of a row that a thread reads: kItems vectors, kApart vectors apart.
struct Vectors {
    // `member` is the thread's index in the team, and `from` the index of its first vector. `lead` is the number of
    // elements from the start of the first aligned vector to the start of the row.
    int member, from, lead;
    long long row, at;        // the row's index; where its first vector begins
    bool there;               // false: the row does not exist, row 0 is computed instead

    __device__ __forceinline__ Vectors(long long block, int part) : member(kColumns ? threadIdx.x / kRows : threadIdx.x % TEAM), from(part * (kColumns ? kItems : 1) * TEAM + member) {
        row = block * kRows + (kColumns ? threadIdx.x % kRows : threadIdx.x / TEAM);
        there = row < OUTER * static_cast<long long>(INNER);
        row = there ? row : 0;
        lead = kAligned ? 0 : row * LENGTH % VEC;
        at = kChunked ? row * CHUNK : row / INNER * LENGTH * INNER + row % INNER - lead;
    }
    __device__ __forceinline__ int vector(int k) const { return from + k * kApart; }
    __device__ __forceinline__ Offset place(int k) const { return static_cast<Offset>(vector(k)) * VEC - lead; }
    __device__ __forceinline__ long long address(int k) const {
        const Along j = static_cast<Along>(vector(k)) * VEC;
        return at + (kChunked ? j / CHUNK * (static_cast<long long>(CHUNK) * OUTER) + j % CHUNK : j * static_cast<long long>(INNER));
    }
    // whole tells whether vector k lies wholly within the row.
    __device__ __forceinline__ bool whole(int k) const {
        if (kFull || (!kAligned && k > 0 && (k + 1LL) * kApart * VEC <= LENGTH)) return true;  // for all threads
        return kAligned ? vector(k) < kVectors : place(k) >= 0 && place(k) + VEC <= LENGTH;
    }
    // at_ends calls use(e, j) for each element e of a vector that lies within the row, where it has index j.
    template <class Use>
    __device__ __forceinline__ void at_ends(int k, Use use) const {
        if constexpr (!kAligned)
#pragma unroll
            for (int e = 0; e < VEC; ++e)
                if (place(k) + e >= 0 && place(k) + e < LENGTH) use(e, place(k) + e);
    }
    template <bool Once = false>
    __device__ __forceinline__ void load(float (&v)[VEC], const Element* x, int k) const {
        if (!whole(k))
            at_ends(k, [&](int e, Offset) { v[e] = to_float(x[address(k) + e]); });
        else if constexpr (Once)
            load_once<VEC>(v, x + address(k));
        else
            load_elements<VEC>(v, x + address(k));
    }
    template <class Row>
    __device__ __forceinline__ void join(Row& state, const float (&v)[VEC], int k) const {
        if (whole(k))
            state.join(v, place(k), 1);
        else
            at_ends(k, [&](int e, Offset j) { state.join({v[e]}, j, 1); });
    }
    template <class Row, class AnyEpilogue>
    __device__ __forceinline__ void give(const Row& state, const float (&v)[VEC], Element* y, const Weights& weights, const AnyEpilogue& epilogue, int k) const {
        const auto at = [&](int e) { return answer_place<true>(address(k) + e, row, place(k) + e); };
        if (!whole(k))
            return at_ends(k, [&](int e, Offset j) { y[address(k) + e] = answered_as<Element>(epilogue, state.give(v[e], j, weights), at(e)); });
        float answers[VEC];
        give_vector(state, answers, v, place(k), weights, 0);
        if constexpr (!AnyEpilogue::kIsNone && kTogether)
            epilogue.apply(answers, at(0));
        else
#pragma unroll
            for (int e = 0; e < VEC; ++e) answers[e] = epilogue.of(answers[e], at(e));
        // The compiler splits a vector store whose alignment it does not know, unless the store is streaming.
        store_elements<VEC, kAgain || !kAligned>(y + address(k), answers);
    }
};

// Kept holds a thread's vectors of a row in registers or shared memory until they are needed again.
struct Kept {
    float own[KEEP == registers ? kItems : kHeld > 0 ? kHeld : 1][VEC];
    Element* staged;
    // `items` is the number of a row's vectors in shared memory; if it is 0, registers do not hold vectors of the row
    // either.
    int items;

    __device__ __forceinline__ bool staged_to(int k) const { return k <= kHeld + items; }
    __device__ __forceinline__ Element* place(int k) const { return staged + ((k - kHeld) * THREADS + static_cast<int>(threadIdx.x)) * VEC; }
    __device__ __forceinline__ void put(const float (&v)[VEC], int k) {
#pragma unroll
        for (int e = 0; KEEP == registers && e < VEC; ++e) own[k][e] = v[e];
        if (KEEP == shared || (KEEP == partly && staged_to(k + 1))) store_elements<VEC>(place(k), v);
    }
    // get reads Count of the thread's vectors, from `first` on, from registers, shared memory or global memory.
    template <int Count>
    __device__ __forceinline__ void get(float (&v)[Count][VEC], const Vectors& of, const Element* x, int first) const {
        const bool staged_all = KEEP == shared || (KEEP == partly && staged_to(first + Count));
#pragma unroll
        for (int i = 0; KEEP == registers && i < Count * VEC; ++i) v[i / VEC][i % VEC] = own[first + i / VEC][i % VEC];
#pragma unroll
        for (int u = 0; staged_all && u < Count; ++u) load_elements<VEC>(v[u], place(first + u));
#pragma unroll
        for (int u = 0; kAgain && !staged_all && u < Count; ++u) of.load<true>(v[u], x, first + u);
    }
};

// by_groups calls group(k, count) for all vectors that registers do not hold, kUnroll vectors at once. With Back,
// by_groups goes from the last vector to the first.
template <int Number> struct Count { static constexpr int value = Number; };
template <bool Back, class Group>
__device__ __forceinline__ void by_groups(Group group) {
    constexpr int kRest = kLoaded % kUnroll, kLast = kLoaded - kRest - kUnroll;
    if constexpr (Back && kRest > 0) group(kItems - kRest, Count<kRest>());
#pragma unroll 1
    for (int k = 0; k <= kLast; k += kUnroll) group(kHeld + (Back ? kLast - k : k), Count<kUnroll>());
    if constexpr (!Back && kRest > 0) group(kItems - kRest, Count<kRest>());
}

template <class Row>
__device__ __forceinline__ void take_row(Row& state, const Vectors& of, Kept& kept, const Element* x) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) of.load<true>(kept.own[k], x, k);
#pragma unroll
    for (int k = 0; k < kHeld; ++k) of.join(state, kept.own[k], k);
    by_groups<false>([&](int first, auto count) {
        constexpr int kCount = count.value;
        float v[kCount][VEC];
        const bool once = (!kAgain && ONCE) || !Row::kMaps || (KEEP == partly && kept.staged_to(first + kCount));
#pragma unroll
        for (int u = 0; !once && u < kCount; ++u) of.load<false>(v[u], x, first + u);
#pragma unroll
        for (int u = 0; once && u < kCount; ++u) of.load<true>(v[u], x, first + u);
#pragma unroll
        for (int u = 0; u < kCount; ++u) kept.put(v[u], first + u);
        if (of.whole(first) && of.whole(first + kCount - 1)) {  // then so are all items in between
            float all[kCount * VEC];
#pragma unroll
            for (int i = 0; i < kCount * VEC; ++i) all[i] = v[i / VEC][i % VEC];
            state.join(all, of.place(first), kApart * VEC, VEC);
            return;
        }
#pragma unroll
        for (int u = 0; u < kCount; ++u) of.join(state, v[u], first + u);
    });
}

template <class Row, class AnyEpilogue>
__device__ __forceinline__ void give_row(const Row& state, const Vectors& of, const Kept& kept, const Element* x, Element* y, const Weights& weights,
                                         const AnyEpilogue& epilogue) {
    by_groups<kAgain>([&](int first, auto count) {
        float v[count.value][VEC];
        kept.get(v, of, x, first);
#pragma unroll
        for (int u = 0; u < count.value; ++u) of.give(state, v[u], y, weights, epilogue, first + u);
    });
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
        float v[VEC];
        if (kept.items == 0)
            of.load<true>(v, x, k);
        else
#pragma unroll
            for (int e = 0; e < VEC; ++e) v[e] = kept.own[k][e];
        of.give(state, v, y, weights, epilogue, k);
    }
}

// Team combines one number of each thread of a team, always in the same order; all threads get the result.
struct Team {
    __device__ __forceinline__ float sum(float own) const {
        return all(own, [](float a, float b) { return a + b; });
    }
    // most returns the largest of all threads' numbers, or NaN if any number is NaN.
    __device__ __forceinline__ float most(float own) const {
        return all(own, [](float a, float b) { return larger_or_nan(a, b); });
    }

private:
    template <class Join>
    __device__ __forceinline__ static float all(float own, Join join) {
#pragma unroll
        for (int apart = 1; apart < (TEAM < 32 ? TEAM : 32); apart *= 2) own = join(own, __shfl_xor_sync(0xffffffffu, own, apart));
        if constexpr (TEAM > 32) {
            __shared__ float shared[THREADS / 32];
            __syncthreads();  // all threads have read the result of an earlier call
            if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
            __syncthreads();
            own = shared[threadIdx.x / TEAM * (TEAM / 32) + threadIdx.x % (TEAM / 32)];
#pragma unroll
            for (int apart = 1; apart < TEAM / 32; apart *= 2) own = join(own, __shfl_xor_sync(0xffffffffu, own, apart));
        }
        return own;
    }
};

// meet_team merges the partial results of a team's threads pairwise, or all at once if Row has `meet`.
template <class Row>
__device__ __forceinline__ Row meet_team(Row state, long) {
    constexpr int kInWarp = kColumns ? 1 : TEAM < 32 ? TEAM : 32;  // consecutive threads
#pragma unroll
    for (int apart = 1; apart < kInWarp; apart *= 2) state = merged(state, apart);
    if constexpr (TEAM > kInWarp) {
        __shared__ __align__(16) unsigned char storage[THREADS / kInWarp * sizeof(Row)];
        Row* const states = reinterpret_cast<Row*>(storage);
        if (threadIdx.x % kInWarp == 0) states[threadIdx.x / kInWarp] = state;
        __syncthreads();
        if constexpr (kColumns) {
            state = states[threadIdx.x % kRows];
            for (int i = 1; i < TEAM; ++i) state.merge(states[threadIdx.x % kRows + i * kRows]);
        } else {
            state = states[threadIdx.x / TEAM * (TEAM / 32) + threadIdx.x % (TEAM / 32)];
#pragma unroll
            for (int apart = 1; apart < TEAM / 32; apart *= 2) state = merged(state, apart);
        }
    }
    return state;
}

template <class Row>
__device__ __forceinline__ auto meet_team(Row state, int) -> decltype(state.meet(Team()), Row()) {
    if constexpr (kColumns) return meet_team(state, 0L);
    state.meet(Team());
    return state;
}

// merge_team merges the partial results of a team's threads; all threads get the result.
template <class Row>
__device__ __forceinline__ Row merge_team(const Row& state) {
    return meet_team(state, 0);
}

// Clusters need sm_90. rows_apart.cuh also uses SPLIT, but without clusters.
#define IN_CLUSTERS (SPLIT > 1 && (defined(AUTOTUNE_EMULATOR) || __CUDA_ARCH__ >= 900))

#if IN_CLUSTERS
// arrive_silently arrives at the cluster's barrier without a fence, for warps that wrote nothing that other blocks
// read.
__device__ __forceinline__ void arrive_silently() {
#if !defined(AUTOTUNE_EMULATOR) && __CUDACC_VER_MAJOR__ >= 12
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#else
    __cluster_barrier_arrive();
#endif
}
#endif

// merge_cluster merges the partial results of a cluster's blocks, which share a row.
template <class Row>
__device__ __forceinline__ Row merge_cluster(Row state) {
#if IN_CLUSTERS
    __shared__ __align__(16) unsigned char storage[2 * sizeof(Row)];  // the state of the block, and of the row
    Row* const states = reinterpret_cast<Row*>(storage);
    if (threadIdx.x == 0) states[0] = state;
    if (threadIdx.x < 32)
        __cluster_barrier_arrive();
    else
        arrive_silently();
    __cluster_barrier_wait();
    if (threadIdx.x == 0) {
        state = *static_cast<const Row*>(__cluster_map_shared_rank(storage, 0));
        for (int rank = 1; rank < SPLIT; ++rank) state.merge(*static_cast<const Row*>(__cluster_map_shared_rank(storage, rank)));
        states[1] = state;
    }
    __syncthreads();
    state = states[1];
    arrive_silently();  // this block has read the other blocks' states
#endif
    return state;
}

// leave_cluster waits until no other block of the cluster reads this block's shared memory.
__device__ __forceinline__ void leave_cluster() {
#if IN_CLUSTERS
    __cluster_barrier_wait();
#endif
}

// ask loads the weights of a row ahead, if Weights has a member `ask`.
template <class Weights>
__device__ __forceinline__ auto ask(Weights& weights, long long row, int steps, int) -> decltype(weights.ask(row, LENGTH, steps)) {
    weights.ask(row, LENGTH, steps);
}
template <class Weights>
__device__ __forceinline__ void ask(Weights&, long long, int, long) {}

// answer_rows is the body of the kernel: it computes a row operator in one launch.
template <class T, class AnyEpilogue = NoEpilogue>
__device__ __forceinline__ void answer_rows(const Element* x, T* y, Weights weights, const AnyEpilogue& epilogue = {}) {
    extern __shared__ __align__(16) unsigned char staged[];
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    Kept kept;
    kept.staged = reinterpret_cast<Element*>(staged);
    Row<float> state;
    state.start();
    const bool answers = Row<float>::kMaps || of.from == 0;
    if (answers) ask(weights, of.row, 1, 0);
    if constexpr (!GIVEN) {
        take_row(state, of, kept, x);
        if (answers) ask(weights, of.row, 2, 0);
        state = merge_cluster(merge_team(state));
    }
    if (of.there && answers) {
        state.finish({LENGTH, of.row, of.from == 0}, weights);
        if constexpr (Row<float>::kMaps)
            give_row(state, of, kept, x, y, weights, epilogue);
        else
            y[of.row] = answered_as<T>(epilogue, state.give(0.0f, 0, weights), answer_place<false>(of.row, of.row, 0));
    }
    if constexpr (!GIVEN) leave_cluster();
}
