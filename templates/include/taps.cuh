// taps.cuh: the elements of a window that lie inside the tensor, for kernels that know their sizes only at run time.
#pragma once

struct Taps {
    long long begin, end; // none, if begin >= end
};

// taps returns the elements k of a window that begins at `first` for which first + k * dilation lies in [0, size).
__device__ __forceinline__ Taps taps(long long first, long long kernel, long long dilation, long long size) {
    const long long begin = first < 0 ? (dilation - 1 - first) / dilation : 0;
    const long long end = first < size ? (size - first + dilation - 1) / dilation : 0;
    return {begin, end < kernel ? end : kernel};
}
