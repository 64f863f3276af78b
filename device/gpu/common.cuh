// common.cuh: code that kernels.cu and typed.cu share: grid-stride loops, sums over a warp, and the result of a
// comparison with the reference.

#define FIRST (blockIdx.x * (u64)blockDim.x + threadIdx.x)
#define STRIDE ((u64)gridDim.x * blockDim.x)

#define POISON 0x7fbadbadu  // a NaN: what outputs of f32 hold before a launch

// ---- Sums over a warp ----

__device__ u64 warp_sum(u64 v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(0xffffffffu, v, lanes);
    return v;
}

__device__ u64 warp_max(u64 v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        u64 other = __shfl_down_sync(0xffffffffu, v, lanes);
        v = other > v ? other : v;
    }
    return v;
}

__device__ bool leads_warp() { return threadIdx.x % 32 == 0; }

// ---- Checksums ----

// Each pair of words is multiplied by a different odd number, so that a changed word, or two swapped words, change
// the checksum.
__device__ u64 weigh(uint4 v, u64 quad) {
    u64 low = v.x | (u64)v.y << 32, high = v.z | (u64)v.w << 32;
    return low * (4 * quad + 1) + high * (4 * quad + 3);
}

// ---- Comparing with the reference ----

// Outcome is the result of a comparison, seven words that the host reads.
struct Outcome {
    u64 mismatches;
    u64 first;          // ~index of the first mismatch, so that zero means none
    u64 unwritten;      // outputs that still hold the poison
    u64 not_finite;     // mismatches where a number and a NaN or infinity met
    u64 largest_error;  // bits of a float; of a double in typed.cu
    u64 reference_sum;  // checksum of the reference, which must not change either
    u64 output_sum;     // checksum of the output
};

// Finds counts the differences from the reference that one thread found.
struct Finds {
    u64 mismatches, first, unwritten, not_finite;

    __device__ void mismatch(u64 index, bool poisoned, bool finite) {
        mismatches++;
        if (first < ~index) first = ~index;
        if (poisoned) unwritten++;
        if (!finite) not_finite++;
    }
};

// report adds the differences that a warp's threads found to the outcome.
__device__ void report(Outcome* outcome, const Finds& finds, u64 largest, u64 sum, u64 output_sum) {
    sum = warp_sum(sum);
    output_sum = warp_sum(output_sum);
    largest = warp_max(largest);
    if (leads_warp()) {
        atomicAdd(&outcome->reference_sum, sum);
        atomicAdd(&outcome->output_sum, output_sum);
        atomicMax(&outcome->largest_error, largest);
    }
    if (!__any_sync(0xffffffffu, finds.mismatches != 0)) return;
    u64 mismatches = warp_sum(finds.mismatches), first = warp_max(finds.first);
    u64 unwritten = warp_sum(finds.unwritten), not_finite = warp_sum(finds.not_finite);
    if (leads_warp()) {
        atomicAdd(&outcome->mismatches, mismatches);
        atomicMax(&outcome->first, first);
        atomicAdd(&outcome->unwritten, unwritten);
        atomicAdd(&outcome->not_finite, not_finite);
    }
}
