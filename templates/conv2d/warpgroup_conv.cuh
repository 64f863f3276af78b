// warpgroup_conv.cuh: the common parts of convolutions by Hopper's warpgroup products (wgmma): the layout of operands,
// the products of the mainloop, and the epilogue. A kernel that includes this file adds its pipeline of patches and its
// tile scheduler. The macros used here:
//
//   COLUMNS, PIECES: neighbouring positions of the virtual plane in one product (a piece),
//                    and pieces per tile.
//   ALIGNMENT:       alignment of runs of the output, in floats: 8 for whole 32-byte sectors.
//   PRODUCER_WARPS:  warps that do not multiply: one or two warpgroups.
//   STORE_WARPS      2: two of these warps store; 0: the consumer warps store.
//   PINGPONG         1: one consumer warpgroup multiplies while the other is in its
//                    epilogue; 0: both run freely.
//
// op.yaml derives these macros from the tunables:
//
//   PATCH, PATCH_BYTES:     pixels and bytes of a patch, which is a stage of the pipeline.
//   STORE_PITCH:            floats in the store buffer from one channel's run to the run of the next channel.
//   STORE_BYTES:            bytes of the store buffer.
//
// Warps are specialised, and synchronise only at barriers:
//
//   consumers:   two warpgroups of 64 output channels each. Weights stay in registers;
//                sums move from registers to the warpgroup's half of the store buffer.
//   producers:   warps that load input into shared memory and convert it to operands there.
//   store warps: one for each half of the store buffer. The copy engine stores one run of the
//                output per channel while the next tile is multiplied. Without store warps, each
//                consumer warp stores its own 16 channels while the next tile's products run.
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

// Constants of the warps' roles, and their shares of an SM's 65536 registers.
constexpr int kConsumerThreads = THREADS - 32 * PRODUCER_WARPS;
constexpr int kProducers = PRODUCER_WARPS - STORE_WARPS;  // warps that produce
constexpr int kProducerThreads = 32 * kProducers;
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = THREADS == 384 ? 232 : 216;

// Each constant is the number of the first of two named barriers of one kind; a kernel may use the numbers from
// kFreeBarrier on.
constexpr int kBufferFull = 1, kBufferFree = 3, kPingPong = 5, kFreeBarrier = 7;
constexpr int kBufferThreads = 128 + 32;

// Role is a warp's part in the kernel, and the 64 output channels that it works on.
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

// ---- In fp32, input and weights are split into two parts of fp16; a power of two first scales the input into the
// range of fp16. Each block guesses the power of two for the input from the same sample of its elements
// (guessed_scale.cuh). Producers find the largest magnitude of the elements that they convert, and each producer warp
// stores it in `largest`. A second launch of the same kernel reads the magnitudes that the first launch found
// (`found`), and computes everything again if the guess was wrong. (A separate kernel for the second launch would
// double the compile time.) Weights need no guess, since a warp holds all of its weights in registers.
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

// input_power computes the power of two that scales the input in a launch, and tells whether the launch has anything to
// do.
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

// ---- A patch holds pixels side by side, in four slabs of 16 bytes per pixel, the order in which products read
// columns: the next pixel is 16 bytes further on.
//   TF32:  four slabs of four channels, rounded as the math mode says.
//   fp32:  two slabs of eight fp16 each for the high parts, two for the low parts, of
//          channels times a power of two; three products of parts give fp32 accuracy.

// Eight channels of a pixel are two vectors of 16 bytes, kApart slabs from each other. Before conversion to operands,
// each 16-byte vector holds four channels as floats. As an operand, a vector holds four channels in TF32, or the high
// or the low parts of all eight channels in fp16. A thread can therefore convert its copied elements in place.
constexpr int kApart = kScaled ? 2 : 1;
__device__ __forceinline__ char* vectors_at(char* patch, int pixel, int half) {
    return patch + (half * (kScaled ? 1 : 2) * PATCH + pixel) * 16;
}

// copy_ahead starts copying 4 bytes, or zeros, and makes the L2 fetch the surrounding 256 bytes, which other warps will
// copy soon.
__device__ __forceinline__ void copy_ahead(char* to, const float* from, bool inside) {
#ifndef AUTOTUNE_EMULATOR
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], 4, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(inside ? 4 : 0)
                 : "memory");
#else
    async_copy<4>(to, from, inside);
#endif
}

// copy_pixel starts copying a pixel's channels, from `from` on, or zeros. Neighbouring threads copy neighbouring
// pixels, 4 bytes each, so that a warp's copies are one request of 128 bytes. (Wider copies would be scattered: each
// would be a request of its own, and the L2 cache handles only so many requests.)
__device__ __forceinline__ void copy_pixel(char* patch, int pixel, const float* from, bool inside) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        char* to = vectors_at(patch, pixel, i / 8) + i % 8 / 4 * kApart * PATCH * 16 + i % 4 * 4;
        copy_ahead(to, from, inside && i < C_GROUP);
        if (i + 1 < C_GROUP) from += kInPlane;
    }
}

// largest_finite returns the largest magnitude of the finite ones among eight numbers. The fast path is for the usual
// case, in which all eight numbers are finite.
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

// convert_patch converts the elements that this thread copied to operands. With fp16 parts, convert_patch returns the
// elements' largest magnitude.
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

// ---- Rows of weights, sums and store buffers are output channels in a special order: of each 16 channels, the even
// ones come first. In this order of channels, a lane's two rows are neighbouring channels, and the rows that a warp
// writes at the same time are all even or all odd. The runs of planes that are all even or all odd begin at the same
// offset in a sector, so that their stores hit different banks.
__device__ __forceinline__ int row_of(int channel) { return channel / 16 * 16 + channel % 16 / 2 + channel % 2 * 8; }

// WeightFragment holds the weights of 16 rows, one tap and 16 channels as a product's operand: with TF32 the first and
// last 8 channels, with fp16 the high and low parts of all 16.
struct WeightFragment {
    unsigned parts[2][4];
};

// load_weights loads a warp's weights of all taps and returns the power of two that scales them. Each warp can scale
// its weights by a power of two of its own, since no sum combines weights of two warps.
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

// ---- Mainloop: multiply starts all products of a tile, piece by piece. `rows` holds, for each row of taps, the
// operands of the tile's first position; the taps of a row are a constant distance apart. With TF32, slabs 0 and 1 hold
// the first 8 channels; with fp16, the high parts.
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

// ---- Epilogue: sums go to the store buffer, and runs of outputs from there to memory. A Run is a tile's part of a
// channel's plane: the outputs from `first` up to `end`, both rounded down to the start of a memory sector. STORE_PITCH
// is an odd multiple of 32 bytes, so that a warp's writes have no bank conflicts, and the copy engine writes whole
// sectors.
struct Run {
    int image, first, end;
};

// run_shift returns how many outputs before a given output its memory sector begins. An output plane may begin anywhere
// in a sector.
__device__ __forceinline__ int run_shift(int plane, int output) {
    return (plane * (PLANE % ALIGNMENT) + output) & (ALIGNMENT - 1);
}

// Finish divides a sum by the powers of two that scaled input and weights, and adds the bias if there is one.
struct Finish {
    float input, weights;  // inverses of the powers
    float offsets[2];      // the biases of a lane's two rows
    __device__ __forceinline__ float operator()(float sum, int row) const {
        const float value = kScaled ? unscaled(sum, input, weights) : sum;
        return BIAS ? value + offsets[row] : value;
    }
};

// write_piece writes a lane's sums of a piece to its two rows of the store buffer. layout.always(first) tells whether
// all eight positions from `first` on are stored. layout.at(r, position) returns the place of a position in row r, or a
// negative number if the position is not stored.
template <class Layout>
__device__ __forceinline__ void write_piece(float* buffer, const float (&sums)[COLUMNS / 2], int piece, int row,
                                            int lane, const Finish& finish, const Layout& layout) {
    // Both positions of a pair are outputs, or neither is, so a pair is stored in one access.
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

// A kernel's tile scheduler assigns tiles to a warp by these functions:
//   more(), next(), last(): whether a tile is left, go to the next tile, whether it is the last.
//   run():                  the outputs that the tile computes.
// Tiles of consumers also wait for the pipeline:
//   consumer_wait()         returns when the tile's input has arrived.
//   tap_row(r):             the input of the tile's first position in tap row r.
//   consumer_release()      releases the input that no later tile reads.
//   inner():                whether no position inside the tile needs a special case.
//   layout<Inner>(shifts):  the tile's layout for write_piece; `shifts` says how far back
//                           the runs of the lane's two rows begin.
//
// write_tile writes a tile's sums to the store buffer, each piece as soon as its products are done.
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

// finish_runs applies the epilogue to a consumer warp's 16 rows of the store buffer, if there is an epilogue.
// finish_runs can have many loads in flight, since the registers that held sums are free by then. At a run's ends,
// finish_runs may load elements that belong to other tiles.
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

// store_runs makes the copy engine store Rows rows of the store buffer, run by run, for up to `planes` planes from
// `plane` on, and commits the lane's group of stores. The lanes share the runs, so that they compute addresses in
// parallel: a single lane would take longer than the products of a tile take.
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

// PendingRuns are the runs of a tile that a consumer warp still has to store where there are no store warps: one run
// for each of its 16 channels, of which `planes` exist.
struct PendingRuns {
    const float* buffer;
    int planes, plane;
    Run run;
    __device__ __forceinline__ PendingRuns(const float* buffer, int planes)
        : buffer(buffer), planes(planes), plane(0), run({0, 0, 0}) {}

    // commit records which run of outputs the store buffer holds now.
    __device__ __forceinline__ void commit(const Run& its, int first_plane) {
        __syncwarp();
        run = its;
        plane = first_plane;
    }
    // store stores the runs and returns when the buffer is free again.
    __device__ __forceinline__ void store(float* y) const {
        store_runs<16>(y, buffer, run, plane, planes);
        bulk_store_wait_read();
        __syncwarp();
    }
};

// ---- The loops of consumer warpgroups and of store warps; the loop of the producers differs from kernel to kernel.

// consume_tiles is the loop of a consumer warpgroup, for 64 output channels.
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

// store_tiles is the loop of a store warp, which stores a consumer warpgroup's half of each tile.
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
