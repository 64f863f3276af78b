// The CUDA device's own kernels: they fill a problem's tensors, prove a result
// right or wrong, and see what a variant wrote that it should not have.
//
// All of them walk memory in 16-byte steps with a grid of any size, so that
// verifying takes about as long as reading the data once; counts and indices
// have 64 bits. Only sums leave the GPU: each kernel adds to a few words of a
// result buffer that the host has zeroed. Tensors are aligned to 256 bytes.

typedef unsigned int u32;
typedef unsigned long long u64;

#define POISON 0x7fbadbadu  // a NaN: what outputs hold before a launch

#define FIRST (blockIdx.x * (u64)blockDim.x + threadIdx.x)
#define STRIDE ((u64)gridDim.x * blockDim.x)

// ---- Filling ----

// The same numbers everywhere: element i of a tensor depends on i and the seed.
__device__ u32 hash(u64 i, u32 seed) {
    u64 x = i * 0x9e3779b97f4a7c15ull + seed * 0xd1b54a32d192ed03ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (u32)((x ^ (x >> 31)) >> 32);
}

__device__ float uniform(u64 i, u32 seed) { return (float)(hash(i, seed) >> 8) * 0x1p-24f; }

// Box and Muller's way from two uniform numbers to a normal one.
__device__ float normal(u64 i, u32 seed) {
    float u = (float)((hash(2 * i, seed) >> 8) + 1) * 0x1p-24f;  // never 0
    float v = uniform(2 * i + 1, seed);
    return sqrtf(-2.0f * logf(u)) * cosf(6.283185307f * v);
}

// Normal numbers, among which about one in 256 is a NaN, one an infinity and one
// minus infinity.
__device__ float special(u64 i, u32 seed) {
    switch (hash(i, ~seed) >> 24) {
    case 0: return __uint_as_float(0x7fc00000u);
    case 1: return __uint_as_float(0x7f800000u);
    case 2: return __uint_as_float(0xff800000u);
    default: return normal(i, seed);
    }
}

// The order of these is known to the host.
enum Distribution { UNIFORM01, NORMAL, NEGATIVE, SPECIAL, SYMMETRIC };

__device__ float draw(u64 i, u32 seed, int distribution, float scale) {
    switch (distribution) {
    case NORMAL: return normal(i, seed);
    case NEGATIVE: return -uniform(i, seed) - 0.5f;
    case SPECIAL: return special(i, seed);
    case SYMMETRIC: return (2.0f * uniform(i, seed) - 1.0f) * scale;
    default: return uniform(i, seed);
    }
}

extern "C" __global__ void fill(float* data, u64 count, u32 seed, int distribution, float scale) {
    for (u64 i = FIRST; i < count; i += STRIDE) data[i] = draw(i, seed, distribution, scale);
}

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

// Each pair of words is multiplied by an odd number of its own: no single word
// can change, and no two can be swapped, without changing the sum.
__device__ u64 weigh(uint4 v, u64 quad) {
    u64 low = v.x | (u64)v.y << 32, high = v.z | (u64)v.w << 32;
    return low * (4 * quad + 1) + high * (4 * quad + 3);
}

// The last, incomplete step of a tensor, filled up with zeros.
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

// What compare adds to; the host reads the same seven words.
struct Outcome {
    u64 mismatches;
    u64 first;          // ~index of the first mismatch, so that zero means none
    u64 unwritten;      // outputs that still hold the poison
    u64 not_finite;     // mismatches where a number and a NaN or infinity met
    u64 largest_error;  // bits of a float
    u64 reference_sum;  // checksum of the reference, which must not change either
    u64 output_sum;     // checksum of the output
};

// Finds of one thread; mismatches are rare, so they cost a branch each.
struct Finds {
    u64 mismatches, first, unwritten, not_finite;
    float largest;

    __device__ void look(float out, float ref, u64 index, float atol, float rtol) {
        float difference = fabsf(out - ref);
        if (difference <= fmaf(rtol, fabsf(ref), atol) && difference < 3.4e38f) {
            largest = fmaxf(largest, difference);
            return;
        }
        if (out == ref || (out != out && ref != ref && __float_as_uint(out) != POISON)) return;
        mismatches++;
        if (first < ~index) first = ~index;
        if (__float_as_uint(out) == POISON) unwritten++;
        if (difference < 3.4e38f) largest = fmaxf(largest, difference);
        else not_finite++;
    }
};

__device__ uint4 bits_of(float4 v) {
    return make_uint4(__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
}

extern "C" __global__ void compare(const float* out, const float* ref, u64 count, float atol, float rtol, Outcome* outcome) {
    Finds finds = {0, 0, 0, 0, 0.0f};
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

    sum = warp_sum(sum);
    output_sum = warp_sum(output_sum);
    u64 largest = warp_max(__float_as_uint(finds.largest));
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

// ---- Guard zones ----

// The memory before and after each tensor, one zone a row of the grid. It holds a
// NaN, which a sum passes on, or a large number, which a maximum does.
struct Zone {
    u32* words;
    u64 count;
};

extern "C" __global__ void guard_fill(const Zone* zones, u32 guard) {
    Zone zone = zones[blockIdx.y];
    for (u64 i = FIRST; i < zone.count; i += STRIDE) zone.words[i] = guard;
}

// hits[0] counts words that changed; hits[1 + zone] those of one zone.
extern "C" __global__ void guard_check(const Zone* zones, u32 guard, u64* hits) {
    Zone zone = zones[blockIdx.y];
    u64 mine = 0;
    for (u64 i = FIRST; i < zone.count; i += STRIDE) mine += zone.words[i] != guard;
    mine = warp_sum(mine);
    if (leads_warp() && mine != 0) {
        atomicAdd(&hits[0], mine);
        atomicAdd(&hits[1 + blockIdx.y], mine);
    }
}

// ---- Shared memory ----

// Leaves a NaN in a multiprocessor's shared memory: a kernel that reads what it
// never wrote finds that instead of zeros.
extern "C" __global__ void dirty_shared(u32 words) {
    extern __shared__ u32 memory[];
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) memory[i] = POISON;
}
