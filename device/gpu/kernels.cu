// The CUDA device's own kernels fill a problem's tensors, compare a result with the reference, and detect writes
// outside of a kernel's outputs.
//
// This file has the kernels for f32 tensors; typed.cu has those for other types.
//
// All kernels read memory in 16-byte steps in grid-stride loops, with 64-bit indices. Each kernel adds its results to
// a few words of a buffer that the host has zeroed.

#define ELEMENT __device__
#include "elements.h"
#include "common.cuh"

// ---- Filling ----

extern "C" __global__ void fill(float* data, u64 count, u32 seed, int distribution, float scale) {
    for (u64 i = FIRST; i < count; i += STRIDE) data[i] = draw(i, count, seed, distribution, scale);
}

// ---- Checksums ----

// remainder_of returns the last, incomplete 16 bytes of a tensor, padded with zeros.
__device__ uint4 remainder_of(const u32* words, u64 count) {
    u64 at = count / 4 * 4;
    uint4 v = {0, 0, 0, 0};
    if (at < count) v.x = words[at];
    if (at + 1 < count) v.y = words[at + 1];
    if (at + 2 < count) v.z = words[at + 2];
    return v;
}

extern "C" __global__ void checksum(const u32* words, u64 count, u64* sum) {
    u64 mine = 0;
    for (u64 q = FIRST; q < count / 4; q += STRIDE) mine += weigh(reinterpret_cast<const uint4*>(words)[q], q);
    if (FIRST == 0) mine += weigh(remainder_of(words, count), count / 4);
    mine = warp_sum(mine);
    if (leads_warp()) atomicAdd(sum, mine);
}

// ---- Comparing with the reference ----

// FloatFinds compares floats; it branches for mismatches, which are rare.
struct FloatFinds : Finds {
    float largest;

    __device__ void look(float out, float ref, u64 index, float atol, float rtol) {
        float difference = fabsf(out - ref);
        if (difference <= fmaf(rtol, fabsf(ref), atol) && difference < 3.4e38f) {
            largest = fmaxf(largest, difference);
            return;
        }
        if (out == ref || (out != out && ref != ref && __float_as_uint(out) != POISON)) return;
        const bool finite = difference < 3.4e38f;
        mismatch(index, __float_as_uint(out) == POISON, finite);
        if (finite) largest = fmaxf(largest, difference);
    }
};

__device__ uint4 bits_of(float4 v) {
    return make_uint4(__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
}

extern "C" __global__ void compare(const float* out, const float* ref, u64 count, float atol, float rtol, Outcome* outcome) {
    FloatFinds finds = {};
    u64 sum = 0, output_sum = 0;
    for (u64 q = FIRST; q < count / 4; q += STRIDE) {
        float4 o = reinterpret_cast<const float4*>(out)[q];
        float4 r = reinterpret_cast<const float4*>(ref)[q];
        sum += weigh(bits_of(r), q);
        output_sum += weigh(bits_of(o), q);
        finds.look(o.x, r.x, 4 * q, atol, rtol);
        finds.look(o.y, r.y, 4 * q + 1, atol, rtol);
        finds.look(o.z, r.z, 4 * q + 2, atol, rtol);
        finds.look(o.w, r.w, 4 * q + 3, atol, rtol);
    }
    if (FIRST == 0) {
        sum += weigh(remainder_of(reinterpret_cast<const u32*>(ref), count), count / 4);
        output_sum += weigh(remainder_of(reinterpret_cast<const u32*>(out), count), count / 4);
        for (u64 i = count / 4 * 4; i < count; i++) finds.look(out[i], ref[i], i, atol, rtol);
    }

    report(outcome, finds, __float_as_uint(finds.largest), sum, output_sum);
}

// ---- Guard zones ----

// Zone is a guard zone: memory before or after a tensor that no kernel may change. A guard zone is filled with a NaN
// or a large number, which spoils the results of a kernel that reads it.
struct Zone {
    u32* words;
    u64 count;
    u64 spared;  // bytes of the first word that belong to the tensor

    // mask selects the bytes of word i that belong to the guard zone, not to the tensor.
    __device__ u32 mask(u64 i) const { return i == 0 ? ~0u << (8 * (u32)spared) : ~0u; }
};

extern "C" __global__ void guard_fill(const Zone* zones, u32 guard) {
    Zone zone = zones[blockIdx.y];
    for (u64 i = FIRST; i < zone.count; i += STRIDE) {
        const u32 mask = zone.mask(i);
        zone.words[i] = mask == ~0u ? guard : (zone.words[i] & ~mask) | (guard & mask);
    }
}

// guard_check counts the changed words of all guard zones in hits[0], and those of each zone in hits[1 + zone].
extern "C" __global__ void guard_check(const Zone* zones, u32 guard, u64* hits) {
    Zone zone = zones[blockIdx.y];
    u64 mine = 0;
    for (u64 i = FIRST; i < zone.count; i += STRIDE) mine += ((zone.words[i] ^ guard) & zone.mask(i)) != 0;
    mine = warp_sum(mine);
    if (leads_warp() && mine != 0) {
        atomicAdd(&hits[0], mine);
        atomicAdd(&hits[1 + blockIdx.y], mine);
    }
}

// ---- Shared memory ----

// dirty_shared fills shared memory with NaNs, so that a kernel that reads shared memory before writing it computes
// NaNs.
extern "C" __global__ void dirty_shared(u32 words) {
    extern __shared__ u32 memory[];
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) memory[i] = POISON;
}
