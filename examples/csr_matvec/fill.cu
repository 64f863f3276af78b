// csr_matvec, fill: generates a sparse matrix in CSR format. Rows have different lengths, and their nonzero columns
// ascend near the diagonal, as in the matrix of a mesh.
#ifndef ROWS
#define ROWS 1048576
#define PER_ROW 64
#define BAND 2048
#define ELEMENTS 67108864
#endif

__device__ unsigned mixed(unsigned v) {
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return v ^ v >> 16;
}

// start computes at which nonzero a row starts, from the row's number alone. Rows have PER_ROW nonzeros on average.
__device__ long long start(long long row, unsigned seed) {
    if (row == 0) return 0;
    if (row >= ROWS) return ELEMENTS;
    return row * PER_ROW + mixed((unsigned)row + seed) % PER_ROW;
}

extern "C" __global__ void csr_matvec_fill(int* __restrict__ starts, int* __restrict__ columns, unsigned seed) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= ROWS) starts[i] = (int)start(i, seed);
    if (i == 0) starts[ROWS] = ELEMENTS;  // there may be fewer elements than starts
    if (i >= ELEMENTS) return;
    long long row = i / PER_ROW;
    if (i < start(row, seed)) --row;
    const long long from = start(row, seed), length = start(row + 1, seed) - from;
    const long long wide = BAND < ROWS ? BAND : ROWS;
    long long least = row - wide / 2;
    if (least < 0) least = 0;
    if (least > ROWS - wide) least = ROWS - wide;
    columns[i] = (int)(least + ((i - from) * wide + mixed((unsigned)i ^ seed) % wide) / length);
}
