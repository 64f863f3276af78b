// warpgroup_conv.cuh: what convolutions on Hopper's warpgroup products (wgmma) share:
// the operands' form, the mainloop's products and the epilogue. A kernel that includes
// this file adds its pipeline of patches and its tile scheduler. The macros used here:
//
//   COLUMNS, PIECES  neighbouring positions of the virtual plane that a product
//                    takes, and such pieces in a tile
//   ALIGNMENT        of runs of the output, in floats: 8 for whole 32-byte sectors
//   PRODUCER_WARPS   warps that do not multiply: one or two warpgroups
//   STORE_WARPS      2 of them store; 0: the consumer warps store
//   PINGPONG         1: one consumer warpgroup multiplies while the other is in its
//                    epilogue; 0: as it comes
//
// and what op.yaml derives from them:
//
//   PATCH, PATCH_BYTES      of a patch, a stage of the pipeline: its pixels
//   STORE_PITCH             floats from one channel's run in the store buffer to the next's
//   STORE_BYTES             of the store buffer
//
// Warps are specialised, and meet at barriers only:
//
//   consumers    two warpgroups of 64 output channels each: weights in registers for
//                good, sums in registers, then into their half of the store buffer
//   producers    device memory -> shared memory, made operands there
//   store warps  one for each half: the copy engine carries it, a run of the output a
//                channel, while the next tile is multiplied. Without them each consumer
//                warp stores its own 16 channels, when the next tile's products are
//                under way
#pragma once
#include "async_copy.cuh"
#include "bulk_copy.cuh"
#include "convolution_place.cuh"
#include "fp16.cuh"
#include "guessed_scale.cuh"
#include "named_barrier.cuh"
#include "tf32.cuh"
#include "virtual_plane.cuh"
#include "wgmma.cuh"

static_assert(STRIDE_H == 1 && STRIDE_W == 1, "neighbouring outputs must read neighbouring inputs");
static_assert(C_GROUP <= 16, "a patch holds 16 channels");
static_assert(PLANE % 4 == 0, "the copy engine wants 16-byte aligned runs");

constexpr int kTileM = 128;                // output channels of a block
constexpr int kTilesM = TILES_M / GROUPS;  // in a group

// The warps' roles, and their shares of an SM's 65536 registers.
constexpr int kConsumerThreads = THREADS - 32 * PRODUCER_WARPS;
constexpr int kProducers = PRODUCER_WARPS - STORE_WARPS;  // warps that produce
constexpr int kProducerThreads = 32 * kProducers;
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = THREADS == 384 ? 232 : 216;

// Named barriers, two of each; a kernel's own begin at kFreeBarrier.
constexpr int kBufferFull = 1, kBufferFree = 3, kPingPong = 5, kFreeBarrier = 7;
constexpr int kBufferThreads = 128 + 32;

// Role is a warp's part, and the 64 output channels that it works on.
struct Role {
    int warp, half, group;
    int first_out;  // of the group's output channels
    __device__ __forceinline__ Role()
        : warp(threadIdx.x / 32), half(warp < 8 ? warp / 4 : warp - 8), group(blockIdx.y / kTilesM),
          first_out(blockIdx.y % kTilesM * kTileM + 64 * half) {}
    __device__ __forceinline__ bool consumes() const { return warp < 8; }
    __device__ __forceinline__ bool stores() const { return half < STORE_WARPS; }
    __device__ __forceinline__ static int producer_thread() {
        return threadIdx.x - kConsumerThreads - 32 * STORE_WARPS;
    }
    __device__ __forceinline__ const float* inputs(const float* x) const {
        return x + static_cast<long long>(group) * C_GROUP * kInPlane;
    }
    __device__ __forceinline__ const float* weights(const float* weight) const {
        return weight + static_cast<long long>(group) * C_OUT_GROUP * C_GROUP * kTaps;
    }
    __device__ __forceinline__ int channel() const { return group * C_OUT_GROUP + first_out; }  // of all
    __device__ __forceinline__ float* buffer(float* store_buffer) const { return store_buffer + half * 64 * STORE_PITCH; }
};

// ---- The input's power of two, where factors are two parts of fp16, in fp32. Each block guesses it from the
// same sample (guessed_scale.cuh). Producers find the largest magnitude of what they convert, and each of their
// warps leaves it in `largest`. A second launch gets these as `found`, and does all again where the guess does
// not hold. It is the same kernel: compiling another would take as long again. Weights need no guess, since a
// warp has all of its own in registers.
constexpr bool kScaled = !MATH_TF32;
constexpr int kWarps = THREADS / 32;

__device__ __forceinline__ PowerScale guessed_input(const float* x) {
    return kScaled ? guessed_scale<kWarps>(sampled(x, static_cast<long long>(N) * C * kInPlane)) : PowerScale(0);
}

__device__ __forceinline__ void leave(float* largest, unsigned most) {
    if (kScaled && largest != nullptr) {
        most = largest_of_warp(most);
        const int producer = (blockIdx.y * gridDim.x + blockIdx.x) * kProducers + Role::producer_thread() / 32;
        if (threadIdx.x % 32 == 0) largest[producer] = __uint_as_float(most);
    }
}

// input_power gives the power of a launch, and whether there is anything to do.
__device__ __forceinline__ bool input_power(PowerScale& power, const float* x, const float* found) {
    power = guessed_input(x);
    if (!kScaled || found == nullptr) {
        begin_dependents();
        return true;
    }
    wait_for_launches();
    unsigned most = 0;
    for (int i = threadIdx.x; i < gridDim.x * gridDim.y * kProducers; i += THREADS) most = max(most, __float_as_uint(found[i]));
    most = largest_of_block<kWarps>(most);
    const bool again = !holds(power.power, most);
    power = PowerScale(most);
    return again;
}

// ---- Patches: pixels side by side, in four slabs of 16 bytes a pixel, which is the
// order in which products take columns: a step of one pixel is a step of 16 bytes.
//   TF32   four slabs of four channels, rounded as the math mode says
//   fp32   two slabs of eight fp16 each for the high parts, two for the low ones, of
//          channels times a power of two; three products of parts give fp32 accuracy

// Eight channels of a pixel are two vectors of 16 bytes, kApart slabs from each
// other: as they arrive, four channels each; as operands, TF32's four channels
// each, or fp16's high and low parts of all eight. So a thread converts in place
// what it copied itself.
constexpr int kApart = kScaled ? 2 : 1;
__device__ __forceinline__ char* vectors_at(char* patch, int pixel, int half) {
    return patch + (half * (kScaled ? 1 : 2) * PATCH + pixel) * 16;
}

// copy_ahead starts copying 4 bytes, or zeros, and has the L2 fetch the 256 bytes that they lie in: other warps copy
// those soon.
__device__ __forceinline__ void copy_ahead(char* to, const float* from, bool inside) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], 4, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(inside ? 4 : 0)
                 : "memory");
#else
    async_copy<4>(to, from, inside);
#endif
}

// copy_pixel starts copying a pixel's channels, `from` on, or zeros. Neighbouring
// threads take neighbouring pixels, 4 bytes each: a warp's copies then are one
// request of 128 bytes. (Wider ones would have to be scattered, which makes each a
// request of its own, and requests are what the L2 cache runs out of.)
__device__ __forceinline__ void copy_pixel(char* patch, int pixel, const float* from, bool inside) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        char* to = vectors_at(patch, pixel, i / 8) + i % 8 / 4 * kApart * PATCH * 16 + i % 4 * 4;
        copy_ahead(to, from, inside && i < C_GROUP);
        if (i + 1 < C_GROUP) from += kInPlane;
    }
}

// largest_finite is the largest magnitude of those of eight numbers that are finite. Most often all are, which takes
// the fewest instructions.
__device__ __forceinline__ unsigned largest_finite(const float4& a, const float4& b) {
    const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    float most = 0.0f;
    unsigned finite = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) most = fmaxf(most, fabsf(v[i]));
    if (is_finite(most)) return __float_as_uint(most);  // a NaN is no maximum
#pragma unroll
    for (int i = 0; i < 8; ++i) finite = max(finite, as_magnitude(v[i]));
    return finite;
}

// convert_patch makes operands of what this thread copied, and gives the largest magnitude, where factors are fp16.
__device__ __forceinline__ unsigned convert_patch(char* patch, int thread, float power) {
    unsigned most = 0;
#pragma unroll 2
    for (int pixel = thread; pixel < PATCH; pixel += kProducerThreads) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint4* const first = reinterpret_cast<uint4*>(vectors_at(patch, pixel, half));
            uint4* const second = first + kApart * PATCH;
            const float4 a = *reinterpret_cast<const float4*>(first), b = *reinterpret_cast<const float4*>(second);
            uint4 u, v;
            if constexpr (kScaled) {
                most = max(most, largest_finite(a, b));
                split_fp16x2(a.x * power, a.y * power, u.x, v.x);
                split_fp16x2(a.z * power, a.w * power, u.y, v.y);
                split_fp16x2(b.x * power, b.y * power, u.z, v.z);
                split_fp16x2(b.z * power, b.w * power, u.w, v.w);
            } else {
                u = make_uint4(round_to_tf32(a.x), round_to_tf32(a.y), round_to_tf32(a.z), round_to_tf32(a.w));
                v = make_uint4(round_to_tf32(b.x), round_to_tf32(b.y), round_to_tf32(b.z), round_to_tf32(b.w));
            }
            *first = u;
            *second = v;
        }
    }
    return most;
}

// ---- Rows of weights, sums and store buffers are channels in an order of their own:
// of 16, the even ones come first. A lane's two rows are neighbouring channels then,
// and the rows that a warp writes at a time are all even or all odd: planes whose
// runs begin at the same place of a sector, and so hit banks that differ.
__device__ __forceinline__ int row_of(int channel) { return channel / 16 * 16 + channel % 16 / 2 + channel % 2 * 8; }

// Weights of 16 rows, one tap and 16 channels, as products take them: TF32's first
// and last 8 channels, or fp16's high and low parts of all 16.
struct WeightFragment {
    unsigned parts[2][4];
};

// load_weights makes a warp's weights of all taps, and gives the scale of these. Each warp has its own, since no sum
// has weights of two.
__device__ __forceinline__ PowerScale load_weights(WeightFragment (&made)[kTaps], const float* weights, int first_out, int lane) {
    float w[kTaps][4][2];
    unsigned most = 0;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
        for (int i = 0; i < 4; ++i)  // rows g, g+8, g, g+8; the lower and the upper slab
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int channel = kScaled ? lane % 4 * 2 + i / 2 * 8 + j : lane % 4 + i / 2 * 4 + j * 8;
                w[tap][i][j] = weight_at(weights, first_out + lane / 4 * 2 + i % 2, channel, tap);
                most = max(most, as_magnitude(w[tap][i][j]));
            }
    const PowerScale scale(kScaled ? largest_of_warp(most) : 0);
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            auto& parts = made[tap].parts;
            if constexpr (kScaled) {
                split_fp16x2(w[tap][i][0] * scale.power, w[tap][i][1] * scale.power, parts[0][i], parts[1][i]);
            } else {
                parts[0][i] = round_to_tf32(w[tap][i][0]);
                parts[1][i] = round_to_tf32(w[tap][i][1]);
            }
        }
    return scale;
}

// ---- Mainloop: multiply starts all products of a tile, piece by piece; rows are the
// operands of each tap row's first position, and every tap of it is a constant further
// on. Slabs 0 and 1 are TF32's first 8 channels or fp16's high parts.
typedef float Sums[PIECES][COLUMNS / 2];
__device__ __forceinline__ void multiply(Sums& sums, const WeightFragment (&weights)[kTaps],
                                         const char* const (&rows)[KERNEL_H]) {
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
#pragma unroll
        for (int tap = 0; tap < kTaps; ++tap) {
            const int position = tap % KERNEL_W * DILATION_W + piece * COLUMNS;
            const Slabs low = {rows[tap / KERNEL_W] + position * 16, PATCH * 16}, high = low.moved(2 * PATCH * 16);
            const auto& parts = weights[tap].parts;
            if constexpr (!kScaled) {
                wgmma<wgmma_of_tf32, COLUMNS>(sums[piece], parts[0], low, tap > 0);
                wgmma<wgmma_of_tf32, COLUMNS>(sums[piece], parts[1], high, true);
            } else {
                wgmma<wgmma_of_fp16, COLUMNS>(sums[piece], parts[1], low, tap > 0);
                wgmma<wgmma_of_fp16, COLUMNS>(sums[piece], parts[0], high, true);
                wgmma<wgmma_of_fp16, COLUMNS>(sums[piece], parts[0], low, true);
            }
        }
        wgmma_commit();
    }
}

// ---- Epilogue: sums to the store buffer, runs from there to memory. A run is what a
// tile makes of a channel's plane: its outputs from first up to end, both rounded down
// to where sectors begin in memory. STORE_PITCH is an odd number of 32 bytes: what a
// warp writes never collides, and the copy engine writes no broken sectors.
struct Run {
    int image, first, end;
};

// run_shift is how far back an output's sector begins. Planes begin anywhere in one.
__device__ __forceinline__ int run_shift(int plane, int output) {
    return (plane * (PLANE % ALIGNMENT) + output) & (ALIGNMENT - 1);
}

// Finish takes the factors' powers of two off a sum again, and adds the bias, where there is one.
struct Finish {
    float input, weights;  // inverses of the powers
    float offsets[2];      // of a lane's rows
    __device__ __forceinline__ float operator()(float sum, int row) const {
        const float value = kScaled ? unscaled(sum, input, weights) : sum;
        return BIAS ? value + offsets[row] : value;
    }
};

// write_piece writes a lane's sums of a piece to its two rows of the store buffer.
// The layout says where: always(first) whether eight positions from first on all belong
// there, at(r, position) the place of a position in row r, negative if it has none.
template <class Layout>
__device__ __forceinline__ void write_piece(float* buffer, const float (&sums)[COLUMNS / 2], int piece, int row,
                                            int lane, const Finish& finish, const Layout& layout) {
    constexpr bool pairs = W_OUT % 2 == 0 && kRowJump % 2 == 0;  // both or neither are outputs, and aligned
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; ++j) {
        const float* s = &sums[4 * j];
        const int first = piece * COLUMNS + 8 * j;
#pragma unroll
        for (int i = 0; i < 2; i += pairs ? 2 : 1) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int place = layout.at(r, first + lane % 4 * 2 + i);
                if (!layout.always(first) && place < 0) continue;
                float* to = buffer + (row + 8 * r) * STORE_PITCH + place;
                const float value = finish(s[2 * r + i], r);
                if (pairs)
                    *reinterpret_cast<float2*>(to) = make_float2(value, finish(s[2 * r + 1], r));
                else
                    *to = value;
            }
        }
    }
}

// A kernel's tile scheduler gives a warp its tiles:
//   more(), next(), last()  whether there is a tile, on to the next, whether it is the last
//   run()                   what the tile makes
// and for consumers, which also are at the pipeline's end:
//   consumer_wait()         returns when the tile's input is there
//   tap_row(r)              where the tile's first position reads in tap row r
//   consumer_release()      frees the input that later tiles do not read
//   inner()                 whether the tile is of the kind with the fewer exceptions
//   layout<Inner>(shifts)   its layout for write_piece, in two rows whose runs begin
//                           that far back
//
// write_tile writes a tile's sums to the store buffer, each piece as soon as its
// products are done.
template <int Piece = 0, class Layout, class Tiles>
__device__ __forceinline__ void write_tile(float* buffer, Sums& sums, int row, int lane, const Finish& finish,
                                           const Layout& layout, const Tiles& tiles, const Role& role) {
    wgmma_wait<PIECES - 1 - Piece>(sums[Piece]);
    if (Piece == PIECES - 1) {
        if (PINGPONG && (role.half == 0 || !tiles.last())) named_barrier_arrive(kPingPong + 1 - role.half, kConsumerThreads);
        tiles.consumer_release();
    }
    write_piece(buffer, sums[Piece], Piece, row, lane, finish, layout);
    if constexpr (Piece + 1 < PIECES) write_tile<Piece + 1>(buffer, sums, row, lane, finish, layout, tiles, role);
}

// finish_runs makes outputs of what a consumer warp has in its 16 rows of the store buffer, where there is an epilogue.
// Sums are dead by then, so many loads fit into registers. Beyond a run it loads what is somebody else's.
__device__ __forceinline__ void finish_runs(float* buffer, const Run& run, int first_channel, int last_channel,
                                            const Epilogue& epilogue) {
    if constexpr (!Epilogue::kIsNone) {
        typedef Coordinates<3> Place;
        constexpr int vectors = STORE_PITCH / 4, at_once = 8;
        __syncwarp();
#pragma unroll 1
        for (int begin = threadIdx.x % 32; begin < 16 * vectors; begin += 32 * at_once) {
            Epilogue::Loaded<4, Place> beside[at_once];
            int vector[at_once];  // in the buffer; -1: there is none
#pragma unroll
            for (int i = 0; i < at_once; ++i) {
                const int number = begin + 32 * i, row = smaller(number / vectors, 15), at = number % vectors * 4;
                const int channel = smaller(first_channel + row, last_channel), plane = run.image * C_OUT + channel;
                const int place = run.first - run_shift(plane, run.first) + at;
                const int end = smaller(run.end - run_shift(plane, run.end), PLANE);
                const bool there = number < 16 * vectors && place >= 0 && place < end && channel == first_channel + row;
                vector[i] = there ? row_of(row) * STORE_PITCH + at : -1;
                beside[i] = epilogue.load<4>(Place{{run.image, channel, place > 0 ? place : 0}, {N, C_OUT, PLANE}});
            }
#pragma unroll
            for (int i = 0; i < at_once; ++i) {
                if (vector[i] < 0) continue;
                float outputs[4];
                load_vector<4>(outputs, buffer + vector[i]);
                epilogue.apply(outputs, beside[i]);
                store_vector<4>(buffer + vector[i], outputs);
            }
        }
    }
}

// store_runs tells the copy engine what to store of Rows rows of the store buffer, run by run,
// and ends the lane's group. It does so for up to `planes` planes from `plane` on. Lanes share
// the runs, so that their addresses are worked out at one time: a single lane takes longer than a
// tile's products.
template <int Rows>
__device__ __forceinline__ void store_runs(float* y, const float* buffer, const Run& run, int plane, int planes) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < Rows; i += 32) {
        const int channel = lane + i, shift = run_shift(plane + channel, run.first);
        const int first = run.first - shift, end = run.end - run_shift(plane + channel, run.end);
        const int from = first > 0 ? first : 0, to = smaller(end, PLANE);
        if (channel < smaller(planes, Rows) && from < to)
            bulk_store(y + static_cast<long long>(plane + channel) * PLANE + from,
                       buffer + row_of(channel) * STORE_PITCH + from - first, 4 * (to - from));
    }
    bulk_store_commit();
}

// PendingRuns are a tile's runs that a consumer warp has in the store buffer, where
// there are no store warps: of 16 channels, `planes` of which exist.
struct PendingRuns {
    const float* buffer;
    int planes, plane;
    Run run;
    __device__ __forceinline__ PendingRuns(const float* buffer, int planes)
        : buffer(buffer), planes(planes), plane(0), run({0, 0, 0}) {}

    // commit notes what the buffer holds now.
    __device__ __forceinline__ void commit(const Run& its, int first_plane) {
        __syncwarp();
        run = its;
        plane = first_plane;
    }
    // store returns when the buffer is free again.
    __device__ __forceinline__ void store(float* y) const {
        store_runs<16>(y, buffer, run, plane, planes);
        bulk_store_wait_read();
        __syncwarp();
    }
};

// ---- The loops of consumer warpgroups and of store warps; producers' are the kernels'.

// consume_tiles multiplies for a consumer warpgroup's 64 channels.
template <class Tiles>
__device__ __forceinline__ void consume_tiles(Tiles tiles, const Role& role, float* y, float* store_buffer,
                                              const float* weight, const float* bias, const PowerScale& input,
                                              const Epilogue& epilogue) {
    const int half = role.half, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int row = 16 * warp + lane / 4, out = role.first_out + 16 * warp + lane / 4 * 2;  // of the lane's two rows
    WeightFragment kept[kTaps];
    const PowerScale weights = load_weights(kept, role.weights(weight), role.first_out + 16 * warp, lane);
    Finish finish = {input.inverse, weights.inverse, {0.0f, 0.0f}};
    if (BIAS) {
#pragma unroll
        for (int r = 0; r < 2; ++r)
            if (out + r < C_OUT_GROUP) finish.offsets[r] = __ldg(bias + role.group * C_OUT_GROUP + out + r);
    }

    float* const buffer = role.buffer(store_buffer);
    PendingRuns pending(buffer + 16 * warp * STORE_PITCH, C_OUT_GROUP - role.first_out - 16 * warp);
    Sums sums;
    for (bool fresh = true; tiles.more(); tiles.next(), fresh = false) {
        tiles.consumer_wait();
        const char* rows[KERNEL_H];
#pragma unroll
        for (int r = 0; r < KERNEL_H; ++r) rows[r] = tiles.tap_row(r);
        if (PINGPONG && (half == 1 || !fresh)) named_barrier_wait(kPingPong + half, kConsumerThreads);
        wgmma_fence();
        multiply(sums, kept, rows);

        if (!fresh) {
            if (STORE_WARPS > 0)
                named_barrier_wait(kBufferFree + half, kBufferThreads);
            else
                pending.store(y);
        }
        const Run run = tiles.run();
        const int plane = run.image * C_OUT + role.channel() + 16 * warp;  // an even number of planes from the lane's rows
        const int shifts[2] = {run_shift(plane, run.first), run_shift(plane + 1, run.first)};
        if (tiles.inner())
            write_tile(buffer, sums, row, lane, finish, tiles.template layout<true>(shifts), tiles, role);
        else
            write_tile(buffer, sums, row, lane, finish, tiles.template layout<false>(shifts), tiles, role);
        finish_runs(buffer + 16 * warp * STORE_PITCH, run, role.channel() + 16 * warp,
                    (role.group + 1) * C_OUT_GROUP - 1, epilogue);
        publish_to_async_proxy();
        if (STORE_WARPS > 0)
            named_barrier_arrive(kBufferFull + half, kBufferThreads);
        else
            pending.commit(run, plane);
    }
    if (STORE_WARPS == 0) pending.store(y);
}

// store_tiles stores a consumer warpgroup's half of each tile.
template <class Tiles>
__device__ __forceinline__ void store_tiles(Tiles tiles, const Role& role, float* y, float* store_buffer) {
    for (; tiles.more(); tiles.next()) {
        named_barrier_wait(kBufferFull + role.half, kBufferThreads);
        const Run run = tiles.run();
        store_runs<64>(y, role.buffer(store_buffer), run, run.image * C_OUT + role.channel(),
                       C_OUT_GROUP - role.first_out);
        bulk_store_wait_read();
        __syncwarp();
        if (!tiles.last()) named_barrier_arrive(kBufferFree + role.half, kBufferThreads);
    }
}
