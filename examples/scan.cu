/*
operator: scan
summary: Each element becomes the sum of all up to it, modulo 2 to the power of 32.
shape: [n]
example: 268435456
derived:
  least_tile: 1024
tensors:
  - {name: x, role: input, type: i32, shape: [n]}
  - {name: n, type: i64, value: n}
  - {name: states, role: workspace, type: u64, shape: ["1 + ceil_div(n, least_tile)"]}
  - {name: y, role: output, type: i32, shape: [n]}
inputs: [uniform01]  # integers have a fill of their own
cost: [8*n, n]
reference: three_loops
templates:
  - name: look_back
    summary: One walk through memory; a tile learns what lies before it from the tiles before it, while they run.
    tunables:
      threads: [128, 256, 512, 1024]
      items: [1, 2, 4, 8, 16]
      pause: [0, 20, 100]
    derived:
      tile: 4*threads*items
      tiles: ceil_div(n, tile)
    constraints:
      - tile >= least_tile and threads*items <= 8192
    launch:
      - {entry: reset, block: [256], grid: ["ceil_div(tiles + 1, 256)"], arguments: [states]}
      - {entry: "look_back<{threads}, {items}>", block: [threads], grid: [tiles]}
    default: {threads: 256, items: 1, pause: 0}
  - name: three_loops
    summary: Sums of chunks, their starts, the chunks again; a thread a chunk.
    derived:
      chunks: ceil_div(n, 4*least_tile)
    launch:
      - {entry: chunk_sums, block: [256], grid: ["ceil_div(chunks, 256)"], arguments: [x, n, states]}
      - {entry: chunk_starts, block: [1], grid: [1], arguments: [states]}
      - {entry: chunk_scans, block: [256], grid: ["ceil_div(chunks, 256)"]}
*/

typedef unsigned long long State;  // of a tile or a chunk

// The reference kernels: sums of chunks, a scan of these sums, and the running sums of each chunk.
extern "C" __global__ void chunk_sums(const int* __restrict__ x, long long n, State* __restrict__ states) {
    const long long chunk = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= CHUNKS) return;
    unsigned sum = 0;
    for (long long i = chunk * 4 * LEAST_TILE; i < min(n, (chunk + 1) * 4 * LEAST_TILE); ++i) sum += x[i];
    states[chunk] = sum;
}

extern "C" __global__ void chunk_starts(State* __restrict__ states) {
    unsigned sum = 0;
    for (long long chunk = 0; chunk < CHUNKS; ++chunk) {
        const unsigned own = (unsigned)states[chunk];
        states[chunk] = sum;
        sum += own;
    }
}

extern "C" __global__ void chunk_scans(const int* __restrict__ x, long long n, const State* __restrict__ states, int* __restrict__ y) {
    const long long chunk = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= CHUNKS) return;
    unsigned sum = (unsigned)states[chunk];
    for (long long i = chunk * 4 * LEAST_TILE; i < min(n, (chunk + 1) * 4 * LEAST_TILE); ++i) y[i] = (int)(sum += x[i]);
}

// The kernel `look_back` is a single-pass scan with decoupled look-back. Word 0 of `states` counts the tiles that
// blocks have begun. Each other word is the state of a tile: empty, the tile's own sum, or the sum of all elements up
// to the tile's end. Sum and kind of state are one 64-bit word, so that they are read together.
//   threads: threads per block
//   items:   16-byte accesses per thread
//   pause:   nanoseconds between two reads of an empty state
constexpr State Own = 1ull << 32, Whole = 2ull << 32;

extern "C" __global__ void reset(State* __restrict__ states) {
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i <= TILES) states[i] = 0;
}

__device__ __forceinline__ unsigned sum_up_to(unsigned v) {  // of this lane and the lanes before it
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned left = __shfl_up_sync(0xffffffffu, v, distance);
        if (threadIdx.x % 32 >= distance) v += left;
    }
    return v;
}

// before returns the sum of all elements before a tile; a warp reads the states of 32 earlier tiles at a time.
__device__ __forceinline__ unsigned before(long long tile, const volatile State* states) {
    const int lane = threadIdx.x % 32;
    unsigned sum = 0;
    for (long long other = tile - 1 - lane;; other -= 32) {
        State state = Whole;  // what stands before the first tile
        do {
#if PAUSE > 0
            if (state == 0) __nanosleep(PAUSE);
#endif
            if (other >= 0) state = states[other];
        } while (__any_sync(0xffffffffu, state == 0));
        const unsigned whole = __ballot_sync(0xffffffffu, state >= Whole);
        // States before the nearest tile that holds the sum up to its end are ignored.
        const unsigned counted = lane < __ffs(whole) || whole == 0 ? (unsigned)state : 0;
        sum += __shfl_sync(0xffffffffu, sum_up_to(counted), 31);
        if (whole != 0) return sum;
    }
}

template <int Threads, int Items>
__global__ void __launch_bounds__(Threads) look_back(const int* __restrict__ x, long long n, State* __restrict__ states, int* __restrict__ y) {
    __shared__ unsigned number, sum_before, of_warp[Threads / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) number = atomicAdd(reinterpret_cast<unsigned*>(states), 1u);
    __syncthreads();
    const long long tile = number;
    const long long first = tile * TILE + warp * 128 * Items + lane * 4;  // each warp reads one run of the tile

    uint4 v[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) {
        const long long at = first + i * 128;
        if (at + 4 <= n)
            v[i] = *reinterpret_cast<const uint4*>(x + at);
        else
            v[i] = make_uint4(at < n ? x[at] : 0, at + 1 < n ? x[at + 1] : 0, at + 2 < n ? x[at + 2] : 0, 0);
    }
    unsigned sum = 0;  // of the warp's elements so far
#pragma unroll
    for (int i = 0; i < Items; ++i) {
        v[i].y += v[i].x, v[i].z += v[i].y, v[i].w += v[i].z;
        const unsigned own = v[i].w, up_to = sum_up_to(own), left = sum + up_to - own;
        v[i].x += left, v[i].y += left, v[i].z += left, v[i].w += left;
        sum += __shfl_sync(0xffffffffu, up_to, 31);
    }
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        const unsigned own = lane < Threads / 32 ? of_warp[lane] : 0, up_to = sum_up_to(own);
        if (lane < Threads / 32) of_warp[lane] = up_to - own;
        const unsigned all = __shfl_sync(0xffffffffu, up_to, 31);
        volatile State* mine = states + 1 + tile;
        if (lane == 0 && tile > 0) *mine = Own | all;
        const unsigned left = before(tile, states + 1);
        if (lane == 0) *mine = Whole | (left + all), sum_before = left;
    }
    __syncthreads();
    const unsigned left = sum_before + of_warp[warp];
#pragma unroll
    for (int i = 0; i < Items; ++i) {
        const long long at = first + i * 128;
        v[i].x += left, v[i].y += left, v[i].z += left, v[i].w += left;
        if (at + 4 <= n) {
            *reinterpret_cast<uint4*>(y + at) = v[i];
        } else {
            if (at < n) y[at] = v[i].x;
            if (at + 1 < n) y[at + 1] = v[i].y;
            if (at + 2 < n) y[at + 2] = v[i].z;
        }
    }
}
