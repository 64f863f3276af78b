// histogram, shared: blocks count a part each in shared memory.
//
// Tunables
//   threads  a block's width
//   items    bytes a thread: fewer blocks, so fewer additions to the counts in memory
//   copies   of the counts of a block: fewer threads wait for each other
#ifndef THREADS
#define THREADS 256
#define ITEMS 64
#define COPIES 1
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
histogram_shared(const unsigned char* __restrict__ x, long long size, unsigned* __restrict__ counts) {
    __shared__ unsigned own[COPIES][256];
    for (int i = threadIdx.x; i < COPIES * 256; i += THREADS) own[i / 256][i % 256] = 0;
    __syncthreads();
    const long long first = (long long)blockIdx.x * THREADS * ITEMS + threadIdx.x;
    for (int i = 0; i < ITEMS; ++i) {
        const long long at = first + (long long)i * THREADS;
        if (at < size) atomicAdd(&own[threadIdx.x % COPIES][x[at]], 1u);
    }
    __syncthreads();
    for (int value = threadIdx.x; value < 256; value += THREADS) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; ++c) sum += own[c][value];
        if (sum > 0) atomicAdd(counts + value, sum);
    }
}
