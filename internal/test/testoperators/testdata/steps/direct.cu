// The same in several launches: clear, add, spread. MODE 0 does just that; the others:
//   1 one cooperative launch                2 a launch with clusters of four blocks
//   3 nobody clears the sum                 4 more cooperative blocks than run at once
//   5 a table of half the size              6 no table
//   7 the sum is spread the wrong way
#ifndef N
#define N 1024
#define SIGN plus
#define MODE 0
#endif
enum Sign { plus, minus };
#if MODE == 5
__constant__ int table[8];
#elif MODE == 6
__constant__ int tables[16];
#define table tables
#else
__constant__ int table[16];
#endif

__global__ void clear(unsigned long long* sum) {
    if (threadIdx.x < 2) sum[threadIdx.x] = 0;
}

namespace steps {
template <typename T, int THREADS>
__global__ void add(unsigned long long* sum, const int* x, int count) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) atomicAdd(sum, (unsigned long long)((T)x[i] * table[i % 16]));
}
}  // namespace steps

__device__ void share(const int* x, const unsigned long long* sum, int count, long long* y, int i) {
    if (i >= count) return;
    long long total = (long long)*(const volatile unsigned long long*)sum;
    y[i] = x[i] + ((SIGN == plus) != (MODE == 7) ? total : -total);
}

__global__ void spread(const int* x, unsigned long long* sum, int count, long long* y) { share(x, sum, count, y, blockIdx.x * 256 + threadIdx.x); }

__global__ void clustered(const int* x, unsigned long long* sum, int count, long long* y) {
#if MODE == 2
    unsigned blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    int i = blockIdx.x * 256 + threadIdx.x;
    if (blocks == 4 && i < count) atomicAdd(sum, (unsigned long long)((long long)x[i] * table[i % 16]));
#endif
}

// A grid's barrier by hand: all blocks must run at once for it to end.
__global__ void together(const int* x, unsigned long long* sum, int count, long long* y) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256)
        atomicAdd(sum, (unsigned long long)((long long)x[i] * table[i % 16]));
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(sum + 1, 1ull);
        while (*(volatile unsigned long long*)(sum + 1) < gridDim.x) {}
    }
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) share(x, sum, count, y, i);
}
