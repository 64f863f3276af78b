// warpgroup_conv.cuh: code that the wgmma convolutions share (warpgroup_gemm.cu and warpgroup_walk.cu): the layout of
// operands, the products, and the epilogue. Macros:
//
//   COLUMNS, PIECES: output pixels per wgmma, and wgmmas per tile and tap
//   ALIGNMENT:       alignment of stores in floats; 8 stores whole 32-byte sectors
//   PRODUCER_WARPS:  4 or 8 warps that load the input
//   STORE_WARPS:     2: two of the producer warps only store; 0: the consumer warps store
//   PINGPONG:        1: one consumer warpgroup multiplies while the other is in its epilogue
//   PATCH, PATCH_BYTES: pixels and bytes of an input tile (patch), which is a pipeline stage
//   STORE_PITCH:     floats per output channel in the store buffer
//   STORE_BYTES:     bytes of the store buffer
//
// Warps are specialised:
//   consumers:   two warpgroups with 64 output channels each; weights stay in registers
//   producers:   load input into shared memory and convert it to operands
//   store warps: store the outputs by TMA while the next tile is multiplied
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

// Numbers of threads and of registers of producers and consumers.
constexpr int kConsumerThreads = THREADS - 32 * PRODUCER_WARPS;
constexpr int kProducers = PRODUCER_WARPS - STORE_WARPS;  // warps that produce
constexpr int kProducerThreads = 32 * kProducers;
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = THREADS == 384 ? 232 : 216;

// Numbers of named barriers: each name is the first of two; numbers from kFreeBarrier on are free.
constexpr int kBufferFull = 1, kBufferFree = 3, kPingPong = 5, kFreeBarrier = 7;
constexpr int kBufferThreads = 128 + 32;

// Role is a warp's role, and the 64 output channels that it works on.
struct Role {
    int warp, half, group;
    int first_out;  // within the group's output channels
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
    __device__ __forceinline__ int channel() const { return group * C_OUT_GROUP + first_out; }  // among all channels
    __device__ __forceinline__ float* buffer(float* store_buffer) const { return store_buffer + half * 64 * STORE_PITCH; }
};

// ---- In fp32, input and weights are scaled by powers of two and split into two fp16 values. Each block guesses the
// power of two for the input from a sample of its elements (guessed_scale.cuh). Producers record the largest
// magnitude that they convert. A second launch of the same kernel checks these magnitudes, and computes everything
// again if the guess was wrong. Weights need no guess, since a warp holds all of its weights in registers.
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

// input_power computes the power of two that scales the input, and returns whether this launch has to compute the
// outputs.
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

// ---- A patch consists of four slabs; a slab holds 16 bytes of each pixel.
//   TF32:  four slabs of four channels
//   fp32:  two slabs of eight fp16 high parts, and two slabs of the low parts

// Eight channels of a pixel are two 16-byte vectors, kApart slabs apart. Converting floats to operands keeps their
// size, so a thread converts the elements that it copied in place.
constexpr int kApart = kScaled ? 2 : 1;
__device__ __forceinline__ char* vectors_at(char* patch, int pixel, int half) {
    return patch + (half * (kScaled ? 1 : 2) * PATCH + pixel) * 16;
}

// copy_ahead starts copying 4 bytes, or zeros, and makes the L2 fetch the surrounding 256 bytes.
__device__ __forceinline__ void copy_ahead(char* to, const float* from, bool inside) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], 4, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(inside ? 4 : 0)
                 : "memory");
#else
    async_copy<4>(to, from, inside);
#endif
}

// copy_pixel starts copying a pixel's channels, 4 bytes at a time, or zeros. Neighbouring threads copy neighbouring
// pixels, so that a warp's copies are coalesced.
__device__ __forceinline__ void copy_pixel(char* patch, int pixel, const float* from, bool inside) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        char* to = vectors_at(patch, pixel, i / 8) + i % 8 / 4 * kApart * PATCH * 16 + i % 4 * 4;
        copy_ahead(to, from, inside && i < C_GROUP);
        if (i + 1 < C_GROUP) from += kInPlane;
    }
}

// largest_finite returns the largest magnitude of the finite numbers among eight.
__device__ __forceinline__ unsigned largest_finite(const float4& a, const float4& b) {
    const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    float most = 0.0f;
    unsigned finite = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) most = fmaxf(most, fabsf(v[i]));
    if (is_finite(most)) return __float_as_uint(most);  // fmaxf skips NaNs
#pragma unroll
    for (int i = 0; i < 8; ++i) finite = max(finite, as_magnitude(v[i]));
    return finite;
}

// convert_patch converts the elements that this thread copied to operands, and returns their largest magnitude if
// they are scaled.
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

// ---- Output channels are reordered: of each 16 channels, the even ones come first. A lane's two rows are then
// neighbouring channels, and a warp's writes to the store buffer have no bank conflicts.
__device__ __forceinline__ int row_of(int channel) { return channel / 16 * 16 + channel % 16 / 2 + channel % 2 * 8; }

// WeightFragment holds the weights of 16 output channels, one tap and 16 input channels as an operand of wgmma.
struct WeightFragment {
    unsigned parts[2][4];
};

// load_weights loads a warp's weights of all taps, and returns the power of two that scales them.
__device__ __forceinline__ PowerScale load_weights(WeightFragment (&made)[kTaps], const float* weights, int first_out, int lane) {
    float w[kTaps][4][2];
    unsigned most = 0;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap)
#pragma unroll
        for (int i = 0; i < 4; ++i)  // rows g, g+8, g, g+8; first the lower slab, then the upper one
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

// ---- Mainloop: multiply starts all wgmmas of a tile. `rows` locates the input of the tile's first pixel for each
// kernel row; the taps of a row are a constant distance apart.
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

// ---- Epilogue: accumulators are stored through a store buffer. Run is the range of a tile's outputs of a channel,
// from `first` to `end`, both aligned to memory sectors. STORE_PITCH is an odd multiple of 32 bytes to avoid bank
// conflicts.
struct Run {
    int image, first, end;
};

// run_shift returns how many outputs lie between the start of the memory sector and a given output.
__device__ __forceinline__ int run_shift(int plane, int output) {
    return (plane * (PLANE % ALIGNMENT) + output) & (ALIGNMENT - 1);
}

// Finish divides a sum by the powers of two that scaled input and weights, and adds the bias.
struct Finish {
    float input, weights;  // inverses of the powers
    float offsets[2];      // the biases of a lane's two rows
    __device__ __forceinline__ float operator()(float sum, int row) const {
        const float value = kScaled ? unscaled(sum, input, weights) : sum;
        return BIAS ? value + offsets[row] : value;
    }
};

// write_piece writes the accumulators of one wgmma to a lane's two rows of the store buffer. layout.at(r, position)
// returns where a pixel is stored in row r, or a negative number if it is not an output. layout.always(first) tells
// whether all eight pixels from `first` on are stored.
template <class Layout>
__device__ __forceinline__ void write_piece(float* buffer, const float (&sums)[COLUMNS / 2], int piece, int row,
                                            int lane, const Finish& finish, const Layout& layout) {
    // Either both pixels of a pair are outputs or neither is, so a pair is stored in one access.
    constexpr bool pairs = W_OUT % 2 == 0 && kRowJump % 2 == 0;
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

// write_tile writes a tile's accumulators to the store buffer as soon as their products are done. The loops below
// take a tile scheduler with these functions:
//   more(), next(), last(): whether a tile is left, go to the next tile, whether it is the last
//   run():                  the range of outputs that the tile computes
// Consumers' schedulers also have:
//   consumer_wait():        waits until the tile's input has arrived
//   tap_row(r):             the input of the tile's first pixel for kernel row r
//   consumer_release():     releases the input that no later tile reads
//   inner():                whether no pixel inside the tile needs a special case
//   layout<Inner>(shifts):  the tile's layout for write_piece
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

// finish_runs applies the epilogue, if there is one, to a consumer warp's 16 rows of the store buffer.
__device__ __forceinline__ void finish_runs(float* buffer, const Run& run, int first_channel, int last_channel,
                                            const Epilogue& epilogue) {
    if constexpr (!Epilogue::kIsNone) {
        typedef Coordinates<3> Place;
        constexpr int vectors = STORE_PITCH / 4, at_once = 8;
        __syncwarp();
#pragma unroll 1
        for (int begin = threadIdx.x % 32; begin < 16 * vectors; begin += 32 * at_once) {
            Epilogue::Loaded<4, Place> beside[at_once];
            int vector[at_once];  // place in the buffer, or -1
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

// store_runs stores Rows rows of the store buffer by TMA, for up to `planes` output channels from `plane` on.
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

// PendingRuns are outputs in the store buffer that a consumer warp still has to store if there are no store warps.
struct PendingRuns {
    const float* buffer;
    int planes, plane;
    Run run;
    __device__ __forceinline__ PendingRuns(const float* buffer, int planes)
        : buffer(buffer), planes(planes), plane(0), run({0, 0, 0}) {}

    // commit records which outputs the store buffer holds now.
    __device__ __forceinline__ void commit(const Run& its, int first_plane) {
        __syncwarp();
        run = its;
        plane = first_plane;
    }
    // store stores the buffer's outputs by TMA and returns when the buffer is free again.
    __device__ __forceinline__ void store(float* y) const {
        store_runs<16>(y, buffer, run, plane, planes);
        bulk_store_wait_read();
        __syncwarp();
    }
};

// ---- The loops of consumer warpgroups and store warps.

// consume_tiles is the loop of a consumer warpgroup.
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

// store_tiles is the loop of a store warp, which stores the outputs of one consumer warpgroup.
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
