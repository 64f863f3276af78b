// matmul, few rows, streaming (sm_90 on): for products in which one matrix is small (A with up to 32 rows, or B with
// up to 32 columns), and both are contiguous along k. Nearly all of the time goes into reading the large matrix once.
//
// The rows (columns) of the large matrix are divided equally among all blocks, so that all multiprocessors finish at
// the same time. A block processes LINES rows (columns) at a time, in passes. One warp loads CHUNK bytes of each row
// of both matrices per pipeline stage by bulk copies, without a break between passes.
//
// All warps but the loading one multiply on tensor cores. BESIDE groups of warps have different rows of the large
// matrix; the ALONG warps of a group share their rows and divide k. Rows in shared memory are padded by 64 bytes to
// avoid bank conflicts.
//
// APART is the distance in bytes between two rows in a stage, PITCH the distance in floats between the sums of two
// rows.
//
// Tunables:
//   LINE_BLOCKS: blocks of 16 rows (columns) of the large matrix per warp
//   BESIDE:      groups of warps with different rows of the large matrix
//   ALONG:       warps that share rows
//   CHUNK:       bytes of a row per bulk copy
//   STAGES:      pipeline stages
//   STREAMING:   whether the L2 evicts the large matrix first, since it is read only once
#include "async_proxy.cuh"
#include "bulk_copy.cuh"
#include "few_lines.cuh"
#include "named_barrier.cuh"

namespace {

constexpr int kWarps = BESIDE * ALONG;
constexpr int kLineBytes = K * sizeof(Element), kChunks = (kLineBytes + CHUNK - 1) / CHUNK;
static_assert(kLineBytes % 64 == 0 && CHUNK % 128 == 0, "whole steps, and lines that share no banks");

// Turn is the current stage of the pipeline.
struct Turn {
    char* memory;
    int slot, parity;
    __device__ __forceinline__ explicit Turn(char* memory) : memory(memory), slot(0), parity(0) {}
    __device__ __forceinline__ char* stage() const { return memory + slot * STAGE_BYTES; }
    __device__ __forceinline__ float* sums() const { return reinterpret_cast<float*>(memory + STAGES * STAGE_BYTES); }
    __device__ __forceinline__ Mbarrier* full() const { return reinterpret_cast<Mbarrier*>(memory + STAGES * STAGE_BYTES + SUM_BYTES) + slot; }
    __device__ __forceinline__ Mbarrier* empty() const { return full() + STAGES; }
    __device__ __forceinline__ void next() {
        if (++slot == STAGES) slot = 0, parity ^= 1;
    }
};

__device__ __forceinline__ constexpr int chunk_bytes(int chunk) { return chunk == kChunks - 1 ? kLineBytes - chunk * CHUNK : CHUNK; }

// bulk_load_wide is a bulk copy of part of the large matrix; STREAMING selects its L2 eviction hint.
__device__ __forceinline__ void bulk_load_wide(void* shared, const void* global, int bytes, Mbarrier* barrier) {
#ifndef AUTOTUNE_EMULATOR
    if constexpr (STREAMING) {
        asm volatile("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
                     " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy;}"
                     :
                     : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(global), "r"(bytes),
                       "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
                     : "memory");
        return;
    }
#endif
    bulk_load(shared, global, bytes, barrier);
}

// Pass multiplies some rows (columns) of the large matrix by the whole small matrix.
struct Pass {
    const char *wide, *few;
    int lines, few_lines;
    // fetch starts the bulk copies of a pipeline stage, one row (column) per lane.
    __device__ __forceinline__ void fetch(const Turn& turn, int chunk) const {
        const int lane = threadIdx.x % 32, bytes = chunk_bytes(chunk);
        if (lane == 0) mbarrier_expect(turn.full(), (lines + few_lines) * bytes);
        __syncwarp();
        for (int l = lane; l < lines; l += 32)
            bulk_load_wide(turn.stage() + l * APART, wide + static_cast<long long>(l) * kLineBytes + chunk * CHUNK, bytes, turn.full());
        for (int l = lane; l < few_lines; l += 32)
            bulk_load(turn.stage() + (LINES + l) * APART, few + static_cast<long long>(l) * kLineBytes + chunk * CHUNK, bytes, turn.full());
    }
};

typedef float Sums[LINE_BLOCKS][FEW_BLOCKS][4];

// take reads a lane's 16 bytes of a row from shared memory.
__device__ __forceinline__ void take(unsigned (&to)[4], const char* from) {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    to[0] = words.x, to[1] = words.y, to[2] = words.z, to[3] = words.w;
#pragma unroll
    for (int q = 0; q < 4 && !kOf16Bits; ++q) to[q] = __float_as_uint(factor(__uint_as_float(to[q])));
}

// Places holds a lane's offsets into a pipeline stage. If there are fewer rows than lanes, the surplus lanes read the
// last row again.
struct Places {
    int wide[LINE_BLOCKS][2], few[FEW_BLOCKS];
    __device__ __forceinline__ Places(const Pass& pass, int beside) {
        const int line = threadIdx.x % 32 / 4, part = threadIdx.x % 4 * 16;
#pragma unroll
        for (int i = 0; i < 2 * LINE_BLOCKS; ++i) {
            const int l = (beside * 2 * LINE_BLOCKS + i) * 8 + line;
            wide[i / 2][i % 2] = (l < pass.lines ? l : pass.lines - 1) * APART + part;
        }
#pragma unroll
        for (int f = 0; f < FEW_BLOCKS; ++f) few[f] = (LINES + (f * 8 + line < pass.few_lines ? f * 8 + line : pass.few_lines - 1)) * APART + part;
    }
};

__device__ __forceinline__ void multiply_stage(Sums& sums, const char* stage, const Places& places, int along, int steps) {
#pragma unroll
    for (int i = 0; i < CHUNK / 64; i += ALONG) {
        const int step = (i + along) * 64;
        if (step >= steps * 64) break;
        unsigned left[LINE_BLOCKS][2][4];
#pragma unroll
        for (int b = 0; b < 2 * LINE_BLOCKS; ++b) take(left[b / 2][b % 2], stage + places.wide[b / 2][b % 2] + step);
#pragma unroll
        for (int f = 0; f < FEW_BLOCKS; ++f) {
            unsigned right[4];
            take(right, stage + places.few[f] + step);
#pragma unroll
            for (int s = 0; s < 4; s += 2)
#pragma unroll
                for (int b = 0; b < LINE_BLOCKS; ++b) multiply_step(sums[b][f], left[b], right, s);
        }
    }
}

// leave stores a warp's partial sums in shared memory.
__device__ __forceinline__ void leave(const Sums& sums, float* part, int beside) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < LINE_BLOCKS * FEW_BLOCKS * 4; ++i) {
        const int b = i / 4 / FEW_BLOCKS, f = i / 4 % FEW_BLOCKS;
        part[(f * 8 + lane % 4 * 2 + i % 2) * PITCH + (beside * LINE_BLOCKS + b) * 16 + lane / 4 + i % 4 / 2 * 8] = sums[b][f][i % 4];
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32 * kWarps + 32)
    matmul_few_stream(const Element* __restrict__ a, const Element* __restrict__ b, const Element* __restrict__ bias,
                      Element* __restrict__ y EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(128) char memory[];
    const int warp = threadIdx.x / 32, blocks = gridDim.x / BATCH, block = blockIdx.x % blocks;
    const long long batch = blockIdx.x / blocks, wide_lines = FEW_IS_A ? N : M;
    const int few_lines = FEW_IS_A ? M : N;
    if (BATCHES_A > 1) a += batch * M * K;
    if (BATCHES_B > 1) b += batch * K * N;
    const int share = (wide_lines + blocks - 1) / blocks, passes = (share + LINES - 1) / LINES;
    const char* const wide = reinterpret_cast<const char*>(FEW_IS_A ? b : a);
    const char* const few = reinterpret_cast<const char*>(FEW_IS_A ? a : b);

    Turn turn(memory);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i, turn.next()) {
            mbarrier_init(turn.full(), 1);
            mbarrier_init(turn.empty(), kWarps);
        }
        publish_to_async_proxy();
    }
    __syncthreads();
    turn = Turn(memory);
    for (int i = 0; i < passes; ++i) {
        const long long piece = static_cast<long long>(i) * blocks + block, pieces = static_cast<long long>(passes) * blocks;
        const long long first = wide_lines * piece / pieces;
        const Pass pass = {wide + first * kLineBytes, few, static_cast<int>(wide_lines * (piece + 1) / pieces - first), few_lines};
        if (pass.lines == 0) continue;
        if (warp == kWarps) {
            for (int c = 0; c < kChunks; ++c, turn.next()) {
                mbarrier_wait(turn.empty(), turn.parity ^ 1);
                pass.fetch(turn, c);
            }
            continue;
        }
        const int beside = warp % BESIDE, along = warp / BESIDE;
        const Places places(pass, beside);
        Sums sums = {};
        for (int c = 0; c < kChunks; ++c, turn.next()) {
            mbarrier_wait(turn.full(), turn.parity);
            multiply_stage(sums, turn.stage(), places, along, kLineBytes % CHUNK == 0 ? CHUNK / 64 : chunk_bytes(c) / 64);
            __syncwarp();
            if (threadIdx.x % 32 == 0) mbarrier_arrive(turn.empty());
        }
        named_barrier_wait(1, 32 * kWarps);  // the sums of the pass before have been stored
        leave(sums, turn.sums() + along * kSums * PITCH, beside);
        named_barrier_wait(1, 32 * kWarps);
        store_wide_lines<ALONG, PITCH>(turn.sums(), first, pass.lines, few_lines, batch, BIAS ? bias : nullptr, y,
                                       Epilogue{EPILOGUE_ARGUMENTS}, threadIdx.x, 32 * kWarps);
    }
}
