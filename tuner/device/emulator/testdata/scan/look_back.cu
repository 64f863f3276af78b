// scan, look_back: each tile of elements is scanned by a block, which adds what the
// tiles before it sum up to.
//
// A tile's state says in its upper half whether its lower half is nothing yet (0), the
// sum of the tile (1) or of all up to it (2). A warp looks at 32 tiles at a time.
//
// Tunables
//   ticket  whether tiles are numbered as blocks come, or as they are numbered
#ifndef TICKET
#define TICKET 1
#define TILES 1
#endif
typedef unsigned long long State;
constexpr unsigned All = 0xffffffffu;

__device__ State state(int what, int sum) { return (State)what << 32 | (unsigned)sum; }

__global__ void forget(State* states) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i <= TILES) states[i] = 0;
}

// The sum of the tiles before one, for a whole warp.
__device__ int look_back(const volatile State* states, int tile) {
    const int lane = threadIdx.x % 32;
    for (int sum = 0, nearest = tile - 1;; nearest -= 32) {
        State s;
        do s = nearest < lane ? state(2, 0) : states[nearest - lane];
        while (__any_sync(All, s >> 32 == 0));
        const unsigned done = __ballot_sync(All, s >> 32 == 2);
        int part = lane < (done ? __ffs(done) : 32) ? (int)(unsigned)s : 0;
        for (int bits = 16; bits > 0; bits /= 2) part += __shfl_xor_sync(All, part, bits);
        sum += part;
        if (done) return sum;
    }
}

template <int Threads>
__global__ void scan(const int* __restrict__ x, long long size, State* states, int* __restrict__ y) {
    __shared__ int sums[Threads / 32], number, before;
    if (threadIdx.x == 0) number = TICKET ? (int)atomicAdd(states + TILES, State(1)) : blockIdx.x;
    __syncthreads();
    const int tile = number, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long i = (long long)tile * Threads + threadIdx.x;
    int sum = i < size ? x[i] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(All, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    int all = 0;
    for (int k = 0; k < Threads / 32; ++k) {
        if (k == warp) sum += all;
        all += sums[k];
    }
    volatile State* mine = states + tile;
    if (threadIdx.x == 0) *mine = state(1, all);
    if (warp == 0) {
        const int found = look_back(states, tile);
        if (lane == 0) {
            *mine = state(2, found + all);
            before = found;
        }
    }
    __syncthreads();
    if (i < size) y[i] = sum + before;
}
