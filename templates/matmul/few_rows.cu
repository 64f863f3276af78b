// matmul, few rows: for products in which one matrix is small (A with up to 64 rows, or B with up to 64 columns).
// Nearly all of the time goes into reading the large matrix once, which is typically the weights of a layer.
//
// A warp takes LINE_BLOCKS * 16 rows (columns) of the large matrix and a part of k. Each lane copies exactly the
// elements to shared memory that it will multiply itself, so that no thread waits for another before the end. Then
// the warps' partial sums are added up in a fixed order, and after them those of SPLITS blocks. In fp32, CUDA cores
// compute the products.
//
// A lane loads 16 contiguous bytes along k, which permutes the order of k in the products, in the same way for both
// matrices. With g = lane / 4 and t = lane % 4, a lane holds the elements [t * kOfLane, (t + 1) * kOfLane) of each
// step of k. The lane's rows in a block of 16 are g and g + 8, or two neighbours if the matrix is not contiguous
// along k.
//
// STAGE_K is the number of elements of k in a stage.
//
// Tunables:
//   LINE_BLOCKS: blocks of 16 rows (columns) of the large matrix per warp
//   DEPTH:       steps of k per pipeline stage
//   WARPS:       warps per block, which share k
//   STAGES:      pipeline stages per warp
//   SPLITS:      blocks that share a tile's k loop (split_k.cuh)
#include "async_copy.cuh"
#include "few_lines.cuh"
#include "split_k.cuh"

namespace {

constexpr int kLines = 16 * LINE_BLOCKS, kVec = 2 * LINE_BLOCKS;
constexpr int kInRegister = kOf16Bits ? 2 : 1;  // elements
constexpr int kBytesAlong = K * sizeof(Element) % 16 == 0 ? 16 : K * sizeof(Element) % 8 == 0 ? 8 : 4;  // of a load along k
constexpr int kLoad = kVec * sizeof(Element) < 16 ? kVec * sizeof(Element) : 16;  // bytes, where lines lie across
constexpr int kStages = (K + STAGE_K - 1) / STAGE_K;

// halves combines the lower halves, or the upper halves, of two registers.
__device__ __forceinline__ unsigned halves(unsigned first, unsigned second, bool upper) { return __byte_perm(first, second, upper ? 0x7632 : 0x5410); }

// Lines are the rows of A or columns of B that a lane copies and multiplies, of a matrix with `count` of them.
template <bool AlongK, int Blocks, int OfBlock>
struct Lines {
    static constexpr int kLoadsAlong = 16 / kBytesAlong;
    const Element* matrix;
    long long count;
    long long first;
    int lane;

    // line returns the index of the lane's h-th row (column) in block b.
    __device__ __forceinline__ long long line(int b, int h) const {
        if (AlongK || OfBlock == 1) return first + b * 8 * OfBlock + lane / 4 + 8 * h;
        return first + lane / 4 * kVec + 2 * b + h;
    }
    template <int Bytes>
    __device__ __forceinline__ void copy(char* to, int i, long long line, long long k) const {
        const bool there = line < count && k < K;
        async_copy<Bytes>(to + (i * 32 + lane) * Bytes, there ? matrix + (AlongK ? line * K + k : k * count + line) : matrix, there);
    }
    __device__ __forceinline__ void fetch(char* to, int k) const {
        k += lane % 4 * kOfLane;
        if constexpr (AlongK) {
#pragma unroll
            for (int i = 0; i < Blocks * OfBlock * kLoadsAlong; ++i) {
                const int l = i / kLoadsAlong;
                copy<kBytesAlong>(to, i, line(l / OfBlock, l % OfBlock), k + i % kLoadsAlong * (kOfLane / kLoadsAlong));
            }
        } else if constexpr (OfBlock == 1) {  // one element, with its neighbour if it has 16 bits
#pragma unroll
            for (int i = 0; i < Blocks * kOfLane; ++i) copy<4>(to, i, line(i / kOfLane, 0) / kInRegister * kInRegister, k + i % kOfLane);
        } else {
            constexpr int loads = kVec * sizeof(Element) / kLoad;
#pragma unroll
            for (int i = 0; i < kOfLane * loads; ++i) copy<kLoad>(to, i, line(0, 0) + i % loads * (kLoad / sizeof(Element)), k + i / loads);
        }
    }
    __device__ __forceinline__ unsigned word(const char* from, int i, int bytes, int w) const {
        return reinterpret_cast<const unsigned*>(from + (i * 32 + lane) * bytes)[w];
    }
    // take returns the lane's elements of its h-th row (column) in block b.
    __device__ __forceinline__ void take(unsigned (&to)[4], const char* from, int b, int h) const {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            if constexpr (AlongK) {
                constexpr int words = kBytesAlong / 4;
                to[q] = word(from, (b * OfBlock + h) * kLoadsAlong + q / words, kBytesAlong, q % words);
            } else if constexpr (OfBlock == 1) {
                const int i = b * kOfLane + q * kInRegister;
                to[q] = kOf16Bits ? halves(word(from, i, 4, 0), word(from, i + 1, 4, 0), line(b, 0) % 2 != 0) : word(from, i, 4, 0);
            } else if constexpr (kOf16Bits) {
                to[q] = halves(word(from, 2 * q, kLoad, b), word(from, 2 * q + 1, kLoad, b), h != 0);
            } else {
                const int w = 2 * b + h, words = kLoad / 4;
                to[q] = word(from, q * (kVec / words) + w / words, kLoad, w % words);
            }
            if (!kOf16Bits) to[q] = __float_as_uint(factor(__uint_as_float(to[q])));
        }
    }
};

typedef Lines<WIDE_ALONG_K, LINE_BLOCKS, 2> Wide;
typedef Lines<FEW_ALONG_K, FEW_BLOCKS, 1> Few;

__device__ __forceinline__ void fetch_stage(const Wide& wide, const Few& few, char* to, int stage) {
#pragma unroll
    for (int d = 0; d < DEPTH; ++d, to += STEP_BYTES) {
        wide.fetch(to, (stage * DEPTH + d) * kStep);
        few.fetch(to + WIDE_BYTES, (stage * DEPTH + d) * kStep);
    }
}

// Sums are a lane's accumulators: on tensor cores in the layout of mma.cuh.
typedef float Sums[kOnTensorCores ? 4 : 16];

template <class T>
__device__ __forceinline__ void multiply_stage(T (&sums)[LINE_BLOCKS][FEW_BLOCKS], const Wide& wide, const Few& few, const char* from) {
#pragma unroll
    for (int d = 0; d < DEPTH; ++d, from += STEP_BYTES) {
        unsigned left[LINE_BLOCKS][2][4];
#pragma unroll
        for (int i = 0; i < 2 * LINE_BLOCKS; ++i) wide.take(left[i / 2][i % 2], from, i / 2, i % 2);
        if constexpr (!kOnTensorCores) {
#pragma unroll
            for (int f = 0; f < 8 * FEW_BLOCKS; ++f) {
                if (f >= few.count) break;
                unsigned right[4];
                Few{few.matrix, few.count, 0, f % 8 * 4 + few.lane % 4}.take(right, from + WIDE_BYTES, f / 8, 0);
#pragma unroll
                for (int i = 0; i < 2 * LINE_BLOCKS; ++i)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        sums[i / 2][f / 8][i % 2 * 8 + f % 8] += __uint_as_float(left[i / 2][i % 2][q]) * __uint_as_float(right[q]);
            }
        } else {
#pragma unroll
            for (int f = 0; f < FEW_BLOCKS; ++f) {
                unsigned right[4];
                few.take(right, from + WIDE_BYTES, f, 0);
#pragma unroll
                for (int s = 0; s < 4; s += 2)
#pragma unroll
                    for (int b = 0; b < LINE_BLOCKS; ++b)
                        multiply_step(sums[b][f], left[b], right, s);
            }
        }
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    matmul_few_rows(const Element* __restrict__ a, const Element* __restrict__ b, const Element* __restrict__ bias,
                    Stored* __restrict__ y TILE_EPILOGUE_PARAMETERS) {
    extern __shared__ __align__(16) char memory[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long wide_lines = FEW_IS_A ? N : M, few_lines = FEW_IS_A ? M : N;
    const int tiles = (wide_lines + kLines - 1) / kLines, tile = blockIdx.x % tiles, split = blockIdx.x / tiles / BATCH;
    const long long batch = blockIdx.x / tiles % BATCH, first = static_cast<long long>(tile) * kLines;
    if (BATCHES_A > 1) a += batch * M * K;
    if (BATCHES_B > 1) b += batch * K * N;
    const Wide wide = {FEW_IS_A ? b : a, wide_lines, first, lane};
    const Few few = {FEW_IS_A ? a : b, few_lines, 0, lane};

    char* const mine = memory + warp * STAGES * STAGE_BYTES;
    const Stages stages = stages_of<kStages>(split);
    Sums sums[LINE_BLOCKS][FEW_BLOCKS] = {};
    int stage = stages.first + warp, ahead = stage, slot = 0;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s, ahead += WARPS) {
        if (ahead < stages.end) fetch_stage(wide, few, mine + s * STAGE_BYTES, ahead);
        async_copy_commit();
    }
    for (; stage < stages.end; stage += WARPS, ahead += WARPS) {
        async_copy_wait<STAGES - 2>();
        if (!kOnTensorCores) __syncwarp();  // what other lanes copied is there, and what they read is free
        if (ahead < stages.end) fetch_stage(wide, few, mine + (slot > 0 ? slot - 1 : STAGES - 1) * STAGE_BYTES, ahead);
        async_copy_commit();
        multiply_stage(sums, wide, few, mine + slot * STAGE_BYTES);
        if (++slot == STAGES) slot = 0;
    }
    begin_dependents();
    __syncthreads();

    float* const shared_sums = reinterpret_cast<float*>(memory) + warp * kSums * PITCH;
    constexpr int each = kOnTensorCores ? 4 : 16;
#pragma unroll
    for (int i = 0; i < LINE_BLOCKS * FEW_BLOCKS * each; ++i) {
        const int b = i / each / FEW_BLOCKS, f = i / each % FEW_BLOCKS * 8;
        float sum = sums[b][f / 8][i % each];
        if constexpr (!kOnTensorCores) sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        if constexpr (!kOnTensorCores) sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const int column = kOnTensorCores ? lane % 4 * 2 + i % 2 : i % 8;
        if (kOnTensorCores || lane % 4 == i % 4) shared_sums[(f + column) * PITCH + wide.line(b, i % each / (each / 2)) - first] = sum;
    }
    __syncthreads();
    y += split * static_cast<long long>(BATCH) * M * N;
    const int lines = wide_lines - first < kLines ? wide_lines - first : kLines;
    store_wide_lines<WARPS, PITCH>(reinterpret_cast<const float*>(memory), first, lines, few_lines, batch,
                                   BIAS && split == 0 ? bias : nullptr, y, TileEpilogue{TILE_EPILOGUE_ARGUMENTS},
                                   threadIdx.x, 32 * WARPS);
}

extern "C" __global__ void __launch_bounds__(256)
    matmul_few_rows_sum(const float* partial_sums, Element* __restrict__ y EPILOGUE_PARAMETERS) {
    sum_splits(partial_sums, y, static_cast<long long>(BATCH) * M * N, 0, MatrixSums{{EPILOGUE_ARGUMENTS}});
}
