// sort_runs, bitonic: a bitonic sort. Element e of the sorted sequence is item e % ITEMS of thread e / ITEMS.
// Elements are compared in registers if they belong to one thread, by shuffles within a warp, and otherwise through
// shared memory.
//
// Tunables:
//   items:    elements per thread
//   shuffles: whether the lanes of a warp exchange elements by shuffles instead of shared memory
//   together: whether key and value are stored as one 64-bit word in shared memory
#ifndef N
#define N 33554432
#define RUN 2048
#endif
#ifndef ITEMS
#define ITEMS 4
#define THREADS 512
#define SHUFFLES 1
#define TOGETHER 0
#endif

struct Element {
    unsigned key, value;
};

// Meeting is the shared memory through which threads exchange elements, with rows that are padded to avoid bank
// conflicts.
struct Meeting {
    static constexpr int Row = THREADS + 32 / ITEMS;
#if TOGETHER
    unsigned long long both[ITEMS][Row];
    __device__ void put(int item, Element e) { both[item][threadIdx.x] = (unsigned long long)e.key << 32 | e.value; }
    __device__ Element get(int item, int thread) const { return {(unsigned)(both[item][thread] >> 32), (unsigned)both[item][thread]}; }
#else
    unsigned keys[ITEMS][Row], values[ITEMS][Row];
    __device__ void put(int item, Element e) { keys[item][threadIdx.x] = e.key, values[item][threadIdx.x] = e.value; }
    __device__ Element get(int item, int thread) const { return {keys[item][thread], values[item][thread]}; }
#endif
};

// exchange compares and swaps pairs of elements that are `distance` apart. Elements with equal keys stay in place.
__device__ __forceinline__ void exchange(Element (&own)[ITEMS], Meeting& meeting, int merged, int distance) {
    const int first = threadIdx.x * ITEMS;
    if (distance < ITEMS) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int other = i ^ distance;
            if (other < i) continue;
            const bool rising = ((first + i) & merged) == 0;
            if (rising ? own[other].key < own[i].key : own[i].key < own[other].key) {
                const Element e = own[i];
                own[i] = own[other], own[other] = e;
            }
        }
        return;
    }
    const int apart = distance / ITEMS;
    const bool by_shuffles = SHUFFLES && apart < 32;
    if (!by_shuffles) {
        __syncthreads();  // all threads have read the elements of the exchange before
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) meeting.put(i, own[i]);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        Element other;
        if (by_shuffles)
            other = {__shfl_xor_sync(0xffffffffu, own[i].key, apart), __shfl_xor_sync(0xffffffffu, own[i].value, apart)};
        else
            other = meeting.get(i, threadIdx.x ^ apart);
        const bool rising = ((first + i) & merged) == 0, front = ((first + i) & distance) == 0;
        if (rising == front ? other.key < own[i].key : own[i].key < other.key) own[i] = other;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
sort_runs_bitonic(const unsigned* __restrict__ keys, const unsigned* __restrict__ values, unsigned* __restrict__ sorted_keys,
                  unsigned* __restrict__ sorted_values) {
    __shared__ Meeting meeting;
    const long long run = (long long)blockIdx.x * RUN;
    Element own[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {  // the order in which a run is read does not matter
        const long long at = run + i * THREADS + threadIdx.x;
        own[i] = {keys[at], values[at]};
    }
#pragma unroll
    for (int merged = 2; merged <= RUN; merged *= 2)
#pragma unroll
        for (int distance = merged / 2; distance > 0; distance /= 2) exchange(own, meeting, merged, distance);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) meeting.put(i, own[i]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {  // results are written in order, whole lines at a time
        const int e = i * THREADS + threadIdx.x;
        const Element out = meeting.get(e % ITEMS, e / ITEMS);
        sorted_keys[run + e] = out.key;
        sorted_values[run + e] = out.value;
    }
}
