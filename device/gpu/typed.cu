// The CUDA device's kernels for tensors of any type, and for special fills. These kernels are compiled only when a
// problem has tensors that are not f32.
//
// These kernels do the same as the kernels of the same name in kernels.cu, one element at a time (elements.h).

#define ELEMENT __device__
#include "elements.h"
#include "common.cuh"

extern "C" __global__ void fill_typed(void* data, u64 count, int type, u32 seed, int distribution, double a, double b) {
    for (u64 i = FIRST; i < count; i += STRIDE) element_store(data, i, type, element_draw(i, count, seed, distribution, a, b));
}

// step_of returns the q-th 16 bytes of a tensor; the last, incomplete 16 bytes are padded with zeros.
__device__ uint4 step_of(const void* data, u64 bytes, u64 q) {
    if (q < bytes / 16) return static_cast<const uint4*>(data)[q];
    u32 words[4] = {0, 0, 0, 0};
    for (u64 i = 16 * q; i < bytes; i++) words[i / 4 % 4] |= (u32)static_cast<const unsigned char*>(data)[i] << (8 * (i % 4));
    return make_uint4(words[0], words[1], words[2], words[3]);
}

extern "C" __global__ void checksum_typed(const void* data, u64 bytes, u64* sum) {
    u64 mine = 0;
    for (u64 q = FIRST; q < (bytes + 15) / 16; q += STRIDE) mine += weigh(step_of(data, bytes, q), q);
    mine = warp_sum(mine);
    if (leads_warp()) atomicAdd(sum, mine);
}

// Pair is a result and its reference, two tensors of one type.
struct Pair {
    const void *out, *ref;
    int type;
    double atol, rtol;
};

struct TypedFinds : Finds {
    double largest;

    __device__ void look(const Pair& p, u64 i) {
        const u64 bits = element_bits(p.out, i, p.type);
        const bool poisoned = bits == element_poison(p.type), floating = element_floating(p.type);
        if (bits == element_bits(p.ref, i, p.type) && !(poisoned && floating)) return;
        double error;
        const bool close = element_close(p.out, p.ref, i, p.type, p.atol, p.rtol, &error);
        const bool finite = error >= 0 && !(poisoned && floating);
        if (!close) mismatch(i, poisoned, finite);
        if (finite && error > largest) largest = error;
    }
};

extern "C" __global__ void compare_typed(const void* out, const void* ref, u64 count, int type, double atol, double rtol, Outcome* outcome) {
    const Pair pair = {out, ref, type, atol, rtol};
    const u64 bytes = count * element_bytes(type), each = 16 / element_bytes(type);
    TypedFinds finds = {};
    u64 sum = 0, output_sum = 0;
    for (u64 q = FIRST; q < (bytes + 15) / 16; q += STRIDE) {
        sum += weigh(step_of(ref, bytes, q), q);
        output_sum += weigh(step_of(out, bytes, q), q);
        const u64 end = (q + 1) * each < count ? (q + 1) * each : count;
        for (u64 i = q * each; i < end; i++) finds.look(pair, i);
    }
    DoubleBits largest;
    largest.value = finds.largest;
    report(outcome, finds, largest.bits, sum, output_sum);
}
