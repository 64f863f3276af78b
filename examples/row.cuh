// row.cuh: vectors of 16-bit elements, and sums and maxima over the threads of a row.
#pragma once

template <int Bytes> struct Access;
template <> struct Access<2> { typedef unsigned short type; };
template <> struct Access<4> { typedef unsigned type; };
template <> struct Access<8> { typedef uint2 type; };
template <> struct Access<16> { typedef uint4 type; };

// Run is a vector of Length adjacent elements, loaded and stored at once.
template <class T, int Length>
struct Run {
    union {
        typename Access<Length * sizeof(T)>::type whole;
        T at[Length];
    };
};

template <int Length, class T>
__device__ __forceinline__ Run<T, Length> load_run(const T* from) {
    Run<T, Length> run;
    run.whole = *reinterpret_cast<const decltype(run.whole)*>(from);
    return run;
}

template <int Length, class T>
__device__ __forceinline__ void store_run(T* to, const Run<T, Length>& run) {
    *reinterpret_cast<decltype(run.whole)*>(to) = run.whole;
}

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Greatest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// over_row combines one value of each of the Threads threads of a row; all threads of the row get the result. All
// threads of the block must call over_row.
template <int Threads, int Rows, class Combine>
__device__ __forceinline__ float over_row(float v, Combine combine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v = combine(v, __shfl_xor_sync(0xffffffffu, v, distance));
    if constexpr (Threads > 32) {
        constexpr int Warps = Threads / 32;
        __shared__ float of_warp[Rows][Warps];
        __syncthreads();  // all threads have read the values of the call before
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.y][threadIdx.x / 32] = v;
        __syncthreads();
        v = of_warp[threadIdx.y][0];
#pragma unroll
        for (int w = 1; w < Warps; ++w) v = combine(v, of_warp[threadIdx.y][w]);
    }
    return v;
}
