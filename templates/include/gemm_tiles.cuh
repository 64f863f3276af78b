// gemm_tiles.cuh: the common parts of tensor-core mainloops over slabs (slab_operands.cuh): which tile of D = A * B a
// block computes, where the tile's operands lie in memory, and how its sums are stored.
//
// A kernel defines a class Work with the static members below, and a class Output. Values that depend on the problem's
// shape are functions, since a kernel may know them only at run time:
//
//   groups(), kParts: groups of products that share B, and products in a group.
//   row_blocks():    blocks of 64 rows of A in a product.
//   kStages:         stages of a tile.
//   outputs():       outputs of all tiles.
//   Output           (tile) stores the sums of a tile. If kMixed > 0 (a divisor of 16), kMixed rows
//                    of sums belong to one channel, whose outputs alternate between these rows: column(c, r)
//                    returns the place in the output of row r and column c, or a negative number;
//                    store(y, channel, place, value) stores a value if the channel exists; of a tile's
//                    splits, split 0 adds the bias. Output may have a member `apart`, the distance from
//                    a channel to the next: adding `apart` to a place for each channel avoids a
//                    multiplication by a size known only at run time.
//                    If rows are contiguous in the output and columns are not, kMixed is 0, and
//                    store(y, row, first, c, value) stores column first + c if it exists; first is a
//                    multiple of 32. If columns are contiguous and rows are not, kMixed is kWholeRows:
//                    line(y, row) points to a row's column 0, or is null; store(line, first, words)
//                    stores eight columns from `first` on, which `words` holds in the stored type;
//                    beside(column) returns what a column and the next add to all rows (biases);
//                    value(sum, row, beside) computes the stored value from a sum.
//   kMasked:         whether products multiply elements that do not belong together by zeros (mended.cuh).
//   Plain:           needed if kMasked: a function that computes the output of a given index by its
//                    definition.
//
// Work has these members, too, if its operands are packed:
//
//   Operands:        PackedOperands.
//   groups_a(), groups_b(): number of different A and B: groups(), or 1 if all groups share it.
//   columns():       columns in a slab of a plane in memory.
//   kPlanes:         planes of B in a group.
//   plane(s), shift(s, tile): where stage s begins: its plane of B (the first one with PLANES = DEPTH),
//                    and how many columns to the right of the tile's own.
//   step_shift(u):   by how many columns step u of a stage is further to the right, if the steps share a
//                    plane (PLANES = 1; with PLANES = DEPTH each step has its own).
#pragma once
#include "mended.cuh"
#include "slab_operands.cuh"
#include "split_k.cuh"

// ---- The tile scheduler. Blocks take tiles in turn, the last tiles first, since the operands that were packed last
// are in the L2. Tiles that run at the same time are close to each other: parts of the same columns, and bands of a few
// columns. If tiles are split along k, each split counts as a tile; the splits of all tiles with the same stages are
// consecutive.

// The tiles of the blocks of a cluster lie below each other (multicast.cuh), and so do the tiles of blocks that share
// tiles (shared_tiles.cuh).
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef SHARING
#define SHARING 0
#endif
constexpr int kInStep = SHARING > CLUSTER ? SHARING : CLUSTER;
static_assert(kInStep % CLUSTER == 0, "blocks of a cluster are at the same stages");

struct Tile {
    int group, part, m, n, split;
};

// TileStages computes which stages one split of a tile computes, at least one. A Work that knows where operands are
// always zeros specialises TileStages, to skip stages of zeros.
template <class Work>
struct TileStages {
    __device__ __forceinline__ static Stages of(const Tile& tile) { return stages_of<Work::kStages>(tile.split); }
};

template <class Work>
struct Tiles {
    static constexpr int kBand = 8;
    __device__ __forceinline__ static int in_product() { return TILES_M * TILES_N; }
    __device__ __forceinline__ static int in_split() { return Work::groups() * Work::kParts * in_product(); }
    __device__ __forceinline__ static int all() { return SPLITS * in_split(); }
    // at divides by one size after the other, not by their products: sizes known only at run time come with a
    // precomputed inverse, products of sizes do not.
    __device__ __forceinline__ static Tile at(int count) {
        const int index = in_split() - 1 - (count - split(count) * in_split()), in_parts = index / Work::kParts;
        const int product = Work::groups() == 1 ? 0 : in_parts / TILES_M / TILES_N, inside = in_parts - product * in_product();
        const int down = TILES_M / kInStep, together = inside / kInStep;
        const int band = kInStep == 1 ? together / kBand / TILES_M : together / (kBand * down), rest = together - band * (kBand * down);
        const int left = TILES_N - band * kBand, width = left < kBand ? left : kBand;
        const int below = down == 1 ? 0 : left < kBand ? rest / left : rest / kBand;
        return {product, index % Work::kParts, below * kInStep + inside % kInStep, band * kBand + rest - below * width, split(count)};
    }
    __device__ __forceinline__ static int split(int count) {
        return SPLITS == 1 ? 0 : count / TILES_M / TILES_N / Work::kParts / Work::groups();
    }
    __device__ __forceinline__ static Stages stages(int count) { return TileStages<Work>::of(at(count)); }
};

// ---- Packed operands in global memory.

constexpr int kBlocks = TILE_M / kBlockRows;  // blocks of A in a tile

struct PackedOperands {
    const char *a, *b;

    // rows returns where a tile's block of 64 rows of A begins. For a block after the product's last block, rows
    // returns the start of the last block.
    template <class Work>
    __device__ __forceinline__ const char* rows(const Tile& tile, int block) const {
        constexpr long long steps = static_cast<long long>(Work::kStages) * DEPTH;  // along all of k
        const int first = tile.m * kBlocks, last = Work::row_blocks() - 1 - first;
        return a + ((static_cast<long long>(Work::groups_a() > 1 ? tile.group : 0) * Work::kParts + tile.part) * Work::row_blocks() + first) * steps * kBlockStepBytes +
               (Work::row_blocks() % kBlocks == 0 || block < last ? block : last) * steps * kBlockStepBytes;
    }
    // columns returns the address of the columns of B that a stage multiplies, in the first slab of its first plane.
    template <class Work>
    __device__ __forceinline__ const char* columns(const Tile& tile, int stage) const {
        return b + ((static_cast<long long>(Work::groups_b() > 1 ? tile.group : 0) * Work::kPlanes + Work::plane(stage)) * kSlabs * Work::columns() +
                    static_cast<long long>(tile.n) * TILE_N + Work::shift(stage, tile)) *
                       16;
    }
};

// ---- Sums. Tensor cores truncate their sums, a one-sided error that grows faster with k than the error of rounded
// sums. Where operands are split into parts that keep all digits of a float (kOfParts), the kernel therefore moves its
// sums every kChunk stages to other sums, which are rounded to nearest, at the price of twice the registers. For
// products with a very short k, moving sums is not necessary.

typedef float Sums[COLUMNS / 2];

constexpr int kChunk = DEPTH < 8 ? 8 / DEPTH : 1;  // 128 elements of k, or a stage
template <int StagesOfTile>
constexpr bool kMovesSums = (kOfParts == two_fp16 || kOfParts == three_bf16) && StagesOfTile * DEPTH > 16;

// move_sums adds `some` to `sums` and sets `some` to zero.
__device__ __forceinline__ void move_sums(Sums (&some)[ROW_BLOCKS], Sums (&sums)[ROW_BLOCKS]) {
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; ++r)
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; ++i) {
            sums[r][i] += some[r][i];
            some[r][i] = 0.0f;
        }
}

// ---- The epilogue. A warp holds the sums of 16 rows by COLUMNS columns in the layout of tensor-core products: eight
// columns in four registers. Each warp has a buffer of BUFFER_BYTES in shared memory: 16 rows of 32 columns, with a
// pitch that avoids bank conflicts.

constexpr int kWholeRows = -1;
constexpr int kPiece = 32, kPitch = kPiece + 8;

// buffered returns the place of a pair of floats of a line in the buffer of store_rows.
__device__ __forceinline__ constexpr int buffered(int line, int pair) { return line * 32 + (pair ^ (line % 4 * 4 + line / 4)) * 2; }

// apart_of returns an Output's `apart`, or 0 if the Output has none.
template <class Output>
__device__ __forceinline__ auto apart_of(const Output& output, int) -> decltype(output.apart) { return output.apart; }
template <class Output>
__device__ __forceinline__ long long apart_of(const Output&, ...) { return 0; }

// kLoads tells whether an Output, which derives from TileEpilogue, has an epilogue. place(...) locates outputs for it,
// and stores get the elements that were loaded from there. A lane loads most of the epilogue's elements before it uses
// the first, since too few warps run to hide the latency of the loads. With kMixed > 0, place has a channel, its output's
// index, and the first channel's. An Output that stores whole rows has place(row, column), of eight columns. With
// kMixed = 0, an Output has place(row, first, c) of kRun columns; columns(), the number of columns; lacks(row), whether
// a row has no outputs; and kTurns, the number of columns whose outputs alternate in memory.
template <class Output>
constexpr bool kLoads = !Output::kIsNone;

// loads_together returns for how many outputs, at most `most`, the epilogue's elements are loaded before the first
// output is stored. Large tiles leave few registers beside their sums, and many producer threads leave even fewer.
#ifdef PRODUCERS
constexpr int kMostLoaded = 24;  // of four bytes
#else
constexpr int kMostLoaded = ROW_BLOCKS * COLUMNS > 256 ? 24 : 48;
#endif
template <class Beside>
constexpr int loads_together(int most) {
    return most > 1 && most * sizeof(Beside) > kMostLoaded * 4 ? loads_together<Beside>(most / 2) : most;
}

// store_sums moves a warp's 16 rows, from `row` on, through the warp's buffer, so that each store writes 32 outputs of
// a channel. The epilogue's elements are loaded before the warp's barrier: a compiler that moved the loads to their
// first uses would make each of them wait for memory alone.
template <class Output, class Stored>
__device__ __forceinline__ void store_sums(const Sums& sums, const Output& output, Stored* y, float* buffer, int row,
                                           int column) {
    // Lanes that store a whole column read down the buffer, for which a pitch of kPiece + 2 has no bank conflicts.
    constexpr int mixed = Output::kMixed, pitch = mixed == 16 ? kPiece + 2 : kPitch;
    const int lane = threadIdx.x % 32;
    float* const mine = buffer + lane / 4 * pitch + lane % 4 * 2;
#pragma unroll
    for (int piece = 0; piece < COLUMNS / kPiece; ++piece) {
        const auto leave = [&] {
#pragma unroll
            for (int j = 0; j < kPiece / 8; ++j) {
                const float* const s = &sums[4 * (piece * kPiece / 8 + j)];
                *reinterpret_cast<float2*>(mine + 8 * j) = make_float2(s[0], s[1]);
                *reinterpret_cast<float2*>(mine + 8 * j + 8 * pitch) = make_float2(s[2], s[3]);
            }
            __syncwarp();
        };
        if (!kLoads<Output>) leave();
        const int first = column + piece * kPiece;
        if constexpr (Output::kTwo) {
            if (output.even()) {
                const int c = lane % 16 * 2, own = row + lane / 16;
                const long long place = output.column(first + c, 0);
                const long long there = kLoads<Output> && place < 0 ? output.first : place;
                decltype(output.template load<2>(output.place(own, there, there))) beside[8];
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    beside[i] = output.template load<2>(output.place(own + 2 * i, there, there));
                if (kLoads<Output>) leave();
#pragma unroll
                for (int i = 0; i < 8; ++i) {  // two rows at a time
                    const float* const two = buffer + (2 * i + lane / 16) * pitch + c;
                    if (place >= 0)
                        output.store_two(y, own + 2 * i, place, *reinterpret_cast<const float2*>(two), beside[i]);
                }
                __syncwarp();
                continue;
            }
        }
#pragma unroll
        for (int run = 0; run < mixed; ++run) {  // the channel's 32 * mixed outputs
            const int c = (run * kPiece + lane) / mixed, r = (run * kPiece + lane) % mixed;
            const long long place = output.column(first + c, r);
            if (!kLoads<Output> && place < 0) continue;
            const long long there = place < 0 ? output.first : place;
            const int channel = row / mixed;  // the warp's first
            const long long apart = apart_of(output, 0), own = there + channel * apart;
            const auto load = [&](int i) {
                return output.template load<1>(output.place(channel + i, own + i * apart, there));
            };
            typedef decltype(load(0)) Beside;
            constexpr int together = kLoads<Output> ? loads_together<Beside>(16 / mixed) : 16 / mixed;
#pragma unroll
            for (int begin = 0; begin < 16 / mixed; begin += together) {
                Beside beside[together];
#pragma unroll
                for (int i = 0; i < together; ++i) beside[i] = load(begin + i);
                if (kLoads<Output> && run + begin == 0)
                    leave();
                else if (kLoads<Output>)
                    __syncwarp();
                if (place < 0) continue;
#pragma unroll
                for (int i = begin; i < begin + together; ++i) {
                    const float sum = buffer[(i * mixed + r) * pitch + c];
                    output.store(y, channel + i, own + i * apart, sum, beside[i - begin]);
                }
            }
        }
        __syncwarp();
    }
}

// store_rows replaces store_sums if rows are contiguous in the output. One call of store_rows stores the 16 rows of
// each of Together blocks, which must be contiguous in the tile, too. The buffer, which begins at a multiple of 128
// bytes, has 16 lines of 16 pairs of floats: line i holds row i of the blocks, and as many pairs of columns of each
// block as fit. Pairs are swizzled, so that there are no bank conflicts between the lanes that write four pairs of four
// rows, nor between the lanes that read one pair of 16 rows.
template <int Together, class Output, class Stored>
__device__ __forceinline__ void store_rows(const Sums* sums, const Output& output, Stored* y, float* buffer, int row, int column) {
    constexpr bool whole = Together > 1;  // a store writes one column of 32 rows, or two columns of 16
    constexpr int pairs = 16 / Together, pieces = COLUMNS / (2 * pairs), step = whole ? 1 : 2;
    const int lane = threadIdx.x % 32, line = lane % 16, half = lane / 16;
    const int at = buffered(lane / 4, lane % 4), from = buffered(line, half * (whole ? pairs : 1));
    row += whole ? lane : line;
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
        if constexpr (kLoads<Output>)
            if (column + piece * 2 * pairs >= Output::columns()) break;
        const int first = column + piece * 2 * pairs / kPiece * kPiece;
        const int begin = piece * 2 * pairs % kPiece + (whole ? 0 : 2 * half);
        constexpr int most = whole ? 16 : 2, count = Output::kRun < most ? Output::kRun : most;
        const auto load = [&](int i) {
            return output.template load<count>(output.place(row, first, begin + 2 * step * (i / 2) + i % 2));
        };
        decltype(load(0)) beside[16 / count];
#pragma unroll
        for (int i = 0; i < 16; i += count) beside[i / count] = load(i);
#pragma unroll
        for (int j = 0; j < 4; ++j) {  // four pairs
            const float* const s = &sums[j / (pairs / 4)][4 * (piece * (pairs / 4) + j % (pairs / 4))];
            *reinterpret_cast<float2*>(buffer + (at ^ 8 * j)) = make_float2(s[0], s[1]);
            *reinterpret_cast<float2*>(buffer + ((at ^ 8 * j) ^ buffered(8, 0))) = make_float2(s[2], s[3]);
        }
        __syncwarp();
        if (!kLoads<Output> || !output.lacks(row))
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float2 two = *reinterpret_cast<const float2*>(buffer + (from ^ 2 * step * i));
                const int c = begin + 2 * step * i;
                output.store(y, row, first, c, two.x, beside[2 * i / count], 2 * i % count);
                output.store(y, row, first, c + 1, two.y, beside[(2 * i + 1) / count], (2 * i + 1) % count);
            }
        __syncwarp();
    }
}

// exchange_quads transposes words among four neighbouring threads: thread t gets word t of each of them.
__device__ __forceinline__ void exchange_quads(unsigned (&v)[4]) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i & bit) continue;
            const bool upper = threadIdx.x & bit;
            const unsigned got = __shfl_xor_sync(0xffffffffu, upper ? v[i] : v[i + bit], bit);
            v[i] = upper ? got : v[i];
            v[i + bit] = upper ? v[i + bit] : got;
        }
}

// store_columns stores up to eight neighbouring columns of a line, as many as exist, from words that hold them in the
// stored type: Width columns at a time if the number of columns is a multiple of Width, else fewer.
template <class Stored, int Width = 16 / sizeof(Stored)>
__device__ __forceinline__ void store_columns(Stored* line, int first, int columns, const float* words) {
    if constexpr (Width > 1)
        if (columns % Width != 0) return store_columns<Stored, Width / 2>(line, first, columns, words);
#pragma unroll
    for (int i = 0; i < 8; i += Width) {
        if (first + i >= columns) continue;
        if constexpr (Width * sizeof(Stored) >= 4)
            store_vector<Width * sizeof(Stored) / 4>(reinterpret_cast<float*>(line + first + i), words + i * sizeof(Stored) / 4);
        else
            line[first + i] = {static_cast<unsigned short>(__float_as_uint(words[i / 2]) >> i % 2 * 16)};
    }
}

// pair_at loads two contiguous elements, beginning at an even index; elements after the end are zeros.
template <class T>
__device__ __forceinline__ float2 pair_at(const T* from, int index, int count) {
    float v[2] = {};
    if (count % 2 == 0) {
        if (index < count) load_elements<2>(v, from + index);
    } else {
        if (index < count) v[0] = read_only(from + index);
        if (index + 1 < count) v[1] = read_only(from + index + 1);
    }
    return make_float2(v[0], v[1]);
}

// store_lines replaces store_sums if columns are contiguous in the output. Four threads that hold pairs of the same
// columns exchange them, so that each gets eight neighbouring columns. The columns come in pieces of 32, of which the
// last may have fewer columns.
template <class Output, class Stored>
__device__ __forceinline__ void store_lines(const Sums& sums, const Output& output, Stored* y, int row, int column) {
    const int lane = threadIdx.x % 32, own = row + lane / 4;
    Stored* const lines[2] = {output.line(y, own), output.line(y, own + 8)};
#pragma unroll
    for (int piece = 0; piece < (COLUMNS + 31) / 32; ++piece) {
        const int first = column + piece * 32, eights = COLUMNS / 8 - piece * 4;  // eights that exist
        float2 beside[4] = {};
#pragma unroll
        for (int j = 0; j < 4 && j < eights; ++j) beside[j] = output.beside(first + 8 * j + lane % 4 * 2);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            constexpr int apart = sizeof(Stored) / 2;  // words of a pair of outputs
            float words[4 * apart];
            unsigned even[4] = {}, odd[4] = {};  // pairs, for 16-bit elements
#pragma unroll
            for (int j = 0; j < 4 && j < eights; ++j) {
                const float* const s = &sums[4 * (piece * 4 + j) + 2 * half];
                const float low = output.value(s[0], own + 8 * half, beside[j].x);
                const float high = output.value(s[1], own + 8 * half, beside[j].y);
                if constexpr (sizeof(Stored) == 2)
                    even[j] = Pair<Stored>::pack(low, high);
                else
                    even[j] = __float_as_uint(low), odd[j] = __float_as_uint(high);
            }
            exchange_quads(even);
            if constexpr (sizeof(Stored) > 2) exchange_quads(odd);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[apart * i] = __uint_as_float(even[i]);
                if constexpr (apart > 1) words[apart * i + 1] = __uint_as_float(odd[i]);
            }
            if (lines[half] && lane % 4 < eights) output.store(lines[half], first + 8 * (lane % 4), words);
        }
    }
}

// store_finished_lines is store_lines for an Output that has an epilogue. Threads exchange floats, from which each
// computes eight neighbouring outputs, while the epilogue's elements for the next ones are loaded. If Mends is set,
// sums that are not finite are stored without the epilogue, so that mended.cuh finds them: an epilogue might make them
// finite. store_finished_lines returns whether all sums were finite.
template <bool Mends, class Output, class Stored>
__device__ __forceinline__ bool store_finished_lines(const Sums& sums, const Output& output, Stored* y, int row,
                                                     int column) {
    const int lane = threadIdx.x % 32, own = row + lane / 4, eight = column + 8 * (lane % 4);
    Stored* const lines[2] = {output.line(y, own), output.line(y, own + 8)};
    constexpr int chunks = (COLUMNS + 31) / 32 * 2;  // of 8 rows by 32 columns
    bool finite = true;
    const auto load = [&](int chunk) {
        return output.template load<8>(output.place(own + chunk % 2 * 8, eight + chunk / 2 * 32));
    };
    typedef decltype(load(0)) Loaded;
    constexpr int most = ROW_BLOCKS * COLUMNS > 320 ? 1 : loads_together<Loaded>(4);
    Loaded ahead[most];
#pragma unroll
    for (int chunk = 0; chunk < most && chunk < chunks; ++chunk) ahead[chunk] = load(chunk);
#pragma unroll
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const int piece = chunk / 2, half = chunk % 2, eights = COLUMNS / 8 - piece * 4;  // eights that exist
        const Loaded loaded = ahead[chunk % most];
        if (chunk + most < chunks) ahead[chunk % most] = load(chunk + most);
        unsigned even[4] = {}, odd[4] = {};
#pragma unroll
        for (int j = 0; j < 4 && j < eights; ++j) {
            const float* const s = &sums[4 * (piece * 4 + j) + 2 * half];
            const float2 beside = output.beside(column + piece * 32 + 8 * j + lane % 4 * 2);
            even[j] = __float_as_uint(output.value(s[0], own + 8 * half, beside.x));
            odd[j] = __float_as_uint(output.value(s[1], own + 8 * half, beside.y));
        }
        exchange_quads(even);
        exchange_quads(odd);
        float words[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) words[i] = __uint_as_float(i % 2 ? odd[i / 2] : even[i / 2]);
        if constexpr (Mends) {
            float outputs[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) outputs[i] = words[i];
            output.apply(outputs, loaded);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                finite &= is_finite(words[i]);
                if (is_finite(words[i])) words[i] = outputs[i];
            }
        } else {
            output.apply(words, loaded);
        }
        if constexpr (sizeof(Stored) == 2)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                words[i] = __uint_as_float(Pair<Stored>::pack(words[2 * i], words[2 * i + 1]));
        if (lines[half] && lane % 4 < eights) output.store(lines[half], eight + piece * 32, words);
    }
    return finite;
}

// fetch brings the epilogue's elements for a warp's 16 rows of each of Together blocks to the L2, while products are
// computed. A lane asks for a sector of 32 bytes at a time, the elements of kSector outputs.
constexpr int kSector = 32 / sizeof(Element);

template <int Together, class Output>
__device__ __forceinline__ void fetch(const Output& output, int row, int column) {
    constexpr int mixed = Output::kMixed;
    const int lane = threadIdx.x % 32;
    if constexpr (mixed == kWholeRows) {
#pragma unroll
        for (int c = lane / 16 * kSector; c < COLUMNS; c += 2 * kSector) {
            const auto place = output.place(row + lane % 16, column + c);
            if (place.along() < place.template side_by_side<0>()) output.fetch(place);
        }
    } else if constexpr (mixed == 0) {
        constexpr int sectors = 16 * Together / kSector;  // of a column
        for (int i = lane; i < COLUMNS * sectors; i += 32) {
            const int c = i / sectors, turn = c % Output::kTurns;
            const int its = row + i % sectors * kSector + turn * (kSector / Output::kTurns);
            if (column + c < Output::columns() && !output.lacks(its)) output.fetch(output.place(its, column, c));
        }
    } else {
        for (int i = lane * kSector; i < COLUMNS * mixed; i += 32 * kSector) {
            const long long place = output.column(column + i / mixed, i % mixed);
            if (place < 0) continue;
            for (int channel = row / mixed; channel < row / mixed + 16 / mixed; ++channel)
                output.fetch(output.place(channel, place + channel * apart_of(output, 0), place));
        }
    }
}

// mend recomputes the outputs that are not finite in a warp's 16 rows, from `row` on, after they were stored.
template <class Output, class Plain, class T>
__device__ __forceinline__ void mend(const Output& output, const Plain& plain, T* y, int row, int column) {
    const Mended<Plain, T> mended = {y, plain};
    __syncwarp();  // the other lanes' stores are visible
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < 16 * COLUMNS; i += 32) {
        const int r = row + i / COLUMNS, c = column + i % COLUMNS;
        if constexpr (Output::kMixed == 0) {
            output.store(mended, r, c / kPiece * kPiece, c % kPiece, 0.0f);
        } else if constexpr (Output::kMixed == kWholeRows) {
            T* const line = output.line(y, r);
            if (line && c < Output::kColumns) mended[line - y + c] = T{};
        } else {
            const long long place = output.column(c, r % Output::kMixed);
            if (place < 0) continue;
            output.store(mended, r / Output::kMixed, place + r / Output::kMixed * apart_of(output, 0), 0.0f);
        }
    }
}
