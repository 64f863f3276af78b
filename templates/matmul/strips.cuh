// strips.cuh: packs operands A and B of a matrix product (slab_operands.cuh). `Line` in names stands for a row of A
// or a column of B.
#pragma once
#include "element.cuh"
#include "factor.cuh"
#include "scaled_output.cuh"
#include "slab_operands.cuh"
#include "triangle.cuh"

// Rows and Columns compute where rows of A, or columns of B, lie in the packed operand. kContiguous says whether a
// row of A (column of B) is contiguous in memory.
struct Rows {
    static constexpr bool kContiguous = !TRANSPOSE_A;
    static constexpr int kTriangle = TRIANGULAR_A;  // a triangle of lines by k
    __device__ __forceinline__ static int lines() { return M; }
    __device__ __forceinline__ static int padded_lines() { return ROW_BLOCKS_IN_ALL * kBlockRows; }
    __device__ __forceinline__ static int matrices() { return BATCHES_A; }
    __device__ __forceinline__ static long long apart() { return kBlockRows * 16; }
    __device__ __forceinline__ static long long packed_bytes() { return static_cast<long long>(ROW_BLOCKS_IN_ALL) * STEPS * kBlockStepBytes; }
    __device__ __forceinline__ static long long slab(int line, int step) {
        return (line / kBlockRows * static_cast<long long>(STEPS) + step) * kBlockStepBytes + line % kBlockRows * 16;
    }
};
struct Columns {
    static constexpr bool kContiguous = TRANSPOSE_B;
    static constexpr int kTriangle = -(TRIANGULAR_B);
    __device__ __forceinline__ static int lines() { return N; }
    __device__ __forceinline__ static int padded_lines() { return (N + 15) / 16 * 16; }
    __device__ __forceinline__ static int matrices() { return BATCHES_B; }
    __device__ __forceinline__ static long long apart() { return PACKED_COLUMNS * 16ll; }
    __device__ __forceinline__ static long long packed_bytes() { return STEPS * kSlabs * apart(); }
    __device__ __forceinline__ static long long slab(int line, int step) { return step * kSlabs * apart() + line * 16; }
};

// Strip is the part of an operand that a block packs: STRIP_LINES rows (columns) in one of CHUNKS ranges of k. The
// elements of a strip stay in registers while the block finds the largest element of each row; with several ranges of
// k, an earlier launch has found it.
constexpr int kPackers = 512, kOfLine = kPackers / STRIP_LINES;  // threads
constexpr int kStripSteps = (STEPS + CHUNKS - 1) / CHUNKS, kStepsAtOnce = kOfLine / 2;

template <class Side>
struct Strip {
    static constexpr bool kContiguous = Side::kContiguous;
    __device__ __forceinline__ static int lines() { return Side::lines(); }
    __device__ __forceinline__ static int in_matrix() { return (Side::padded_lines() + STRIP_LINES - 1) / STRIP_LINES * CHUNKS; }
    __device__ __forceinline__ static int blocks() { return Side::matrices() * in_matrix(); }
    static constexpr int kMinor = STRIP_LINES < 8 ? STRIP_LINES : 8;  // neighbours store their slabs side by side
    static constexpr int kWidest = kOf16Bits ? 8 : 4, kWidth = kContiguous && K % kWidest == 0 ? kWidest : 1;  // of a load

    const long long matrix;
    const int chunk, first, end;  // in steps
    int in_strip, line, half, step;  // of the thread's first item
    float v[ITEMS][8];

    // The constructor loads the strip's elements with coalesced accesses.
    __device__ __forceinline__ Strip(const Element* matrices, int block)
        : matrix(block / in_matrix()), chunk(block % CHUNKS), first(chunk * kStripSteps),
          end(first + kStripSteps < STEPS ? first + kStripSteps : STEPS) {
        const int rest = threadIdx.x / (2 * kMinor), strip = block % in_matrix() / CHUNKS;
        half = kContiguous ? threadIdx.x % 2 : threadIdx.x / kMinor % 2;
        in_strip = rest / kStepsAtOnce * kMinor + (kContiguous ? threadIdx.x / 2 % kMinor : threadIdx.x % kMinor);
        line = strip * STRIP_LINES + in_strip;
        step = first + rest % kStepsAtOnce;
        const Element* const from = matrices + matrix * K * lines() + (kContiguous ? line * static_cast<long long>(K) : line);
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const int k = (step + item * kStepsAtOnce) * kStepDepth + half * 8;
#pragma unroll
            for (int i = 0; i < 8; i += kWidth) {
                if (line < lines() && k + i < K)
                    load_elements<kWidth>(v[item] + i, from + (kContiguous ? k + i : (k + i) * static_cast<long long>(lines())));
                else
#pragma unroll
                    for (int j = 0; j < kWidth; ++j) v[item][i + j] = 0.0f;
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
                if (!counts(Side::kTriangle, line, k + i)) v[item][i] = 0.0f;
        }
    }
    __device__ __forceinline__ bool mine(int item) const { return line < Side::padded_lines() && step + item * kStepsAtOnce < end; }

    // find_largest computes the largest magnitude of each row (column), in shared memory.
    __device__ __forceinline__ void find_largest(unsigned (&most)[STRIP_LINES]) const {
        if (threadIdx.x < STRIP_LINES) most[threadIdx.x] = 0;
        __syncthreads();
        unsigned largest = 0;
#pragma unroll
        for (int item = 0; item < ITEMS; ++item)
            if (mine(item))
#pragma unroll
                for (int i = 0; i < 8; ++i) largest = max(largest, as_magnitude(v[item][i]));
        atomicMax(&most[in_strip], largest);
        __syncthreads();
    }
    __device__ __forceinline__ void store_largest(float* largest) const {
        __shared__ unsigned most[STRIP_LINES];
        find_largest(most);
        if (line < lines() && half == 0 && step == first) largest[(matrix * lines() + line) * CHUNKS + chunk] = __uint_as_float(most[in_strip]);
    }
    // pack scales the strip's elements and stores them. `largest` contains the largest magnitudes from all ranges of
    // k.
    __device__ __forceinline__ void pack(const float* largest, char* packed, float* inverses) {
        if (kScaled) {
            __shared__ unsigned most[STRIP_LINES];
            if (CHUNKS == 1) {
                find_largest(most);
            } else {
                if (line < lines() && half == 0 && step == first) most[in_strip] = largest_of_chunks(largest + (matrix * lines() + line) * CHUNKS);
                __syncthreads();
            }
            const PowerScale scale(line < lines() ? most[in_strip] : 0);
            if (line < lines() && chunk == 0 && half == 0 && step == first) inverses[matrix * lines() + line] = scale.inverse;
#pragma unroll
            for (int item = 0; item < ITEMS; ++item)
#pragma unroll
                for (int i = 0; i < 8; ++i) v[item][i] = factor(v[item][i]) * scale.power;
        }
#pragma unroll
        for (int item = 0; item < ITEMS; ++item)
            if (mine(item)) store_half(packed + matrix * Side::packed_bytes() + Side::slab(line, step + item * kStepsAtOnce), Side::apart(), half, v[item]);
    }
    __device__ __forceinline__ static unsigned largest_of_chunks(const float* largest) {
        unsigned most = 0;
        for (int i = 0; i < CHUNKS; ++i) most = max(most, as_magnitude(largest[i]));
        return most;
    }
};

// The largest magnitudes and the inverse powers of B's columns are stored after those of A's rows.
__device__ __forceinline__ long long all_rows() { return static_cast<long long>(BATCHES_A) * M; }
